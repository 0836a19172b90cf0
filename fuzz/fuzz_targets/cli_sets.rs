#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::run("cli_sets", data));
