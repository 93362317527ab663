//! Values that a handler receives: the context of its call, shared state, and a handle to the running server; and what
//! is behind a context: the messages and questions of the call, what it does once, and what it keeps between rounds.

pub(crate) mod ask;
mod caller;
mod capability;
mod change_log;
pub(crate) mod client_questions;
pub mod current;
pub mod form;
mod from_context;
mod handle;
#[cfg(feature = "http")]
mod http_parts;
pub mod once;
mod once_store;
pub(crate) mod outbound;
pub(crate) mod pending;
mod question;
pub(crate) mod request;
mod request_info;
pub(crate) mod rounds;
mod state_functions;
mod states;
pub mod watching;

pub use ask::{Ask, AskError, Elicited, Questions};
pub(crate) use ask::{CallQuestion, QuestionKey, QuestionParts, QuestionProgress};
pub(crate) use caller::CallerRecord;
pub use caller::{Caller, Principal};
pub use capability::Capability;
pub use change_log::{
    ChangeListeners, ChangeLog, ChangeNotification, ChangesFuture, ExchangeFuture, LoggedChange,
};
pub use form::{Elicit, FieldKind, FormChoice, FormField};
pub use from_context::{AsyncFromContext, FromContext, State};
pub(crate) use from_context::{AwaitedValues, Prepare};
pub use handle::{Edit, EditStep, ExtensionNotification, ServerControl, stopped};
pub use handle::{Editor, ListEdit, Notifier, ServerHandle};
pub use once::OnceStep;
pub use once_store::{
    CallId, ClaimId, OnceClaim, OnceKind, OnceRoom, OnceStore, OnceWork, StoreFuture, StoreRefusal,
};
pub use once_store::{OwnSteps, is_refused, patiently};
pub use outbound::{Amount, Progress};
pub use request::Context;
pub(crate) use request::{CallContinuation, ClientIdentity, DeferredEffects, RequestContext};
pub use request_info::RequestInfo;
pub use request_info::{EnvironmentHeaders, RequestSource, is_secret_header};
pub use state_functions::{
    HookFuture, HookOutcome, HookResult, MakeState, NeededState, ServeHook, SharedParameter,
    TakenStates,
};
pub use states::States;
pub use states::{LazyState, short_type_name};

#[cfg(feature = "http")]
pub use http_parts::{ChallengesForNextRequests, ClientAddresses, HttpParts};
#[cfg(feature = "http")]
pub use request_info::RequestExtension;
