//! Sends messages to other instances, and applies their messages to this instance's sessions.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::live_sessions::SessionRegistry;
use crate::http::sessions::other_instances::{
    OtherInstances, OutgoingMessage, RelayedMessage, SessionEvent,
};
use crate::jsonrpc::RequestId;

/// Time after which an instance that no longer receives messages is considered gone.
const LEASE: Duration = Duration::from_secs(10);
/// Delay before the first retry when the relay fails. The delay doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Maximum delay before a failing relay is tried again.
const LONGEST_RETRY: Duration = Duration::from_secs(2);

impl SessionRegistry {
    /// Passes a client's messages to the instances for which they are intended.
    pub(in crate::http) async fn forward(
        &self,
        messages: &[OutgoingMessage],
    ) -> Result<(), HttpRefusal> {
        if let Some(others) = &self.others {
            for message in messages {
                others
                    .send(message, self.limits().sessions.store_timeout)
                    .await?;
            }
        }
        Ok(())
    }

    /// Tells the other instances that a session has changed or ended. If that fails, they find out when they next read
    /// the session's record.
    pub(super) async fn announce(&self, session: &str, event: SessionEvent) {
        let message = OutgoingMessage::new(String::new(), session, event);
        let _ = self.forward(&[message]).await;
    }

    /// Tells the other instances that a session has ended.
    pub(in crate::http) async fn announce_end(&self, session: &str) {
        self.announce(session, SessionEvent::Ended).await;
    }

    /// Applies a message from another instance. Returns the session's id if its record must be read again.
    fn apply_relayed(&self, text: &str) -> Option<String> {
        let Some(RelayedMessage { session, event }) = RelayedMessage::parse(text) else {
            tracing::warn!(
                "ignored a message from another instance, which may be running a different build"
            );
            return None;
        };
        let live = self.find_live(&session)?;
        match event {
            SessionEvent::Answered { id, result, error } => {
                let id = RequestId::parse(&id)?;
                live.answer_question(&id, result.as_deref(), error.as_deref());
            }
            SessionEvent::Cancelled(id) => {
                live.cancel(&RequestId::parse(&id)?);
            }
            SessionEvent::Changed => return Some(session),
            SessionEvent::Ended => self.end_session(&session),
        }
        None
    }
}

/// Receives messages from other instances until the server ends.
pub(super) async fn receive_messages(sessions: Weak<SessionRegistry>, others: Arc<OtherInstances>) {
    let mut position = None::<String>;
    let mut retry = FIRST_RETRY;
    loop {
        let received = others.receive(LEASE, position.as_deref());
        let received = match timeout(LEASE, received).await {
            Ok(Ok(received)) => received,
            failed => {
                if let Ok(Err(error)) = failed {
                    tracing::debug!(%error, "messages from other instances cannot be received");
                }
                sleep(retry).await;
                retry = retry.saturating_mul(2).min(LONGEST_RETRY);
                continue;
            }
        };
        retry = FIRST_RETRY;
        position = Some(received.position);
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        let mut changed = Vec::new();
        match received.texts {
            Some(texts) => {
                changed.extend(texts.iter().filter_map(|text| sessions.apply_relayed(text)));
            }
            // Some messages may have been lost, and sessions may have changed or ended.
            None => changed.extend(sessions.kept_ids()),
        }
        sessions.read_again(&changed).await;
    }
}
