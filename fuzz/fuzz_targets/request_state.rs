//! A sealed state opens for its own call in its own time, and in no other way. Input: what is sealed, the arguments of the
//! call, and a text that is made up.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::States;
use serde_json::Value;

const NOW: Duration = Duration::from_secs(1_800_000_000);
const LIFETIME: Duration = Duration::from_mins(10);

thread_local! {
    static STATES: (States, States) = (States::new([1; 32]), States::new([2; 32]));
}

fuzz_target!(
    |data: (&[u8], &str, &str, u16, u8)| STATES.with(|(states, others)| {
        let (plain, arguments, made_up, at, byte) = data;
        let binding = States::bind("tool", arguments);
        assert_eq!(states.open(&binding, made_up, NOW), None);
        let state = states.seal(&binding, plain, NOW);
        assert_eq!(states.open(&binding, &state, NOW).as_deref(), Some(plain));
        let late = NOW + LIFETIME + Duration::from_secs(1);
        assert_eq!(states.open(&binding, &state, late), None);
        assert_eq!(others.open(&binding, &state, NOW), None);
        // Of another tool, and with other arguments.
        assert_eq!(
            states.open(&States::bind("other", arguments), &state, NOW),
            None
        );
        let other = format!("[{arguments}]");
        if serde_json::from_str::<Value>(&other).is_ok() {
            assert_eq!(
                states.open(&States::bind("tool", &other), &state, NOW),
                None
            );
        }
        // Arguments are the same however they are written.
        if let Ok(value) = serde_json::from_str::<Value>(arguments) {
            let spelled = serde_json::to_string_pretty(&value).expect("JSON can be written");
            assert_eq!(States::bind("tool", &spelled), binding, "{spelled}");
        }
        // Changed, cut, and continued.
        let at = usize::from(at) % state.len();
        let mut changed = state.clone().into_bytes();
        changed[at] = byte & 0x7F;
        let changed = String::from_utf8(changed).expect("ASCII stays ASCII");
        if changed != state {
            assert_eq!(states.open(&binding, &changed, NOW), None);
        }
        assert_eq!(states.open(&binding, &state[..at], NOW), None);
        if !made_up.is_empty() {
            assert_eq!(
                states.open(&binding, &format!("{state}{made_up}"), NOW),
                None
            );
        }
    })
);
