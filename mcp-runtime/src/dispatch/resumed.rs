//! Represents a session's state as data that can be stored outside the process and used to resume the session.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::task::AbortHandle;

use crate::budget::Holder;
use crate::dispatch::Dispatcher;
use crate::dispatch::catching_up::SeenChanges;
use crate::dispatch::channel::{ChannelMemory, LegacySession};
use crate::dispatch::legacy_client::LegacyClient;
use crate::dispatch::notifications::{Subscriptions, Wake};
use crate::dispatch::pending::PendingQuestions;
use crate::observe::SESSIONS;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::ListenFilter;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// Higher than any log level.
const SILENT: u8 = u8::MAX;

/// The result of a handshake, which never changes.
pub(crate) struct HandshakeOutcome {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) info: Option<Implementation>,
    /// The lists for which the client receives change notifications.
    pub(crate) offered: ListenFilter,
    /// The client is notified of other changes than these.
    pub(crate) seen: SeenChanges,
}

/// The mutable part of a session's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionMemory {
    pub(crate) level: LoggingLevel,
    /// `true` once the client has sent `notifications/initialized`.
    pub(crate) ready: bool,
    /// The resources to which the session is subscribed.
    pub(crate) uris: Subscriptions,
}

impl ChannelMemory {
    /// Resumes a session that was started earlier, possibly in another process. Without `memory`, changes to the
    /// session's state are not kept. Its subscriptions count for `holder`.
    pub(crate) fn resume(
        dispatcher: &Arc<Dispatcher>,
        wake: Wake,
        mut agreed: HandshakeOutcome,
        (memory, holder): (Option<&SessionMemory>, Holder),
    ) -> Self {
        let mut session = Self::new(dispatcher, wake);
        let extensions = &dispatcher.settings.extensions;
        agreed.offered.extensions = extensions.unsolicited(agreed.version, &agreed.capabilities);
        let wake = || Arc::clone(&session.wake);
        let client = LegacyClient {
            version: agreed.version,
            capabilities: Arc::new(agreed.capabilities),
            info: agreed.info.map(Arc::new),
            level: Arc::new(AtomicU8::new(SILENT)),
            pending: Arc::new(PendingQuestions::new(wake()).numbered_from_random()),
        };
        let notifications = dispatcher.notifications();
        let charge = dispatcher.charge_subscriptions(holder);
        let listener = (session.origin.caller.clone(), charge);
        let lists = agreed.seen.lists_here(dispatcher);
        let mailbox = notifications.listen_again(agreed.offered, wake(), listener, lists);
        session.is_lasting = memory.is_some();
        session.is_legacy = true;
        session.legacy = Some(LegacySession {
            client: Arc::new(client),
            ready: false,
            mailbox,
            missed: None,
            catching_up: None,
            _open: SESSIONS.guard(),
        });
        if let Some(memory) = memory {
            session.restore(memory);
            if let Some(legacy) = &mut session.legacy {
                legacy.missed = agreed.seen.notify_missed(&legacy.mailbox, dispatcher);
            }
        }
        session
    }

    /// Begins to read the changes that the session may have missed before it was resumed here. This is done once, when
    /// its client begins to listen here.
    pub(crate) fn catch_up(&mut self) {
        if let Some(legacy) = &mut self.legacy
            && let Some(missed) = legacy.missed.take()
        {
            legacy.catching_up = Some(missed.read(Arc::clone(&legacy.mailbox)));
        }
    }

    /// Returns the changes of which the client has been notified, if these are all changes up to now.
    pub(crate) fn seen_changes(&self) -> Option<SeenChanges> {
        let seen = self.dispatcher.seen_changes();
        // Later changes do not matter: the position was read before.
        let legacy = self.legacy.as_ref()?;
        let mut catching_up = legacy.catching_up.iter();
        let has_caught_up = legacy.missed.is_none() && catching_up.all(AbortHandle::is_finished);
        (has_caught_up && legacy.mailbox.is_empty()).then_some(seen)
    }

    /// Returns the session's current state, or `None` before a handshake.
    pub(crate) fn memory(&self) -> Option<SessionMemory> {
        let legacy = self.legacy.as_ref()?;
        let level = usize::from(legacy.client.level.load(Ordering::Relaxed));
        Some(SessionMemory {
            level: *LoggingLevel::ALL.get(level)?,
            ready: legacy.ready,
            uris: legacy.mailbox.uris(),
        })
    }

    /// Replaces the session's state.
    pub(crate) fn restore(&mut self, memory: &SessionMemory) {
        let Some(legacy) = &mut self.legacy else {
            return;
        };
        let level = &legacy.client.level;
        level.store(memory.level as u8, Ordering::Relaxed);
        legacy.mailbox.replace_subscriptions(&memory.uris);
        if memory.ready && !legacy.ready {
            legacy.ready = true;
            legacy.client.pending.set_ready();
            (self.wake)();
        }
    }

    /// Returns `true` if the session is subscribed to any resources.
    pub(crate) fn has_subscriptions(&self) -> bool {
        let legacy = self.legacy.as_ref();
        legacy.is_some_and(|legacy| legacy.mailbox.subscription_size().0 > 0)
    }
}

#[cfg(feature = "sealing")]
impl Dispatcher {
    /// Returns this server's seal.
    pub(crate) fn seal(&self) -> &crate::dispatch::seal::Seal {
        &self.settings.seal
    }
}
