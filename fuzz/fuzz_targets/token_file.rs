//! Runs inputs of libFuzzer through `windlass_fuzz::token_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::token_file::run(data));
