#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::run("release_units", data));
