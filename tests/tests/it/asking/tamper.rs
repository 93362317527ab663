//! Ways to tamper with a `requestState`.

/// Returns states that must be refused: changed, cut, lengthened, spliced with another valid state, and one that
/// belongs to another call. Each comes with a description of the change.
pub(super) fn spoilt(state: &str, other: &str, foreign: &str) -> Vec<(String, String)> {
    let mut spoilt = vec![
        ("cut by one".into(), state[..state.len() - 1].into()),
        ("cut in half".into(), state[..state.len() / 2].into()),
        ("empty".into(), String::new()),
        ("lengthened".into(), format!("{state}AAAA")),
        ("padded".into(), format!("{state}=")),
        ("marked".into(), format!("{state}-TAMPERED")),
        ("another call's".into(), foreign.to_owned()),
        ("not ours".into(), "bm90IG91cnM".into()),
    ];
    // Positions in the key id, the expiry time, the nonce, the sealed data, and its tag.
    let length = state.len();
    for at in [0, 8, 20, length / 2, length - 30, length - 2] {
        let mut bytes = state.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let flipped = String::from_utf8(bytes).expect("it is ASCII");
        spoilt.push((format!("changed at {at}"), flipped));
    }
    for at in [16, 48, length.min(other.len()) / 2 + 24] {
        let spliced = format!("{}{}", &state[..at], &other[at..]);
        if spliced != state && spliced != other {
            spoilt.push((format!("spliced at {at}"), spliced));
        }
    }
    spoilt
}
