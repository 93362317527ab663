//! A string is read, decoded and written exactly as `serde_json` does it. Input: the string between its quotes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| mcp_runtime::fuzzing::string(data));
