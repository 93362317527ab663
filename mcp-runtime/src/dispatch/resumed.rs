//! Sessions as data: what a session remembers can leave the process, and the session be taken up again from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::dispatch::Dispatcher;
use crate::dispatch::notices::{Version, Wake};
use crate::dispatch::pending::Pending;
use crate::dispatch::session::{Legacy, LegacyClient, Session};
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::Filter;
use crate::telemetry::Open;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// Above every level.
const SILENT: u8 = u8::MAX;

/// What a handshake agreed on, which never changes.
pub(crate) struct Agreed {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) info: Option<Implementation>,
    /// Of which lists the client hears.
    pub(crate) offered: Filter,
    /// The changes of which it hears come after this.
    pub(crate) seen: Version,
}

/// What a session remembers besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) level: LoggingLevel,
    /// Whether the client said that it is ready.
    pub(crate) ready: bool,
    /// The resources it follows.
    pub(crate) uris: Vec<Box<str>>,
}

impl Session {
    /// A session that began earlier, perhaps in another process. Without `memory` nothing will be remembered of it.
    pub(crate) fn resume(
        dispatcher: &Arc<Dispatcher>,
        wake: Wake,
        agreed: Agreed,
        memory: Option<&Memory>,
    ) -> Self {
        let mut session = Self::new(dispatcher, wake);
        let wake = || Arc::clone(&session.wake);
        let client = LegacyClient {
            version: agreed.version,
            capabilities: Arc::new(agreed.capabilities),
            info: agreed.info.map(Arc::new),
            level: Arc::new(AtomicU8::new(SILENT)),
            pending: Arc::new(Pending::new(wake()).somewhere()),
        };
        let notices = dispatcher.notices();
        let mailbox = notices.listen_again(agreed.offered, wake(), agreed.seen);
        session.is_lasting = memory.is_some();
        session.is_legacy = true;
        session.legacy = Some(Legacy {
            client: Arc::new(client),
            ready: false,
            mailbox,
            _open: Open::session(),
        });
        if let Some(memory) = memory {
            session.recall(memory);
        }
        session
    }

    /// What it remembers now; none before a handshake.
    pub(crate) fn memory(&self) -> Option<Memory> {
        let legacy = self.legacy.as_ref()?;
        let level = usize::from(legacy.client.level.load(Ordering::Relaxed));
        Some(Memory {
            level: *LoggingLevel::ALL.get(level)?,
            ready: legacy.ready,
            uris: legacy.mailbox.uris(),
        })
    }

    /// Takes over what it remembers.
    pub(crate) fn recall(&mut self, memory: &Memory) {
        let Some(legacy) = &mut self.legacy else {
            return;
        };
        let level = &legacy.client.level;
        level.store(memory.level as u8, Ordering::Relaxed);
        legacy.mailbox.follow_only(&memory.uris);
        if memory.ready && !legacy.ready {
            legacy.ready = true;
            legacy.client.pending.set_ready();
            (self.wake)();
        }
    }

    /// Whether it follows resources.
    pub(crate) fn follows(&self) -> bool {
        let legacy = self.legacy.as_ref();
        legacy.is_some_and(|legacy| legacy.mailbox.followed() > 0)
    }
}

impl Dispatcher {
    /// The changes that a session has heard of that begins now.
    pub(crate) fn version(&self) -> Version {
        self.notices().version()
    }
}

#[cfg(feature = "sealing")]
impl Dispatcher {
    /// What seals for this server.
    pub(crate) fn seal(&self) -> &crate::dispatch::seal::Seal {
        &self.settings.seal
    }
}
