//! A sealed state opens only for its own call, with exactly equal numbers, and within its lifetime.
//! Input: the data to seal, the call's arguments, a made-up string, and the position and value of a change.
#![no_main]

use std::ops::Range;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::States;
use serde_json::{Number, Value};

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
        // For another tool, and with other arguments.
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
        if serde_json::from_str::<Value>(arguments).is_ok() {
            spellings(arguments, &binding, usize::from(at), byte);
        }
        // Changed, truncated and extended.
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

/// Arguments are the same however they are written, but differ as soon as one digit differs.
fn spellings(arguments: &str, binding: &[u8; 32], at: usize, digit: u8) {
    let (numbers, members) = tokens(arguments);
    let mut shifted = String::new();
    let mut end = 0;
    for number in &numbers {
        shifted.push_str(&arguments[end..number.start]);
        shifted.push_str(&shift(&arguments[number.clone()], digit % 50));
        end = number.end;
    }
    shifted.push_str(&arguments[end..]);
    assert_eq!(States::bind("tool", &shifted), *binding, "{shifted}");

    let value: Value = serde_json::from_str(arguments).expect("it was read before");
    let pretty = serde_json::to_string_pretty(&value).expect("JSON can be written");
    let is_exact = |number: &Range<usize>| {
        let text = &arguments[number.clone()];
        serde_json::from_str::<Number>(text).is_ok_and(|number| number.to_string() == text)
    };
    // A `Value` can hold neither every number nor a duplicate member.
    if numbers.iter().all(is_exact) && tokens(&pretty).1 == members {
        assert_eq!(States::bind("tool", &pretty), *binding, "{pretty}");
    }

    let Some(number) = at
        .checked_rem(numbers.len())
        .map(|index| numbers[index].clone())
    else {
        return;
    };
    let text = &arguments[number.clone()];
    let exponent = text.find(['e', 'E']).unwrap_or(text.len());
    let is_zero = !text[..exponent].contains(|digit| matches!(digit, '1'..='9'));
    let digits: Vec<usize> = text
        .bytes()
        .enumerate()
        .filter(|(index, byte)| byte.is_ascii_digit() && !(is_zero && *index > exponent))
        .map(|(index, _)| number.start + index)
        .collect();
    let place = digits[at % digits.len()];
    let mut other = arguments.as_bytes().to_vec();
    other[place] = b'0' + digit % 10;
    let other = String::from_utf8(other).expect("a digit is a character");
    if other != arguments {
        assert_ne!(States::bind("tool", &other), *binding, "{other}");
    }
}

/// Returns the same number with its decimal point elsewhere, unless it has an exponent.
fn shift(number: &str, by: u8) -> String {
    if number.contains(['e', 'E']) {
        return number.to_owned();
    }
    let zeros = "0".repeat(by.into());
    match number.contains('.') {
        true => format!("{number}{zeros}e0"),
        false => format!("{number}{zeros}E-{by}"),
    }
}

/// Returns the positions of the numbers, and the number of members.
fn tokens(json: &str) -> (Vec<Range<usize>>, usize) {
    let bytes = json.as_bytes();
    let (mut numbers, mut members, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b':' => members += 1,
            b'-' | b'0'..=b'9' => {
                let start = at;
                while at < bytes.len()
                    && matches!(bytes[at], b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
                {
                    at += 1;
                }
                numbers.push(start..at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (numbers, members)
}
