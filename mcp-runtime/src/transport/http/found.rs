//! The session that a request belongs to, and changes to it.

use std::sync::Arc;

use super::record::{SessionRecord, SessionUpdate};
use super::session::HttpSession;
use crate::jsonrpc::RequestId;

/// A session that a request belongs to.
pub(super) struct RequestSession<'h> {
    pub(super) id: &'h str,
    pub(super) record: Arc<SessionRecord>,
}

impl RequestSession<'_> {
    /// Returns a change to save, requested by `request` or caused otherwise.
    pub(super) fn save(&self, change: SessionUpdate, request: Option<RequestId>) -> Save {
        Save {
            id: self.id.into(),
            record: Arc::clone(&self.record),
            change,
            request,
        }
    }

    /// Returns the changes of the session since it was loaded, if any.
    pub(super) fn changed(
        &self,
        session: &HttpSession,
        request: Option<RequestId>,
    ) -> Option<Save> {
        let change = session.change_since(&self.record);
        change.map(|change| self.save(change, request))
    }
}

/// A change that is still to be saved.
pub(super) struct Save {
    pub(super) id: Box<str>,
    pub(super) record: Arc<SessionRecord>,
    pub(super) change: SessionUpdate,
    /// The request to answer with an error if saving fails.
    pub(super) request: Option<RequestId>,
}
