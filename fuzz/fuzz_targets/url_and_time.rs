//! Runs inputs of libFuzzer through `windlass_fuzz::url_and_time`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::url_and_time::run(data));
