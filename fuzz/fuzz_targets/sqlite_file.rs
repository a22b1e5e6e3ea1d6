//! Runs inputs of libFuzzer through `windlass_fuzz::sqlite_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::sqlite_file::run(data));
