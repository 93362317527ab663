//! A string is read, decoded and written exactly as by `serde_json`. Input: the string without its quotes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| mcp_runtime::fuzzing::string(data));
