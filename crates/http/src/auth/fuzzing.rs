//! See [`crate::fuzzing`].

use std::time::Duration;

use mcp_core::context::Principal;
use serde_json::Value;

use super::jws::SignedToken;
use super::key_set;
use crate::auth::jwt::ClaimRequirements;

/// Returns the principal of a token that is signed with a key from this set and was issued by
/// `https://login.example.com` for `https://mcp.example.com/mcp`. Clocks may differ by up to a minute.
#[must_use]
pub fn let_in(set: &Value, token: &str, now: f64) -> Option<Principal> {
    let keys = key_set::parse_key_set(set).ok()?;
    let claims = SignedToken::read(token)
        .ok()?
        .verify_signature(&*keys)
        .ok()?;
    let expected = ClaimRequirements {
        issuer: Some("https://login.example.com"),
        audiences: Some(&["https://mcp.example.com/mcp"]),
        expires: true,
        skew: Duration::from_mins(1),
    };
    expected.check_claims(claims, now).ok()
}
