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
mod tests;
