//! The trait for session stores.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

use mcp_core::budget::ClientNetwork;
use mcp_core::context::{Principal, StoreFuture};
use mcp_core::dispatch::{
    HandshakeOutcome, ListVersion, SeenChanges, SessionMemory, Subscriptions,
};
use mcp_core::error::Causes;
use mcp_core::fnv::FnvHasher;
use mcp_core::limits::StreamLimits;
use mcp_protocol::ProtocolVersion;
use mcp_protocol::encode::ListenFilter;
use mcp_protocol::jsonrpc::each_member;
use mcp_protocol::negotiation::{InitializeParams, parse_capabilities, parse_client_info};
use mcp_protocol::types::{ClientCapabilities, Implementation, LoggingLevel};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::timeout::timeout_while_running;

/// Stores legacy sessions: the result of the handshake, and the settings that the client has requested since.
///
/// **Open**: implement it on top of a database. Instances of a server that share a store serve the same sessions, no
/// matter which instance a request reaches, and sessions survive a restart. Without a custom store, a
/// [`MemorySessions`] keeps sessions in memory.
///
/// Work in progress stays on the instance where it started. With several instances that do not share an
/// [`InstanceRelay`](crate::InstanceRelay):
///
/// - the answer to an elicitation, sampling or roots request is accepted only if it reaches the instance that sent the
///   request;
/// - `notifications/cancelled` cancels a call only if it reaches the instance where the call runs;
/// - subscriptions and log levels set on another instance take effect for running calls and streams within 15 seconds;
///   if the session is deleted on another instance, its streams and calls also end within 15 seconds.
///
/// In any case:
///
/// - a GET stream reports only changes made on the instance that serves it, unless the instances share a
///   [`NotificationRelay`](crate::NotificationRelay);
/// - a client can resume a stream on another instance only if the instances share an [`EventStore`];
/// - the limits on a session's calls, logs and completions apply to each instance separately.
///
/// Lists, calls, log levels, subscriptions and DELETE work on any instance.
///
/// A session id consists of 43 base64url characters, which encode 256 random bits. Knowing the id is enough to use the
/// session, so the id is as confidential as a password. Records implement `Serialize` and `Deserialize`; their contents
/// are private to the server, and future versions may add to them.
///
/// An operation that takes longer than [`limits.sessions.store_timeout`](mcp_core::limits::Limits) is abandoned (its future is
/// dropped), unless the store [limits the time itself](MaybeReady::bounded). As after an error, the request then
/// receives 503 with `Retry-After`, and the cause is logged.
///
/// [`MemorySessions`]: crate::MemorySessions
/// [`EventStore`]: crate::EventStore
pub trait SessionStore: Send + Sync + 'static {
    /// Stores a new session for the duration `keep`. Returns `false` if there is no room for the session; the client
    /// then receives 503.
    ///
    /// `in_use` returns `true` for sessions with running calls on this instance and, at first, for those with an open
    /// stream. A store that ends idle sessions to make room must not end these. If it returns `false`, it is called once
    /// more, with an `in_use` that does not spare sessions with an open stream.
    ///
    /// `keep` is [`limits.sessions.start_timeout`](mcp_core::limits::Limits). A store that ends the session that would expire first
    /// therefore spares those that were used after the handshake.
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool>;

    /// Returns the session with this id and keeps it for at least `keep` from now on. Returns `None` if the session
    /// does not exist or has expired.
    ///
    /// Called for each request, and periodically while calls are running or streams are open. `keep` is normally
    /// [`limits.sessions.idle_timeout`](mcp_core::limits::Limits); zero leaves the expiry unchanged. The expiry does not have to
    /// be exact: a store may write only significant changes to the expiry.
    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>>;

    /// Replaces a record with its new version. If the stored [`changes`](SessionRecord::changes) count is not exactly
    /// one less than the new record's count, the session was changed concurrently or has ended; in that case, `save`
    /// changes nothing and returns `false`.
    ///
    /// This must be atomic. In SQL: `UPDATE sessions SET … WHERE id = $1 AND changes = $2 - 1`.
    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool>;

    /// Ends a session. Returns `false` if it did not exist.
    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool>;
}

// Results of store operations, which are available immediately or later.

/// The result of a store operation, which is available immediately or later.
///
/// A result that is available immediately, such as data in memory, does not require an allocation.
pub enum MaybeReady<'a, T> {
    /// The result is available.
    Ready(Result<T, Box<dyn std::error::Error + Send + Sync>>),
    /// The result must be awaited, for at most [`limits.sessions.store_timeout`](mcp_core::limits::Limits).
    Later(StoreFuture<'a, T>),
    /// The result must be awaited. The store itself limits the time.
    Bounded(StoreFuture<'a, T>),
}

impl<'a, T> MaybeReady<'a, T> {
    /// Creates a result that is already available.
    pub const fn ready(value: T) -> Self {
        Self::Ready(Ok(value))
    }

    /// Creates a result that must be awaited.
    pub fn later(
        future: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a,
    ) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Creates a result that must be awaited, from an operation whose time the store itself limits. It is never abandoned,
    /// and takes no timer.
    pub fn bounded(
        future: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'a,
    ) -> Self {
        Self::Bounded(Box::pin(future))
    }

    /// Waits for the result for at most `time`, unless the store limits the time. The cause of a failure is logged.
    #[doc(hidden)]
    pub async fn with_timeout(self, time: Duration) -> Result<T, StoreFailed> {
        let known = match self {
            Self::Ready(known) => known,
            Self::Bounded(future) => future.await,
            Self::Later(future) => Box::pin(timeout_while_running(time, future))
                .await
                .unwrap_or_else(|| Err(format!("it took longer than {time:?}").into())),
        };
        known.map_err(|error| {
            tracing::error!(error = %Causes(&*error), "a session or event store failed");
            StoreFailed
        })
    }
}

impl<T: fmt::Debug> fmt::Debug for MaybeReady<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(value) => f.debug_tuple("Ready").field(value).finish(),
            Self::Later(_) => f.debug_tuple("Later").finish_non_exhaustive(),
            Self::Bounded(_) => f.debug_tuple("Bounded").finish_non_exhaustive(),
        }
    }
}

/// The error for a failed store operation. The cause of the failure has already been logged.
#[derive(Clone, Copy, Debug)]
pub struct StoreFailed;

// Session ids, which are as confidential as passwords, because knowing an id is enough to use the session.

/// Generates an unpredictable id: 256 random bits.
#[must_use]
pub fn random_id() -> String {
    mcp_core::random::random_id::<32>()
}

/// A map keyed by ids that this server generated.
pub type ById<K, V> = HashMap<K, V, BuildHasherDefault<IdSuffixHasher>>;

/// Hashes only the end of an id, which is as random as the rest.
#[derive(Default)]
pub struct IdSuffixHasher(FnvHasher);

impl Hasher for IdSuffixHasher {
    fn write(&mut self, id: &[u8]) {
        self.0.write(id.last_chunk::<12>().map_or(id, |end| end));
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Returns `true` if `id` has the form of a generated id. Stores are never queried for other values.
#[must_use]
pub fn is_valid_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    // Checks every byte without an early exit so that the processor can check many bytes at a time.
    id.len() == 43 && id.bytes().fold(true, |all, byte| all & is_plain(byte))
}

// --- Session data in its stored form.

/// A legacy session's data: the protocol version, the client's description of itself, the log level, the subscriptions,
/// and the owner.
///
/// Records are meant only for a [`SessionStore`](crate::SessionStore) and are never sent to clients. As JSON, a
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

    /// Returns the owner: the [`key`](mcp_core::context::Principal::key) of the principal that started the session, if there was
    /// one. Requests from other callers are answered as if the session did not exist.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Creates the record for a new session that belongs to this caller. `lists` selects the lists for which the client
    /// receives change notifications, and `seen` counts the changes so far.
    #[doc(hidden)]
    #[must_use]
    pub fn new(
        params: &InitializeParams,
        lists: &ListenFilter,
        seen: SeenChanges,
        caller: Option<&Principal>,
        network: Option<ClientNetwork>,
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
    #[doc(hidden)]
    #[must_use]
    pub fn for_unknown_client(version: ProtocolVersion) -> Self {
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
    #[doc(hidden)]
    #[must_use]
    pub const fn network(&self) -> Option<ClientNetwork> {
        self.network
    }

    /// Returns `true` if the session belongs to this caller.
    #[doc(hidden)]
    pub fn is_owned_by(&self, caller: Option<&Principal>) -> bool {
        self.owner() == caller.map(Principal::key)
    }

    /// Returns the negotiated protocol version.
    #[doc(hidden)]
    #[must_use]
    pub const fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns `true` if the client has sent `notifications/initialized`.
    #[doc(hidden)]
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.ready
    }

    #[cfg(test)]
    #[doc(hidden)]
    pub fn set_network(&mut self, network: ClientNetwork) {
        self.network = Some(network);
    }

    /// Returns the size of the client's description of itself, in bytes.
    #[doc(hidden)]
    #[must_use]
    pub fn client_bytes(&self) -> usize {
        self.client.len()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn handshake_outcome(&self) -> HandshakeOutcome {
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
    #[doc(hidden)]
    #[must_use]
    pub fn with_seen_changes(&self, seen: SeenChanges) -> Option<Self> {
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

    #[doc(hidden)]
    #[must_use]
    pub fn session_memory(&self) -> SessionMemory {
        SessionMemory {
            level: self.level,
            ready: self.ready,
            uris: self.uris.clone(),
        }
    }

    /// Returns the record with a change applied, adding subscriptions only as far as the limits allow.
    #[doc(hidden)]
    #[must_use]
    pub fn with_update(&self, change: &SessionUpdate, limits: &StreamLimits) -> Self {
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
pub struct SessionUpdate {
    #[doc(hidden)]
    pub level: Option<LoggingLevel>,
    #[doc(hidden)]
    pub ready: bool,
    #[doc(hidden)]
    pub followed: Vec<Arc<str>>,
    #[doc(hidden)]
    pub unfollowed: Vec<Arc<str>>,
}

impl SessionUpdate {
    /// Returns the difference between a record and the current state.
    #[doc(hidden)]
    #[must_use]
    pub fn between(before: &SessionRecord, now: &SessionMemory) -> Self {
        Self {
            level: (now.level != before.level).then_some(now.level),
            ready: now.ready && !before.ready,
            followed: now.uris.difference(&before.uris),
            unfollowed: before.uris.difference(&now.uris),
        }
    }

    /// Returns `true` if the only change is that the client has become ready.
    #[doc(hidden)]
    #[must_use]
    pub fn is_only_ready(&self) -> bool {
        let ready = Self {
            ready: true,
            ..Self::default()
        };
        *self == ready
    }

    #[doc(hidden)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Serializes a protocol version as its date.
mod date {
    use std::borrow::Cow;

    use crate::session_store::{Deserialize, Deserializer, ProtocolVersion, Serializer};

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
    use crate::session_store::*;

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
    fn a_session_record_round_trips_through_json() {
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
    fn an_update_is_applied_to_a_record_that_was_changed_concurrently() {
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
            let mut limits = StreamLimits::default();
            limits.max_subscriptions = most;
            limits.max_subscription_bytes_per_session = most_bytes;
            let after = before
                .with_update(&meanwhile, &limits)
                .with_update(&change, &limits);
            assert_eq!(after.uris.count(), count, "{most} and {most_bytes} bytes");
        }
    }

    #[test]
    fn a_session_record_takes_at_most_96_bytes() {
        assert!(size_of::<SessionRecord>() <= 96);
    }
}

#[cfg(test)]
mod maybe_ready_tests {
    use crate::session_store::*;

    #[tokio::test(start_paused = true)]
    async fn results_are_abandoned_only_without_a_timeout_of_the_store() {
        let slow = async || {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok(1)
        };
        let limit = Duration::from_secs(1);
        MaybeReady::later(slow())
            .with_timeout(limit)
            .await
            .unwrap_err();
        let bounded = MaybeReady::bounded(slow()).with_timeout(limit).await;
        assert_eq!(bounded.unwrap(), 1);
    }
}
