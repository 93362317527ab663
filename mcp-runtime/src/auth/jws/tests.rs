//! Tests with signatures created by other implementations and with forgeries that must be rejected.

use serde_json::json;

use super::*;

/// RFC 7515, A.2.
const RS256: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
/// RFC 7515, A.3.
const ES256: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
/// RFC 8037, A.4; its payload is not an object.
const EDDSA: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
// Created with another library, using keys that have since been discarded.
const PS256: &str = "eyJhbGciOiJQUzI1NiIsImtpZCI6InIiLCJ0eXAiOiJhdCtqd3QifQ.eyJpc3MiOiJqb2UifQ.3mgdtvpulLH5Kp98hbdcO4bI5obNdcPxJtb6N8Q1DK8XHQi4C2jIlIEwEp2JzjWu2PmsoeZ7d-FcdW5vw3A0h2fRs81n09K1vtzSLDoUsIc8vVPIGyV5tUGaeUnsepYWnqa4Pjs-9qLc68FuNJjG4KVKXPzRR25wN6w3z7hkhZnBteVQ4dsZXvMhWEGjF4pbMhvkUqvgHK4eTKu86C6_TIzVq5dijUw6YGn8xM6RqUiW4gVw2U3x_6noLYmBqZ_p3rKTaRVXvXePou6o6xclP5d4rRT6RwNSX_D3cmpk-QB3wMyHaoDL0w7m5CmE68yRxdS5d8Y_ZES--8cZAzsDZw";
const ES384: &str = "eyJhbGciOiJFUzM4NCIsImtpZCI6ImUiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJqb2UifQ.TGS4gMjogHzTnXILAgY4BAXpiXE5iKhbg-fn3-F1PNaRzd2K5vkQ-KksCjMydzWda0xN5yg78InKmmYJyF92CRFgDlo6z3QvkiTXvgyy36IdBeDWTsCQ8r01IlIUY9lk";

fn keys() -> Vec<VerificationKey> {
    let keys = [
        json!({"kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}),
        json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}),
        json!({"kty": "RSA", "kid": "r", "e": "AQAB", "n": "7oiRjvwAnV1TR30U7xaFQdo_3pBhY9m_sVdQiRc1JDbINcMgJi9liXe3kpJy7i6MLvRPcxkFWLUoGH_DXrSq2YN_wZ_RvwFlVlitr2BMKOp-WlXRKQfrrQsn9nVO7tusX__FV6rJD0w21UUXCj9uJQ2nAHwCbRrKq9GQkuT6Ithnp24fj_TPr-s6ksHqtzQ8S7Pytl7bOq1wocTaLPJIX4JJXoOgLWe2CltD9hO3M-s2KptjIYyuiA7rGXI_XHVoyWiM06HryPAK6aMte7fNQKbeA0IbYol1pxawf3vUrr6tc1NiD479KxRGQmaA38n1rCNp9s3bPqtedQm4qW2P8Q"}),
        json!({"kty": "EC", "kid": "e", "crv": "P-384", "x": "vn2fQAt9I35B9_IlZCzru5MkZ6S_3OebHRj9VtY20lBt6l7lZ1u0HxTfVprdnBcO", "y": "9mfF498Tv-ommk_PecRV0XzWfpPy7hw0zRmEz9csH0wFJLbyCsl1vnv-Yre-lzBU"}),
    ];
    keys.iter().filter_map(VerificationKey::read).collect()
}

fn verify(text: &str) -> Result<Map<String, Value>, &'static str> {
    SignedToken::read(text)?.verify_signature(&keys())
}

/// Returns the same token with a different header.
fn with_header(token: &str, header: &Value) -> String {
    let (_, rest) = token.split_once('.').unwrap();
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()))
}

#[test]
fn signatures_of_others_are_right() {
    assert_eq!(keys().len(), 5);
    for token in [RS256, ES256, PS256, ES384] {
        assert_eq!(verify(token).unwrap()["iss"], "joe", "{token}");
    }
    assert_eq!(verify(EDDSA), Err("the claims are malformed"));
}

#[test]
fn what_was_changed_is_wrong() {
    for token in [RS256, ES256, EDDSA, PS256, ES384] {
        let (message, signature) = token.rsplit_once('.').unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
        bytes[7] ^= 1;
        let other = format!("{message}.{}", URL_SAFE_NO_PAD.encode(&bytes));
        assert_eq!(verify(&other), Err("the signature is invalid"));
        let (header, rest) = token.split_once('.').unwrap();
        let other = format!("{header}.{}{rest}", URL_SAFE_NO_PAD.encode("   "));
        assert_eq!(verify(&other), Err("the signature is invalid"));
        assert_eq!(
            verify(&format!("{message}.")),
            Err("the signature is invalid")
        );
    }
}

#[test]
fn only_listed_ways_to_sign_count() {
    for name in [
        "none", "None", "NONE", "HS256", "HS512", "RS1", "ES256K", "ES512", "", "rs256",
    ] {
        let token = with_header(RS256, &json!({"alg": name}));
        assert!(SignedToken::read(&token).is_err(), "{name}");
    }
    // The algorithm must match the key, regardless of what the token declares.
    for name in ["PS256", "RS384", "ES256", "EdDSA"] {
        let token = with_header(RS256, &json!({"alg": name}));
        assert_eq!(verify(&token), Err("the signature is invalid"), "{name}");
    }
}

#[test]
fn what_is_no_access_token_is_refused() {
    for (header, good) in [
        (json!({"alg": "RS256", "typ": "JWT"}), true),
        (json!({"alg": "RS256", "typ": "application/at+jwt"}), true),
        (
            json!({"alg": "RS256", "jku": "https://evil.example.com"}),
            true,
        ),
        (json!({"alg": "RS256", "typ": "dpop+jwt"}), false),
        (json!({"alg": "RS256", "typ": "logout+jwt"}), false),
        (
            json!({"alg": "RS256", "crit": ["b64"], "b64": false}),
            false,
        ),
        (json!({"alg": ["RS256"]}), false),
        (json!({"typ": "JWT"}), false),
        (json!([]), false),
        (json!(["RS256", null, null, null]), false),
        (json!({"alg": "RS256", "kid": 1}), false),
    ] {
        let token = with_header(RS256, &header);
        assert_eq!(SignedToken::read(&token).is_ok(), good, "{header}");
    }
    for token in [
        "",
        ".",
        "..",
        "...",
        "a.b",
        "a.b.c",
        &format!("{RS256}.x"),
        &RS256[20..],
    ] {
        assert!(verify(token).is_err(), "{token}");
    }
}

#[test]
fn a_key_is_for_what_it_says_at_most() {
    let mut key = json!({"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
    let token = SignedToken::read(ES256).unwrap();
    for (name, value, good) in [
        ("alg", json!("ES256"), true),
        ("use", json!("sig"), true),
        ("kid", json!("x"), true),
        ("alg", json!("ES384"), false),
        ("alg", json!("HS256"), false),
        ("use", json!("enc"), false),
        ("crv", json!("P-384"), false),
        ("x", json!("AA"), false),
        ("y", json!(1), false),
        ("kty", json!("oct"), false),
    ] {
        let before = key.clone();
        key[name] = value;
        let read = VerificationKey::read(&key);
        assert_eq!(token.verify_signature(&read).is_ok(), good, "{key}");
        key = before;
    }
    let named = with_header(ES256, &json!({"alg": "ES256", "kid": "other"}));
    assert!(
        SignedToken::read(&named)
            .unwrap()
            .verify_signature(&keys())
            .is_err()
    );
}
