//! Runs inputs of libFuzzer through `windlass_fuzz::stdio_lines`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_fuzz::stdio_lines::run(data));
