//! Runs inputs of libFuzzer through `windlass_fuzz::exported_jobs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::exported_jobs::run(data));
