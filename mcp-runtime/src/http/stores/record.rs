//! Session data in its stored form.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::budget::ClientNetwork;
use crate::context::Principal;
use crate::dispatch::{HandshakeOutcome, ListVersion, SeenChanges, SessionMemory, Subscriptions};
use crate::jsonrpc::each_member;
use crate::limits::StreamLimits;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::ListenFilter;
use crate::protocol::negotiation::{InitializeParams, parse_capabilities, parse_client_info};
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// A legacy session's data: the protocol version, the client's description of itself, the log level, the subscriptions,
/// and the owner.
///
/// Records are meant only for a [`SessionStore`](crate::http::SessionStore) and are never sent to clients. As JSON, a
/// record is an object of a few hundred bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    changes: u32,
    #[serde(with = "date")]
    version: ProtocolVersion,
    level: LoggingLevel,
    ready: bool,
    /// For tools, prompts and resources, in this order: `true` if the client is notified of list changes.
    lists: [bool; 3],
    /// The list changes that the client has already seen because they were made before the session started.
    #[serde(default, skip_serializing_if = "ListVersion::is_unknown")]
    seen: ListVersion,
    /// The changes of which the client has been notified, if the instances have a relay: [`SeenChanges::logged`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    relayed: Option<Box<str>>,
    /// A [`SessionClientInfo`] as JSON, which takes less memory than the parsed form.
    client: Box<str>,
    uris: Subscriptions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<Box<str>>,
    /// The network from which an anonymous client started the session, if it is known. It is not stored with the rest.
    #[serde(skip)]
    network: Option<ClientNetwork>,
}

#[derive(Serialize)]
struct SessionClientInfo<'c> {
    capabilities: &'c ClientCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<&'c Implementation>,
}

impl SessionRecord {
    /// Returns how many times the record has been written: once for a new session, and once more for each change.
    #[must_use]
    pub const fn changes(&self) -> u32 {
        self.changes
    }

    /// Returns the owner: the [`key`](crate::Principal::key) of the principal that started the session, if there was
    /// one. Requests from other callers are answered as if the session did not exist.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Creates the record for a new session that belongs to this caller. `lists` selects the lists for which the client
    /// receives change notifications, and `seen` counts the changes so far.
    pub(in crate::http) fn new(
        params: &InitializeParams,
        (lists, seen): (&ListenFilter, SeenChanges),
        (caller, network): (Option<&Principal>, Option<ClientNetwork>),
    ) -> Self {
        let mut record = Self::for_unknown_client(params.version);
        (record.seen, record.relayed) = (seen.lists, seen.logged);
        record.owner = caller.map(|principal| principal.key().into());
        record.network = network.filter(|_| caller.is_none());
        record.lists = [lists.tools, lists.prompts, lists.resources];
        record.client = to_json(&params.capabilities, Some(&params.client_info));
        record
    }

    /// Creates the record for a client about which only the protocol version is known.
    pub(in crate::http) fn for_unknown_client(version: ProtocolVersion) -> Self {
        Self {
            changes: 1,
            version,
            level: LoggingLevel::Info,
            ready: false,
            lists: [false; 3],
            seen: ListVersion::default(),
            relayed: None,
            client: "".into(),
            uris: Subscriptions::default(),
            owner: None,
            network: None,
        }
    }

    /// Returns the network from which an anonymous client started the session, if it is known.
    pub(in crate::http) const fn network(&self) -> Option<ClientNetwork> {
        self.network
    }

    /// Returns `true` if the session belongs to this caller.
    pub(in crate::http) fn is_owned_by(&self, caller: Option<&Principal>) -> bool {
        self.owner() == caller.map(Principal::key)
    }

    /// Returns the negotiated protocol version.
    pub(in crate::http) const fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns `true` if the client has sent `notifications/initialized`.
    pub(in crate::http) const fn is_ready(&self) -> bool {
        self.ready
    }

    #[cfg(test)]
    pub(in crate::http) fn set_network(&mut self, network: ClientNetwork) {
        self.network = Some(network);
    }

    /// Returns the size of the client's description of itself, in bytes.
    pub(in crate::http) fn client_bytes(&self) -> usize {
        self.client.len()
    }

    pub(in crate::http) fn handshake_outcome(&self) -> HandshakeOutcome {
        let (mut capabilities, mut info) = (ClientCapabilities::default(), None);
        each_member(&self.client, |key, value| match key {
            b"capabilities" => capabilities = parse_capabilities(value).unwrap_or_default(),
            b"info" => info = parse_client_info(value),
            _ => {}
        });
        let [tools, prompts, resources] = self.lists;
        HandshakeOutcome {
            version: self.version,
            capabilities,
            info,
            offered: ListenFilter {
                tools,
                prompts,
                resources,
                ..ListenFilter::default()
            },
            seen: SeenChanges {
                lists: self.seen,
                logged: self.relayed.clone(),
            },
        }
    }

    /// Returns the record of a session whose client has been notified of these changes, or `None` if the record does not
    /// differ.
    pub(in crate::http) fn with_seen_changes(&self, seen: SeenChanges) -> Option<Self> {
        if seen.logged.is_none() || seen.logged == self.relayed {
            return None;
        }
        Some(Self {
            changes: self.changes.saturating_add(1),
            seen: seen.lists,
            relayed: seen.logged,
            ..self.clone()
        })
    }

    pub(in crate::http) fn session_memory(&self) -> SessionMemory {
        SessionMemory {
            level: self.level,
            ready: self.ready,
            uris: self.uris.clone(),
        }
    }

    /// Returns the record with a change applied, adding subscriptions only as far as the limits allow.
    pub(in crate::http) fn with_update(
        &self,
        change: &SessionUpdate,
        limits: &StreamLimits,
    ) -> Self {
        let mut uris = self.uris.clone();
        change.unfollowed.iter().for_each(|uri| uris.remove(uri));
        for uri in &change.followed {
            let mut more = uris.clone();
            more.insert(Arc::clone(uri));
            if more.are_within(limits) {
                uris = more;
            }
        }
        Self {
            changes: self.changes.saturating_add(1),
            level: change.level.unwrap_or(self.level),
            ready: self.ready || change.ready,
            uris,
            client: self.client.clone(),
            relayed: self.relayed.clone(),
            owner: self.owner.clone(),
            ..*self
        }
    }
}

fn to_json(capabilities: &ClientCapabilities, info: Option<&Implementation>) -> Box<str> {
    let client = SessionClientInfo { capabilities, info };
    // Serialization cannot fail because the values were parsed from JSON.
    serde_json::to_string(&client).unwrap_or_default().into()
}

/// The changes that a message makes to a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::http) struct SessionUpdate {
    pub(in crate::http) level: Option<LoggingLevel>,
    pub(in crate::http) ready: bool,
    pub(in crate::http) followed: Vec<Arc<str>>,
    pub(in crate::http) unfollowed: Vec<Arc<str>>,
}

impl SessionUpdate {
    /// Returns the difference between a record and the current state.
    pub(in crate::http) fn between(before: &SessionRecord, now: &SessionMemory) -> Self {
        Self {
            level: (now.level != before.level).then_some(now.level),
            ready: now.ready && !before.ready,
            followed: now.uris.difference(&before.uris),
            unfollowed: before.uris.difference(&now.uris),
        }
    }

    /// Returns `true` if the only change is that the client has become ready.
    pub(in crate::http) fn is_only_ready(&self) -> bool {
        let ready = Self {
            ready: true,
            ..Self::default()
        };
        *self == ready
    }

    pub(in crate::http) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Serializes a protocol version as its date.
mod date {
    use std::borrow::Cow;

    use super::{Deserialize, Deserializer, ProtocolVersion, Serializer};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    pub(super) fn serialize<S: Serializer>(
        version: &ProtocolVersion,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(version.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ProtocolVersion, D::Error> {
        let date = Cow::<'de, str>::deserialize(deserializer)?;
        ProtocolVersion::from_wire(&date)
            .ok_or_else(|| serde::de::Error::custom("unknown protocol version"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uris<T: FromIterator<&'static str>>(uris: &[&'static str]) -> T {
        uris.iter().copied().collect()
    }

    fn record() -> SessionRecord {
        SessionRecord {
            client: to_json(
                &ClientCapabilities::default(),
                Some(&Implementation::new("c", "1")),
            ),
            uris: uris(&["a://a", "a://b"]),
            ..SessionRecord::for_unknown_client(ProtocolVersion::V2025_06_18)
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let record = record();
        let json = serde_json::to_string(&record).unwrap();
        assert!(
            json.contains(r#""version":"2025-06-18","level":"info""#),
            "{json}"
        );
        assert_eq!(
            serde_json::from_str::<SessionRecord>(&json).unwrap(),
            record
        );
        assert_eq!(
            record.handshake_outcome().info,
            Some(Implementation::new("c", "1"))
        );
        let unknown =
            SessionRecord::for_unknown_client(ProtocolVersion::V2025_03_26).handshake_outcome();
        assert_eq!(
            (unknown.capabilities, unknown.info),
            (ClientCapabilities::default(), None)
        );
        let strange = json.replace("2025-06-18", "1999-01-01");
        assert!(serde_json::from_str::<SessionRecord>(&strange).is_err());
    }

    #[test]
    fn a_change_can_be_made_to_a_record_that_was_changed_meanwhile() {
        let before = record();
        let now = SessionMemory {
            level: LoggingLevel::Error,
            ready: true,
            uris: uris(&["a://b", "a://c"]),
        };
        let change = SessionUpdate::between(&before, &now);
        let meanwhile = SessionUpdate {
            followed: vec!["a://d".into()],
            ..SessionUpdate::default()
        };
        let limits = StreamLimits::default();
        let after = before
            .with_update(&meanwhile, &limits)
            .with_update(&change, &limits);
        assert_eq!(
            (after.changes, after.level, after.ready),
            (3, now.level, true)
        );
        let expected: Subscriptions = uris(&["a://b", "a://c", "a://d"]);
        assert_eq!(after.uris, expected);
        assert!(SessionUpdate::between(&before, &before.session_memory()).is_empty());
        let one_more = expected.bytes() - 1;
        for (most, most_bytes, count) in [
            (3, expected.bytes(), 3),
            (2, expected.bytes(), 2),
            (3, one_more, 2),
        ] {
            let limits = StreamLimits {
                max_subscriptions: most,
                max_subscription_bytes_per_session: most_bytes,
                ..StreamLimits::default()
            };
            let after = before
                .with_update(&meanwhile, &limits)
                .with_update(&change, &limits);
            assert_eq!(after.uris.count(), count, "{most} and {most_bytes} bytes");
        }
    }

    #[test]
    fn a_record_is_small() {
        assert!(size_of::<SessionRecord>() <= 96);
    }
}
