//! Values that a handler receives: the context of its call, shared state, and a handle to the running server.

pub(crate) mod ask;
mod call_ending;
mod caller;
mod capability;
mod change_log;
pub(crate) mod current;
mod editor;
mod extension;
pub(crate) mod form;
mod from_context;
mod handle;
#[cfg(feature = "http")]
mod http_parts;
mod leaving;
mod notifier;
pub(crate) mod on_commit;
pub(crate) mod once;
mod once_store;
mod patience;
mod prepared;
mod principal;
mod progress;
mod reauthorization;
mod request;
mod request_info;
mod state;
mod states;
mod type_name;
pub(crate) mod watching;

pub use ask::{Ask, AskError, Elicited, Questions};
pub(crate) use ask::{
    CallQuestion, DetachedQuestion, QuestionKey, QuestionProgress, QuestionTransport,
};
pub(crate) use call_ending::CallEnding;
pub use caller::Caller;
pub(crate) use caller::CallerRecord;
pub use capability::Capability;
pub(crate) use change_log::{
    ChangeListeners, ChangeLog, ChangeNotification, ChangesFuture, ExchangeFuture, LoggedChange,
};
pub(crate) use editor::{Edit, EditStep};
pub use editor::{Editor, ListEdit};
pub(crate) use extension::ExtensionNotification;
pub use form::{Elicit, FieldKind, FormChoice, FormField};
pub use from_context::{AsyncFromContext, FromContext};
pub use handle::ServerHandle;
pub(crate) use handle::{ServerControl, stopped};
#[cfg(feature = "http")]
pub(crate) use http_parts::{ClientAddresses, HttpParts};
pub use notifier::Notifier;
pub use once::OnceStep;
pub use once_store::{
    CallId, ClaimId, OnceClaim, OnceKind, OnceRoom, OnceStore, OnceWork, StoreFuture, StoreRefusal,
};
pub(crate) use patience::{StoreError, is_refused, patiently};
pub(crate) use prepared::{AwaitedValues, Prepare};
pub use principal::Principal;
pub use progress::{Amount, Progress};
pub(crate) use reauthorization::{ChallengesForNextRequests, Reauthorization};
pub use request::Context;
pub(crate) use request::{CallHandle, ClientIdentity, NotificationSender, RequestContext};
#[cfg(feature = "http")]
pub use request_info::RequestExtension;
pub use request_info::RequestInfo;
pub(crate) use request_info::{EnvironmentHeaders, RequestSource};
pub use state::State;
pub(crate) use states::LazyState;
pub use states::States;
pub(crate) use type_name::short_type_name;
