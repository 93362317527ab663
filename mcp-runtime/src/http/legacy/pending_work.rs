//! Work that must be done before a POST request is answered.

use hyper::Response;

use crate::http::response::body::HttpBody;
use crate::http::response::pending::PendingResponse;
use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::other_instances::OutgoingMessage;
use crate::http::sessions::session_lookup::PendingSave;
use crate::http::state::ServiceState;
use crate::jsonrpc::RequestId;

/// Work that must be done before a POST request is answered.
#[derive(Default)]
pub(super) struct PendingWork {
    /// A change to the session, which must be saved.
    pub(super) save: Option<PendingSave>,
    /// Messages that must be passed to other instances.
    pub(super) outgoing: Vec<OutgoingMessage>,
}

impl PendingWork {
    /// Returns the response to a request once the work is done, which is at once if there is none. `id` returns the id
    /// of the request.
    pub(super) fn then_respond(
        self,
        state: &ServiceState,
        response: Response<HttpBody>,
        id: impl FnOnce() -> Option<RequestId>,
    ) -> PendingResponse<'_> {
        if self.save.is_none() && self.outgoing.is_empty() {
            return PendingResponse::Over(response);
        }
        let respond = async move {
            let done = self.complete(state).await;
            done.map_or_else(HttpRefusal::into_response, |()| response)
        };
        PendingResponse::from_future(respond, id())
    }

    /// Does the work.
    pub(super) async fn complete(self, state: &ServiceState) -> Result<(), HttpRefusal> {
        if let Some(save) = self.save {
            state.sessions.save(save).await?;
        }
        state.sessions.forward(&self.outgoing).await
    }
}
