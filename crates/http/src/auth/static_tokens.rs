//! Accepts a few tokens that never change.

use std::fmt;

use mcp_core::context::Principal;
use ring::digest::{SHA256, digest};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::{AuthError, AuthFuture, Authenticator, Credentials};

/// Minimum length of a token, in characters.
const MIN_TOKEN_CHARACTERS: usize = 32;

/// Accepts a few fixed tokens. This is suitable for a server with a handful of callers who know each other.
///
/// The tokens do not expire and are not bound to a single server, so give each server its own tokens. Each token must
/// be at least 32 characters long; generate it at random and read it from a file or the environment. No authorization
/// server is announced to clients, so users must enter their tokens into their clients.
///
/// Only digests of the tokens are kept. Every lookup compares the given token's digest with all of these digests, in
/// time that does not depend on the tokens.
#[derive(Default)]
pub struct StaticTokens {
    tokens: Vec<([u8; 32], Principal)>,
    too_short: bool,
}

impl StaticTokens {
    /// Creates an authenticator without tokens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps a token to a principal. Can be called more than once.
    #[must_use]
    pub fn token(mut self, token: &str, principal: Principal) -> Self {
        self.too_short |= token.len() < MIN_TOKEN_CHARACTERS;
        self.tokens.push((hash_token(token), principal));
        self
    }

    fn find_principal(&self, token: &str) -> Option<&Principal> {
        let token = hash_token(token);
        let mut found = u64::MAX;
        for (place, (other, _)) in (0..).zip(&self.tokens) {
            found.conditional_assign(&place, token.ct_eq(other));
        }
        let (_, principal) = self.tokens.get(usize::try_from(found).ok()?)?;
        Some(principal)
    }
}

/// Returns the digest of a token, which identifies the token without storing it.
pub(super) fn hash_token(token: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    // Both slices have the length of a SHA-256 digest.
    bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    bytes
}

impl Authenticator for StaticTokens {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> AuthFuture<'a> {
        let principal = self.find_principal(credentials.token).cloned();
        let principal = principal.ok_or_else(|| AuthError::invalid("the token is unknown"));
        Box::pin(std::future::ready(principal))
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.tokens.is_empty() {
            faults.push("there are no tokens, so every request would be refused".to_owned());
        }
        if self.too_short {
            faults.push(format!(
                "a token in `StaticTokens` is shorter than {MIN_TOKEN_CHARACTERS} characters; create one with `openssl rand -base64 32`"
            ));
        }
        faults
    }
}

impl fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticTokens").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_token_is_found_and_one_that_is_too_short_is_an_error() {
        let [a, b] = ["a", "b"].map(|letter| letter.repeat(MIN_TOKEN_CHARACTERS));
        let tokens = StaticTokens::new()
            .token(&a, Principal::new("alice"))
            .token(&b, Principal::new("bob"));
        let subject = |token: &str| tokens.find_principal(token).map(Principal::subject);
        assert_eq!(subject(&a), Some("alice"));
        assert_eq!(subject(&b), Some("bob"));
        for other in ["", "a", &a[1..], &format!("{a}a")] {
            assert_eq!(subject(other), None);
        }
        assert!(tokens.faults().is_empty());
        assert_eq!(StaticTokens::new().faults().len(), 1);
        let short = StaticTokens::new().token(&a[1..], Principal::new("alice"));
        assert_eq!(short.faults().len(), 1);
        assert!(!format!("{tokens:?}").contains(&a));
    }
}
