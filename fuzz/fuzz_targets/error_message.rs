//! Runs inputs of libFuzzer through `windlass_fuzz::error_message`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::error_message::run(data));
