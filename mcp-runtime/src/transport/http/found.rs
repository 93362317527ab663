//! The session that a request belongs to, and what becomes of it.

use std::sync::Arc;

use super::record::{Change, SessionRecord};
use super::session::HttpSession;
use crate::jsonrpc::RequestId;

/// A session that a request belongs to.
pub(super) struct Found<'h> {
    pub(super) id: &'h str,
    pub(super) record: Arc<SessionRecord>,
}

impl Found<'_> {
    /// A change that a request asked for, or something else did.
    pub(super) fn save(&self, change: Change, request: Option<RequestId>) -> Save {
        Save {
            id: self.id.into(),
            record: Arc::clone(&self.record),
            change,
            request,
        }
    }

    /// What was changed, if anything was.
    pub(super) fn changed(
        &self,
        session: &HttpSession,
        request: Option<RequestId>,
    ) -> Option<Save> {
        let change = session.change_since(&self.record);
        change.map(|change| self.save(change, request))
    }
}

/// A change that is still to be kept.
pub(super) struct Save {
    pub(super) id: Box<str>,
    pub(super) record: Arc<SessionRecord>,
    pub(super) change: Change,
    /// Who is answered if it cannot be.
    pub(super) request: Option<RequestId>,
}
