//! The session that a request belongs to, and changes to that session.

use std::sync::Arc;

use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::http_session::HttpSession;
use crate::http::stores::maybe_ready::StoreFailed;
use crate::http::stores::record::{SessionRecord, SessionUpdate};
use crate::jsonrpc::RequestId;

/// Result of looking up the session that a request names.
pub(in crate::http) type SessionLookup<'h> = Result<Option<RequestSession<'h>>, HttpRefusal>;

impl From<StoreFailed> for HttpRefusal {
    fn from(_: StoreFailed) -> Self {
        Self::unavailable("the session store is unavailable")
    }
}

/// The session that a request belongs to.
pub(in crate::http) struct RequestSession<'h> {
    pub(in crate::http) id: &'h str,
    pub(in crate::http) record: Arc<SessionRecord>,
}

impl RequestSession<'_> {
    /// Returns a change that must be saved. `request` is the request that made the change, if any.
    pub(in crate::http) fn pending_save(
        &self,
        change: SessionUpdate,
        request: Option<RequestId>,
    ) -> PendingSave {
        PendingSave {
            id: self.id.into(),
            record: Arc::clone(&self.record),
            change,
            request,
        }
    }

    /// Returns the changes to the session since it was loaded, if any.
    pub(in crate::http) fn pending_save_if_changed(
        &self,
        session: &HttpSession,
        request: Option<RequestId>,
    ) -> Option<PendingSave> {
        let change = session.change_since(&self.record);
        change.map(|change| self.pending_save(change, request))
    }
}

/// A change that has yet to be saved.
pub(in crate::http) struct PendingSave {
    pub(super) id: Box<str>,
    pub(super) record: Arc<SessionRecord>,
    pub(super) change: SessionUpdate,
    /// The request to answer with an error if saving fails.
    pub(super) request: Option<RequestId>,
}
