//! Signed tokens: the accepted algorithms, the keys that match them, and signature verification.
//!
//! The cryptography is implemented by `ring`. An algorithm is accepted only if it is listed here and matches the key's
//! type; declarations in a token or a key can only restrict the choice further. Shared secrets (HS256) and unsigned
//! tokens are not listed, so a public key is never mistaken for a secret.
//!
//! Source: RFC 7515, RFC 7517, RFC 7518, RFC 8037, RFC 8725.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, VerificationAlgorithm};
use serde_json::{Map, Value};

/// A signature algorithm.
pub(super) struct Algorithm {
    name: &'static str,
    scheme: SignatureScheme,
}

enum SignatureScheme {
    Rsa(&'static RsaParameters),
    /// Signatures that use the curve with this name.
    Curve(&'static str, &'static dyn VerificationAlgorithm),
}

static ALGORITHMS: [Algorithm; 10] = [
    Algorithm::new_rsa("RS256", &signature::RSA_PKCS1_2048_8192_SHA256),
    Algorithm::new_rsa("RS384", &signature::RSA_PKCS1_2048_8192_SHA384),
    Algorithm::new_rsa("RS512", &signature::RSA_PKCS1_2048_8192_SHA512),
    Algorithm::new_rsa("PS256", &signature::RSA_PSS_2048_8192_SHA256),
    Algorithm::new_rsa("PS384", &signature::RSA_PSS_2048_8192_SHA384),
    Algorithm::new_rsa("PS512", &signature::RSA_PSS_2048_8192_SHA512),
    Algorithm::new_curve("ES256", "P-256", &signature::ECDSA_P256_SHA256_FIXED),
    Algorithm::new_curve("ES384", "P-384", &signature::ECDSA_P384_SHA384_FIXED),
    Algorithm::new_curve("EdDSA", "Ed25519", &signature::ED25519),
    Algorithm::new_curve("Ed25519", "Ed25519", &signature::ED25519),
];

impl Algorithm {
    const fn new_rsa(name: &'static str, parameters: &'static RsaParameters) -> Self {
        let scheme = SignatureScheme::Rsa(parameters);
        Self { name, scheme }
    }

    const fn new_curve(
        name: &'static str,
        curve: &'static str,
        algorithm: &'static dyn VerificationAlgorithm,
    ) -> Self {
        let scheme = SignatureScheme::Curve(curve, algorithm);
        Self { name, scheme }
    }
}

/// A public key that verifies signatures.
pub(super) struct VerificationKey {
    pub(super) id: Option<String>,
    /// The only algorithm with which the key may be used, if the key is restricted to one.
    algorithm: Option<String>,
    material: KeyMaterial,
}

enum KeyMaterial {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Curve { name: String, point: Vec<u8> },
}

impl VerificationKey {
    /// Reads a key from a key set. Returns `None` if this module cannot use it.
    pub(super) fn read(json: &Value) -> Option<Self> {
        let text = |name| json.get(name).and_then(Value::as_str);
        let bytes = |name| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        let number = |name| {
            let bytes: Vec<u8> = bytes(name)?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            bytes.get(zeros..).map(<[u8]>::to_vec)
        };
        let material = match text("kty")? {
            "RSA" => KeyMaterial::Rsa {
                n: number("n")?,
                e: number("e")?,
            },
            "EC" => KeyMaterial::Curve {
                name: text("crv")?.to_owned(),
                point: [&[4][..], &bytes("x")?, &bytes("y")?].concat(),
            },
            "OKP" => KeyMaterial::Curve {
                name: text("crv")?.to_owned(),
                point: bytes("x")?,
            },
            _ => return None,
        };
        Some(Self {
            id: text("kid").map(str::to_owned),
            algorithm: text("alg").map(str::to_owned),
            material,
        })
    }

    fn verify_signature(&self, algorithm: &Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match (&self.material, &algorithm.scheme) {
            (KeyMaterial::Rsa { n, e }, SignatureScheme::Rsa(parameters)) => {
                RsaPublicKeyComponents { n, e }
                    .verify(parameters, message, signature)
                    .is_ok()
            }
            (KeyMaterial::Curve { name, point }, SignatureScheme::Curve(curve, algorithm)) => {
                let key = signature::UnparsedPublicKey::new(*algorithm, point);
                name == curve && key.verify(message, signature).is_ok()
            }
            _ => false,
        }
    }

    /// Returns `true` if the key can be used with this algorithm.
    fn supports_algorithm(&self, algorithm: &Algorithm) -> bool {
        let is_for = match &self.algorithm {
            Some(only) => only == algorithm.name,
            None => true,
        };
        is_for
            && match (&self.material, &algorithm.scheme) {
                (KeyMaterial::Rsa { .. }, SignatureScheme::Rsa(_)) => true,
                (KeyMaterial::Curve { name, .. }, SignatureScheme::Curve(curve, _)) => {
                    name == curve
                }
                _ => false,
            }
    }
}

/// A signed token that has not been verified yet.
pub(super) struct SignedToken<'t> {
    algorithm: &'static Algorithm,
    /// The id of the signing key, if the token names one.
    pub(super) key: Option<String>,
    message: &'t str,
    claims: &'t str,
    signature: Vec<u8>,
}

impl<'t> SignedToken<'t> {
    /// Parses a token. The error states why the text is not a valid token.
    pub(super) fn read(text: &'t str) -> Result<Self, &'static str> {
        let (message, signature) = text.rsplit_once('.').ok_or("not a signed token")?;
        let (header, claims) = message.split_once('.').ok_or("not a signed token")?;
        let header = URL_SAFE_NO_PAD.decode(header).ok();
        let header = header.and_then(|json| serde_json::from_slice::<Map<_, _>>(&json).ok());
        let header: Map<String, Value> = header.ok_or("the header is malformed")?;
        let text = |name| match header.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err("the header is malformed"),
        };
        if header
            .get("crit")
            .is_some_and(|critical| !critical.is_null())
        {
            return Err("unsupported `crit` header parameter");
        }
        let is_access_token = |typ: &str| {
            let typ = typ.to_ascii_lowercase();
            matches!(typ.trim_start_matches("application/"), "jwt" | "at+jwt")
        };
        if !text("typ")?.is_none_or(is_access_token) {
            return Err("not an access token");
        }
        let name = text("alg")?.ok_or("the header is malformed")?;
        let algorithm = ALGORITHMS.iter().find(|known| known.name == name);
        Ok(Self {
            algorithm: algorithm.ok_or("unsupported signature algorithm")?,
            key: text("kid")?.map(str::to_owned),
            message,
            claims,
            signature: URL_SAFE_NO_PAD
                .decode(signature)
                .map_err(|_| "the signature is malformed")?,
        })
    }

    /// Returns `true` if the token may have been signed with this key.
    pub(super) fn may_be_signed_with(&self, key: &VerificationKey) -> bool {
        let is_named = self.key.is_none() || self.key == key.id;
        is_named && key.supports_algorithm(self.algorithm)
    }

    /// Returns the claims, if the token was signed with one of these keys.
    pub(super) fn verify_signature<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k VerificationKey>,
    ) -> Result<Map<String, Value>, &'static str> {
        let mut keys = keys.into_iter().filter(|key| self.may_be_signed_with(key));
        let message = self.message.as_bytes();
        if !keys.any(|key| key.verify_signature(self.algorithm, message, &self.signature)) {
            return Err("the signature is invalid");
        }
        let claims = URL_SAFE_NO_PAD.decode(self.claims).ok();
        let claims = claims.and_then(|json| serde_json::from_slice(&json).ok());
        claims.ok_or("the claims are malformed")
    }
}

#[cfg(test)]
mod tests {
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
    fn tokens_signed_by_other_implementations_are_verified() {
        assert_eq!(keys().len(), 5);
        for token in [RS256, ES256, PS256, ES384] {
            assert_eq!(verify(token).unwrap()["iss"], "joe", "{token}");
        }
        assert_eq!(verify(EDDSA), Err("the claims are malformed"));
    }

    #[test]
    fn a_token_with_a_changed_header_claim_or_signature_is_refused() {
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
    fn only_listed_signature_algorithms_are_accepted() {
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
    fn a_jwt_that_is_not_an_access_token_is_refused() {
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
    fn a_key_is_used_only_for_its_declared_algorithm_and_use() {
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
}
