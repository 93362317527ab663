//! Values that a handler receives: the context of its call, shared state, and a handle to the running server.

pub(crate) mod ask;
mod caller;
mod capability;
pub(crate) mod current;
mod extension;
pub(crate) mod form;
mod from_context;
mod handle;
mod notifier;
pub(crate) mod once;
mod once_store;
mod principal;
mod request;
mod state;
mod states;
mod type_name;

pub use ask::{Ask, AskError, Elicited, Questions};
pub(crate) use ask::{CallQuestion, QuestionKey, QuestionProgress, QuestionTransport};
pub use caller::Caller;
pub use capability::Capability;
pub(crate) use extension::ExtensionNotification;
pub use form::{Elicit, FieldKind, FormChoice, FormField};
pub use from_context::FromContext;
pub(crate) use handle::{ChangeNotification, Control, Edit, EditStep};
pub use handle::{Editor, ListEdit, ServerHandle};
pub use notifier::Notifier;
pub use once_store::{CallId, MemoryOnceStore, OnceClaim, OnceStore, StoreFuture};
pub use principal::Principal;
pub use request::{Amount, Context, Progress};
pub(crate) use request::{CallHandle, ClientIdentity, NotificationSender, RequestContext};
pub use state::State;
pub use states::States;
pub(crate) use type_name::short_type_name;
