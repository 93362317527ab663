//! Values that are known to be secrets, which are hidden wherever they occur, and the secrets in environment variables.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;
use serde_json::json;

/// The text that replaces a secret.
pub(super) const MASK: &str = "•••";
/// Minimum length of a secret, in characters. A shorter value is hidden only where a schema marks it as secret, because
/// elsewhere it is unlikely to be the secret.
const SHORTEST: usize = 4;
const MAX_SECRETS: usize = 1_000;
/// Maximum length of a secret whose encoded forms are hidden too, in bytes.
const MAX_ENCODED: usize = 4 << 10;
/// Minimum length of a part of a Base64 text that is taken for a secret, in characters.
const SHORTEST_PART: usize = 8;

/// The secrets that are known.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    /// The secrets themselves.
    secrets: BTreeSet<String>,
    /// The secrets as they occur in other texts: in JSON in a string, in Base64, in forms.
    encoded: BTreeSet<String>,
}

impl KnownSecrets {
    /// Hides a value from now on, unless it is too short.
    pub(super) fn learn(&mut self, secret: &str) {
        if secret.chars().count() < SHORTEST
            || secret == MASK
            || matches!(secret, "true" | "false" | "null")
            || self.secrets.len() >= MAX_SECRETS
            || !self.secrets.insert(secret.to_owned())
        {
            return;
        }
        let quoted = json!(secret).to_string();
        self.encoded.insert(quoted[1..quoted.len() - 1].to_owned());
        if secret.len() > MAX_ENCODED {
            return;
        }
        self.encoded.insert(form_encoded(secret));
        for shift in 0..3 {
            self.encoded.extend(base64_forms(secret, shift));
        }
        // A password from a URL may be percent-encoded itself.
        let decoded = PercentDecoded::of(secret).bytes;
        if let Ok(decoded) = String::from_utf8(decoded) {
            self.learn(&decoded);
        }
    }

    /// Returns `true` if the whole text is a secret.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.secrets.contains(text)
    }

    /// Replaces all secrets in a text, also those that are percent-encoded.
    pub(super) fn hide(&self, text: String) -> String {
        let mut found = Vec::new();
        for secret in self.secrets.iter().chain(&self.encoded) {
            found.extend(occurrences(text.as_bytes(), secret));
        }
        if text.contains('%') {
            let decoded = PercentDecoded::of(&text);
            for secret in &self.secrets {
                let at = occurrences(&decoded.bytes, secret);
                found.extend(at.map(|at| decoded.starts[at.start]..decoded.starts[at.end]));
            }
        }
        if found.is_empty() {
            return text;
        }
        // A secret may contain another one, or begin in it.
        found.sort_by_key(|at| (at.start, at.end));
        let mut hidden = String::with_capacity(text.len());
        let mut end = 0;
        for at in found {
            if at.start >= end {
                hidden += text.get(end..at.start).unwrap_or_default();
                hidden += MASK;
            }
            end = end.max(at.end);
        }
        hidden += text.get(end..).unwrap_or_default();
        hidden
    }
}

fn occurrences<'t>(text: &'t [u8], secret: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let found = memmem::find_iter(text, secret);
    found.map(|start| start..start + secret.len())
}

/// A text whose percent-encoded bytes are decoded.
struct PercentDecoded {
    bytes: Vec<u8>,
    /// The position in the text of each byte, and the length of the text.
    starts: Vec<usize>,
}

impl PercentDecoded {
    fn of(text: &str) -> Self {
        let digit = |at: usize| {
            let digit = text.as_bytes().get(at).copied().map(char::from);
            digit.and_then(|digit| digit.to_digit(16))
        };
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(byte) = text.as_bytes().get(at) {
            starts.push(at);
            let pair = (*byte == b'%').then(|| digit(at + 1).zip(digit(at + 2)));
            if let Some((high, low)) = pair.flatten() {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 3;
            } else {
                bytes.push(*byte);
                at += 1;
            }
        }
        starts.push(at);
        Self { bytes, starts }
    }
}

/// Returns a secret as a form in a body or query contains it, where a space is a `+`.
fn form_encoded(secret: &str) -> String {
    let mut encoded = String::new();
    for byte in secret.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Returns the characters that Base64 has for a secret after `shift` other bytes, in both alphabets. Characters that also
/// depend on the bytes before or after the secret are left out, unless the secret is all there is.
fn base64_forms(secret: &str, shift: usize) -> impl Iterator<Item = String> {
    let mut bytes = vec![0; shift];
    bytes.extend(secret.bytes());
    let (start, end) = ([0, 2, 3][shift], bytes.len() * 8 / 6);
    [STANDARD_NO_PAD, URL_SAFE_NO_PAD]
        .into_iter()
        .flat_map(move |alphabet| {
            let whole = alphabet.encode(&bytes);
            let part = whole.get(start..end).map(str::to_owned);
            let part = part.filter(|part| part.len() >= SHORTEST_PART);
            [part, (shift == 0).then_some(whole)]
        })
        .flatten()
}

/// Parts of the names of variables whose values are secrets.
const PARTS: [&str; 9] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "PRIVATE_KEY",
    "CREDENTIAL",
];
/// Words, between other characters than letters and digits, in the names of variables whose values are passwords.
const PASSWORD_WORDS: [&str; 2] = ["PASS", "PWD"];
/// Words in the names of variables whose values are secrets if they are long and without spaces.
const KEY_WORDS: [&str; 10] = [
    "AUTH", "BEARER", "COOKIE", "COOKIES", "CREDS", "DSN", "JWT", "KEY", "KEYS", "PAT",
];
/// Minimum length of the value of a variable with such a word, in bytes.
const SHORTEST_KEY: usize = 8;
/// Minimum length of a value that is taken for a secret whatever its variable is called, in bytes.
const SHORTEST_RANDOM: usize = 20;
/// The same for a value of hexadecimal digits.
const SHORTEST_HEXADECIMAL: usize = 32;

/// Returns the secrets in environment variables, with the names of the variables: values of variables whose names suggest
/// a secret, values that look random, and passwords in URLs.
pub(super) fn in_environment(
    variables: impl Iterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in variables {
        let upper = name.to_ascii_uppercase();
        let has_word = |words: &[&str]| {
            let mut found = upper.split(|c: char| !c.is_ascii_alphanumeric());
            found.any(|word| words.contains(&word))
        };
        let mut secrets = Vec::new();
        if PARTS.iter().any(|part| upper.contains(part)) {
            secrets.push(value.as_str());
        } else if is_existing_path(&value) {
            // Such as a socket in `SSH_AUTH_SOCK`, or the current folder in `PWD`.
        } else if has_word(&PASSWORD_WORDS) || is_random(&value) {
            secrets.push(value.as_str());
        } else if has_word(&KEY_WORDS) {
            let words = value.split_whitespace();
            secrets.extend(words.filter(|word| word.len() >= SHORTEST_KEY));
        }
        secrets.extend(password_of(&value));
        secrets.retain(|secret| secret.chars().count() >= SHORTEST);
        found.extend(
            secrets
                .into_iter()
                .map(|secret| (name.clone(), secret.to_owned())),
        );
    }
    found
}

fn is_existing_path(value: &str) -> bool {
    let path = Path::new(value);
    path.is_absolute() && path.exists()
}

/// Returns `true` if a value is long, without spaces, and has the characters of generated keys: letters of both cases and
/// digits, or hexadecimal digits.
fn is_random(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    let all = |test: fn(&u8) -> bool| value.as_bytes().iter().all(test);
    let is_hexadecimal = value.len() >= SHORTEST_HEXADECIMAL
        && all(u8::is_ascii_hexdigit)
        && has(u8::is_ascii_alphabetic);
    let is_mixed = value.len() >= SHORTEST_RANDOM
        && all(|byte| byte.is_ascii_alphanumeric() || b"+/=_.~-".contains(byte))
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase);
    has(u8::is_ascii_digit) && (is_hexadecimal || is_mixed)
}

/// Returns the password of a URL such as `postgres://user:password@host/`, or a key in its place.
fn password_of(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split('/').next()?;
    let (user, _) = authority.rsplit_once('@')?;
    match user.split_once(':') {
        Some((_, password)) => Some(password),
        None => (user.len() >= SHORTEST_RANDOM).then_some(user),
    }
}
