//! Protects `requestState`, which holds a call's state. Only this server can create or read a state, and each state is
//! valid only for its call.
//!
//! The state is sealed with XChaCha20-Poly1305. The result consists of the key's id, the expiry time, a nonce, and the
//! sealed bytes, encoded as base64url. The state's binding (server, principal, method, name, arguments) is
//! authenticated along with it, but does not take up any space. Without the `sealing` feature, the state remains in
//! this process and the client holds a random handle.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests", "Security".

mod canonical;
#[cfg(any(test, not(feature = "sealing")))]
mod kept;
#[cfg(feature = "sealing")]
mod keys;
#[cfg(feature = "sealing")]
mod sealed;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

#[cfg(not(feature = "sealing"))]
pub(crate) use kept::{Seal, hash};
#[cfg(feature = "sealing")]
pub use keys::{SealingKey, SealingKeys};
#[cfg(feature = "sealing")]
pub(crate) use sealed::{Seal, hash};

use crate::jsonrpc::ErrorObject;
use crate::registry::CursorSeal;
use canonical::canonical;

/// The reason why a state is rejected. The error code is always -32602, and the call does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealError {
    /// The state was not issued by this server.
    Malformed,
    /// The state was sealed with a key that this server does not have.
    #[cfg(feature = "sealing")]
    UnknownKey,
    /// The state was modified or belongs to another call.
    Foreign,
    /// The state has expired.
    Expired,
}

impl SealError {
    pub(crate) fn into_error(self) -> ErrorObject {
        ErrorObject::invalid_params(match self {
            Self::Malformed => "`requestState` was not issued by this server",
            #[cfg(feature = "sealing")]
            Self::UnknownKey => {
                "`requestState` was sealed with a key that this server does not have; all instances of a server need the same \
                 keys, even after a restart (see the setting `sealing_keys`)"
            }
            Self::Foreign => "`requestState` was changed or belongs to another request",
            Self::Expired => "`requestState` has expired; call again without it",
        })
    }
}

/// The call to which a state is bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding<'a> {
    pub(crate) server: &'a str,
    /// The principal's key, or an empty string for an anonymous caller.
    pub(crate) principal: &'a str,
    pub(crate) method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) name: &'a str,
    /// The arguments as JSON text. Formatting does not matter, and numbers are compared by their exact value.
    pub(crate) arguments: &'a str,
}

impl Binding<'_> {
    /// Returns a digest of all parts.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut arguments = Vec::new();
        canonical(self.arguments, &mut arguments);
        let parts = [
            self.server.as_bytes(),
            self.principal.as_bytes(),
            self.method.as_bytes(),
            self.name.as_bytes(),
            &arguments,
        ];
        let mut whole = Vec::new();
        for part in parts {
            // The lengths ensure that different lists of parts never produce the same bytes.
            whole.extend_from_slice(&(part.len() as u64).to_be_bytes());
            whole.extend_from_slice(part);
        }
        hash(&whole)
    }
}

/// Seals the cursors of lists for their callers. Instances with the same keys and the same name open each other's cursors;
/// without the `sealing` feature, only the latest 1,024 cursors of this process can be opened.
pub(crate) struct SealedCursors {
    seal: Seal,
    server: Box<str>,
}

impl SealedCursors {
    /// The time for which a cursor is valid: longer than any client walks through a list.
    pub(crate) const LIFETIME: Duration = Duration::from_hours(24 * 365);

    /// Creates the seal for the cursors of the server with this name. `seal` must be for cursors only.
    pub(crate) fn new(seal: Seal, server: &str) -> Self {
        Self {
            seal,
            server: server.into(),
        }
    }

    fn binding(&self, caller: &str) -> [u8; 32] {
        let binding = Binding {
            server: &self.server,
            principal: caller,
            method: "cursor",
            name: "",
            arguments: "{}",
        };
        binding.digest()
    }
}

impl CursorSeal for SealedCursors {
    fn seal(&self, caller: &str, position: &[u8]) -> Option<String> {
        self.seal.seal(&self.binding(caller), position, now())
    }

    fn open(&self, caller: &str, cursor: &str) -> Option<Vec<u8>> {
        let opened = self.seal.open(&self.binding(caller), cursor, now());
        opened.ok()
    }
}

/// Returns a short digest for use in a question's key.
pub(crate) fn digest(asked: &[u8]) -> String {
    let hash = hash(asked);
    URL_SAFE_NO_PAD.encode(hash.first_chunk::<9>().unwrap_or(&[0; 9]))
}

/// Returns the time elapsed since the Unix epoch.
pub(crate) fn now() -> Duration {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::MAX_POSITION_BYTES;

    fn binding(arguments: &str) -> Binding<'_> {
        Binding {
            server: "s",
            principal: "",
            method: "tools/call",
            name: "t",
            arguments,
        }
    }

    #[test]
    fn arguments_are_the_same_however_they_are_written() {
        let one = binding(r#"{"a": 1, "b": {"d": [1.0, "é"], "c": null}}"#).digest();
        let other = binding(r#"{"b":{"c":null,"d":[1,"\u00e9"]},"a":1.0}"#).digest();
        assert_eq!(one, other);
        for different in ["{}", r#"{"a":1}"#, r#"{"a":1,"b":{"d":["é",1],"c":null}}"#] {
            assert_ne!(binding(different).digest(), one, "{different}");
        }
        let one = binding("1111111111111111111111").digest();
        assert_ne!(binding("1.1111111111111111e21").digest(), one);
        assert_eq!(binding("1.111111111111111111111e21").digest(), one);
    }

    #[test]
    fn the_longest_sealed_cursor_fits() {
        #[cfg(feature = "sealing")]
        let seal = Seal::new(SealingKeys::new(&[]), SealedCursors::LIFETIME);
        #[cfg(not(feature = "sealing"))]
        let seal = Seal::new(SealedCursors::LIFETIME);
        let cursors = SealedCursors::new(seal, "s");
        let cursor = CursorSeal::seal(&cursors, "alice", &[0; MAX_POSITION_BYTES]).unwrap();
        assert!(cursor.len() <= 1_024, "{}", cursor.len());
        let opened = CursorSeal::open(&cursors, "alice", &cursor).unwrap();
        assert_eq!(opened, [0; MAX_POSITION_BYTES]);
        assert_eq!(CursorSeal::open(&cursors, "bob", &cursor), None);
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let (mut one, mut other) = (binding("{}"), binding("{}"));
        (one.server, one.principal) = ("ab", "c");
        (other.server, other.principal) = ("a", "bc");
        assert_ne!(one.digest(), other.digest());
    }
}
