//! Values that a handler receives: the context of its call, shared state, and a handle to the running server.

pub(crate) mod ask;
mod asking;
mod caller;
pub(crate) mod current;
pub mod form;
mod from_context;
mod handle;
#[cfg(feature = "http")]
mod http_parts;
pub(crate) mod once;
mod once_store;
mod reauthorization;
mod request;
mod request_info;
mod states;
pub(crate) mod watching;

pub use ask::{Ask, AskError, Elicited, Questions};
pub(crate) use ask::{
    CallQuestion, DetachedQuestion, QuestionKey, QuestionProgress, QuestionTransport,
};
pub(crate) use caller::CallerRecord;
pub use caller::{Caller, Principal};
pub use form::{Elicit, FieldKind, FormChoice, FormField};
pub use from_context::{AsyncFromContext, FromContext, State};
pub(crate) use from_context::{AwaitedValues, Prepare};
pub use handle::{Capability, Editor, ListEdit, Notifier, ServerHandle};
pub(crate) use handle::{
    ChangeListeners, ChangeLog, ChangeNotification, ChangesFuture, Edit, EditStep, ExchangeFuture,
    ExtensionNotification, LoggedChange, ServerControl, stopped,
};
pub use once::OnceStep;
pub use once_store::{
    CallId, ClaimId, OnceClaim, OnceKind, OnceRoom, OnceStore, OnceWork, StoreFuture, StoreRefusal,
};
pub(crate) use once_store::{StoreError, is_refused, patiently};
pub(crate) use reauthorization::{ChallengesForNextRequests, Reauthorization};
pub use request::{Amount, Context, Progress};
pub(crate) use request::{
    CallEnding, CallHandle, ClientIdentity, NotificationSender, RequestContext,
};
pub use request_info::RequestInfo;
pub(crate) use request_info::{EnvironmentHeaders, RequestSource};
pub use states::States;
pub(crate) use states::{LazyState, short_type_name};

#[cfg(feature = "http")]
pub(crate) use http_parts::{ClientAddresses, HttpParts};
#[cfg(feature = "http")]
pub use request_info::RequestExtension;
