//! Runs inputs of libFuzzer through `windlass_fuzz::redis_dump`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::redis_dump::run(data));
