//! A session that starts once its record has been stored.

use hyper::Response;
use hyper::header::HeaderValue;

use crate::http::request::headers::SESSION;
use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;
use crate::http::state::ServiceState;
use crate::http::stores::record::SessionRecord;
use crate::http::stores::session_id::random_id;
use crate::http::stores::session_storage::SessionStorage;
use crate::jsonrpc::RequestId;

/// A session that starts once its record has been stored.
pub(super) struct UnsavedSession {
    pub(super) id: RequestId,
    pub(super) record: SessionRecord,
    pub(super) response: Response<HttpBody>,
}

impl UnsavedSession {
    /// Stores the session and returns the response with its id.
    pub(super) async fn store_and_respond(self, state: &ServiceState) -> Response<HttpBody> {
        let SessionStorage::Store(store) = &state.sessions.storage else {
            return self.response;
        };
        let session_id = random_id();
        let inserted = state
            .sessions
            .insert(&**store, &session_id, self.record)
            .await;
        let refusal = match inserted {
            Ok(true) => {
                let mut response = self.response;
                if let Ok(session_id) = HeaderValue::from_str(&session_id) {
                    response.headers_mut().insert(&SESSION, session_id);
                }
                return response;
            }
            Ok(false) => HttpRefusal::unavailable("there are too many sessions"),
            Err(failed) => failed.into(),
        };
        refusal.with_id(Some(self.id)).into_response()
    }
}
