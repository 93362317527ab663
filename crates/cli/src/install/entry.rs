//! The entry for a server in a client's configuration, and the forms that several clients share.

use serde_json::{Map, Value};

/// The members of a server's entry.
pub(super) type EntryMembers = Map<String, Value>;

/// A server that the client starts.
pub(super) struct LocalServer {
    pub(super) executable: String,
    pub(super) arguments: Vec<String>,
    /// Environment variables.
    pub(super) environment: EntryMembers,
}

/// A server to which the client connects.
pub(super) struct RemoteServer {
    pub(super) url: String,
    pub(super) headers: EntryMembers,
}

/// The entry to write.
pub(super) struct ServerEntry {
    pub(super) members: EntryMembers,
    /// `true` if an existing entry's arguments are kept because none were given.
    pub(super) keeps_arguments: bool,
}

/// Returns an entry with `command`, `args` and, if there are variables, `env`.
pub(super) fn command(server: &LocalServer) -> EntryMembers {
    let mut members = EntryMembers::new();
    members.insert("command".into(), server.executable.as_str().into());
    members.insert("args".into(), server.arguments.iter().cloned().collect());
    if !server.environment.is_empty() {
        members.insert("env".into(), server.environment.clone().into());
    }
    members
}

/// Returns an entry with a URL and any headers, in members with these names.
pub(super) fn remote(server: &RemoteServer, url: &str, headers: &str) -> EntryMembers {
    let mut members = EntryMembers::new();
    members.insert(url.into(), server.url.as_str().into());
    if !server.headers.is_empty() {
        members.insert(headers.into(), server.headers.clone().into());
    }
    members
}

/// Returns an entry whose members are inside a `transport` of this type.
pub(super) fn in_transport(kind: &str, members: EntryMembers) -> EntryMembers {
    let transport = with_first("type", kind.into(), members);
    EntryMembers::from_iter([(TRANSPORT.to_owned(), transport.into())])
}

/// The member that some clients wrap around the others.
pub(super) const TRANSPORT: &str = "transport";

/// Inserts a member before the others.
pub(super) fn with_first(name: &str, value: Value, members: EntryMembers) -> EntryMembers {
    let first = std::iter::once((name.to_owned(), value));
    first.chain(members).collect()
}
