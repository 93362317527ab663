//! An access token is accepted only with the contents that its issuer signed. Input: one line each for a token's
//! header, its claims, a set of keys, a made-up token, and a change: its position (two bytes) and the new byte.
#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::let_in;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Map, Value, json};

const NOW: f64 = 1_800_000_000.0;

/// The issuer: its key, and the published part of the key.
struct Issuer {
    key: Ed25519KeyPair,
    set: Value,
}

impl Issuer {
    fn new() -> Self {
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("any 32 bytes will do");
        let x = URL_SAFE_NO_PAD.encode(key.public_key());
        let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x}]});
        Self { key, set }
    }

    fn sign(&self, header: &str, claims: &str) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature = self.key.sign(message.as_bytes());
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

thread_local! {
    static ISSUER: Issuer = Issuer::new();
}

fuzz_target!(|data: &str| ISSUER.with(|issuer| {
    let mut lines = data.splitn(5, '\n');
    let [header, claims, set, made_up, change] =
        std::array::from_fn(|_| lines.next().unwrap_or_default());
    let [high, low, byte] = std::array::from_fn(|index| change.bytes().nth(index).unwrap_or(b'A'));
    let is_let_in = |token: &str| let_in(&issuer.set, token, NOW).is_some();
    assert!(!is_let_in(made_up));
    let token = issuer.sign(header, claims);
    if let Some(principal) = let_in(&issuer.set, &token, NOW) {
        let header: Map<String, Value> = serde_json::from_str(header).expect("it was read");
        let claims: Map<String, Value> = serde_json::from_str(claims).expect("they were read");
        assert!(matches!(header["alg"].as_str(), Some("EdDSA" | "Ed25519")));
        assert!(header.get("crit").is_none_or(Value::is_null));
        assert_eq!(claims["iss"], "https://login.example.com");
        assert!(claims["exp"].as_f64().expect("a number") > NOW - 60.0);
        let said = |name: &str, subject: &str| claims.get(name).is_some_and(|it| it == subject);
        match principal.subject().strip_prefix("client_id:") {
            Some(id) => assert!(said("client_id", id) || said("azp", id)),
            None => assert!(said("sub", principal.subject())),
        }
    }
    // With another issuer's keys.
    if let Ok(set) = serde_json::from_str(set) {
        let _ = let_in(&set, &token, NOW);
        let _ = let_in(&set, made_up, NOW);
    }
    // Changed, truncated and extended.
    let at = usize::from(u16::from_be_bytes([high, low])) % token.len();
    let mut changed = token.clone().into_bytes();
    changed[at] = byte & 0x7F;
    let changed = String::from_utf8(changed).expect("ASCII stays ASCII");
    assert!(changed == token || !is_let_in(&changed), "{changed}");
    assert!(!is_let_in(&token[..at]));
    assert!(made_up.is_empty() || !is_let_in(&format!("{token}{made_up}")));
}));
