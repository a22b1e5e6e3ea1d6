//! Runs inputs of libFuzzer through `windlass_fuzz::api_verbs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::api_verbs::run(data));
