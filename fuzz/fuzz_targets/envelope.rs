//! A line is JSON, and a message with these parts, if and only if `serde_json` says so.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| mcp_runtime::fuzzing::envelope(data));
