//! Parameters that are injected into handlers.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use crate::context::state_functions::SharedParameter;
use crate::context::states::LazyState;
use crate::context::{Caller, Context, Principal, States, short_type_name};
use crate::error::Error;
use crate::handler::handler_error::HandlerError;
use crate::sync::lock;

/// A value that is injected into a handler in addition to its arguments.
///
/// ```
/// use mcp_runtime::{Context, FromContext, HandlerError};
///
/// /// The tenant of the request, as its access token names it.
/// struct Tenant(String);
///
/// impl FromContext for Tenant {
///     fn from_context(context: &Context) -> Result<Self, HandlerError> {
///         let claims = context.principal().map(|who| who.claims());
///         match claims.and_then(|claims| claims.get("tenant")?.as_str()) {
///             Some(name) => Ok(Self(name.to_owned())),
///             None => Err(HandlerError::exposed("the access token names no tenant")),
///         }
///     }
/// }
/// ```
///
/// Implement [`AsyncFromContext`] instead if the value must be awaited.
pub trait FromContext: Sized {
    /// Extracts the value for one call.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not available. The call then fails with this error before the handler runs.
    fn from_context(context: &Context) -> Result<Self, HandlerError>;

    /// Checks at startup that calls will find the state they need.
    ///
    /// # Errors
    ///
    /// If state is missing, returns a message that explains how to provide it.
    fn check(states: &States) -> Result<(), String> {
        let _ = states;
        Ok(())
    }
}

/// A value that is injected into a handler once it is available, for example after a database lookup.
///
/// This is the asynchronous counterpart of [`FromContext`], which is cheaper if the value does not need to be awaited.
/// A type can implement only one of them.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::Principal;
/// use mcp_runtime::handler::AsyncFromContext;
///
/// # struct Database;
/// # impl Database { async fn tenant(&self, _: &str) -> std::io::Result<Option<String>> { Ok(None) } }
/// /// The tenant that the caller belongs to.
/// struct Tenant(String);
///
/// impl AsyncFromContext for Tenant {
///     async fn from_context(ctx: &Context) -> Result<Self> {
///         let database = State::<Database>::from_context(ctx)?;
///         let who = Principal::from_context(ctx)?;
///         match database.tenant(who.subject()).await? {
///             Some(tenant) => Ok(Self(tenant)),
///             None => bail!("{} belongs to no tenant", who.subject()),
///         }
///     }
///
///     fn check(states: &mcp_runtime::server::States) -> Result<(), String> {
///         State::<Database>::check(states)
///     }
/// }
/// ```
///
/// The future is dropped when the call is cancelled. The values of all such parameters are awaited one after another
/// before the arguments are decoded. Functions that list resources cannot have such parameters.
pub trait AsyncFromContext: Sized + Send + 'static {
    /// Extracts the value for one call.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not available. The call then fails with this error before the handler runs.
    fn from_context(context: &Context) -> impl Future<Output = Result<Self, HandlerError>> + Send;

    /// Checks at start-up that calls will find the state they need.
    ///
    /// # Errors
    ///
    /// If state is missing, returns a message that explains how to provide it.
    fn check(states: &States) -> Result<(), String> {
        let _ = states;
        Ok(())
    }
}

/// Injects `None` if the value is not available.
impl<T: AsyncFromContext> AsyncFromContext for Option<T> {
    async fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(T::from_context(context).await.ok())
    }

    fn check(states: &States) -> Result<(), String> {
        // A missing value is not an error here, but the check also records the values that must be created first.
        let _ = T::check(states);
        Ok(())
    }
}

impl FromContext for Context {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.clone())
    }
}

/// The caller's principal. Use `Option<Principal>` to also serve callers without credentials, such as those connected
/// through standard input and output.
impl FromContext for Principal {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        let principal = context.principal().cloned();
        principal.ok_or_else(|| {
            HandlerError::exposed(
                "this is only for callers with credentials, but the request has none",
            )
        })
    }
}

/// The caller, with or without credentials.
impl FromContext for Caller {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(context.caller().clone())
    }
}

/// Injects `None` if the value is not available.
impl<T: FromContext> FromContext for Option<T> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        Ok(T::from_context(context).ok())
    }

    fn check(states: &States) -> Result<(), String> {
        // A missing value is not an error here, but the check also records the values that must be created first.
        let _ = T::check(states);
        Ok(())
    }
}

/// A value that was passed to `Server::state` or created by
/// `Server::state_with` and is shared by all calls. Cheap to clone; dereferences to `T`,
/// so a field of a tuple struct is `state.0`.
pub struct State<T: ?Sized> {
    // This is not a tuple struct and has no methods, because its field and methods would hide those of `T`.
    value: Arc<T>,
}

impl<T: ?Sized> State<T> {
    /// Returns the shared value itself, as in `State::into_arc(state)`.
    #[must_use]
    pub fn into_arc(state: Self) -> Arc<T> {
        state.value
    }
}

/// Lets a unit test call a handler directly.
impl<T: ?Sized> From<Arc<T>> for State<T> {
    fn from(value: Arc<T>) -> Self {
        Self { value }
    }
}

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Arc::clone(&self.value).into()
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&&*self.value).finish()
    }
}

impl<T: Send + Sync + 'static> SharedParameter for State<T> {
    type Value = T;

    fn from_shared(value: Arc<T>) -> Self {
        value.into()
    }
}

impl<T: Send + Sync + 'static> FromContext for State<T> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        context.states().get().map(Self::from).ok_or_else(|| {
            HandlerError::opaque(if context.states().is_declared::<T>() {
                unmade_state_message::<T>()
            } else {
                missing_state_message::<T>()
            })
        })
    }

    fn check(states: &States) -> Result<(), String> {
        if states.contains::<T>() {
            Ok(())
        } else {
            Err(missing_state_message::<T>())
        }
    }
}

fn missing_state_message<T>() -> String {
    format!(
        "no state of type `{0}`; add `.state(…)` with a `{0}` to the server",
        short_type_name::<T>()
    )
}

fn unmade_state_message<T>() -> String {
    format!(
        "the state of type `{0}` has not been created yet; call `State::<{0}>::check` in the `check` of the parameter that \
         takes it, so that it is created first",
        short_type_name::<T>()
    )
}

// --- Values that a call waits for before its handler starts: state that has not been created yet, and parameters that
// implement [`AsyncFromContext`](crate::AsyncFromContext).

/// A value for a parameter.
type PreparedValue = Box<dyn Any + Send>;

/// The future that creates a value for a parameter.
pub(crate) type Preparation =
    Pin<Box<dyn Future<Output = Result<PreparedValue, HandlerError>> + Send>>;

/// The function that creates a value for a parameter.
pub(crate) type Prepare = fn(Context) -> Preparation;

/// The values that a handler waits for. Most handlers do not wait for any.
#[derive(Debug)]
pub(crate) struct AwaitedValues {
    states: AwaitedStates,
    parameters: Box<[Prepare]>,
}

/// The state that must be created before a handler runs.
#[derive(Debug)]
enum AwaitedStates {
    /// The state that the handler's parameters take.
    Declared(Box<[Arc<LazyState>]>),
    /// All of the server's state, because a closure does not declare which values it takes from its context.
    All,
}

impl AwaitedValues {
    /// Returns the values that a closure waits for.
    pub(crate) fn all_states() -> Self {
        Self {
            states: AwaitedStates::All,
            parameters: Box::default(),
        }
    }

    /// Returns the values that a handler of the framework waits for, which takes no state.
    pub(crate) fn none() -> Self {
        Self::new(Vec::new(), std::iter::empty())
    }

    pub(crate) fn new(
        states: Vec<Arc<LazyState>>,
        parameters: impl Iterator<Item = Prepare>,
    ) -> Self {
        Self {
            states: AwaitedStates::Declared(states.into()),
            parameters: parameters.collect(),
        }
    }

    /// Returns `true` if a call must wait. `all` is the server's state.
    pub(crate) fn are_missing(&self, all: &States) -> bool {
        let are_made = match &self.states {
            AwaitedStates::Declared(states) => states.iter().all(|state| state.is_made()),
            AwaitedStates::All => all.are_made(),
        };
        !self.parameters.is_empty() || !are_made
    }

    /// Creates the values. Parameters take their values from the returned context with [`Context::take_prepared`].
    pub(crate) async fn prepare(&self, context: Context) -> Result<Context, HandlerError> {
        self.states
            .make(context.states())
            .await
            .map_err(HandlerError::opaque)?;
        let mut values = Vec::new();
        for prepare in &self.parameters {
            values.push(prepare(context.clone()).await?);
        }
        if values.is_empty() {
            return Ok(context);
        }
        Ok(context.with_prepared(Mutex::new(values)))
    }
}

impl AwaitedStates {
    async fn make(&self, all: &States) -> Result<(), Error> {
        match self {
            Self::Declared(states) => {
                for state in states {
                    state.make().await?;
                }
                Ok(())
            }
            Self::All => all.make_all().await,
        }
    }
}

impl Context {
    /// Returns the next awaited value of type `T`. Each value is returned only once.
    pub(crate) fn take_prepared<T: 'static>(&self) -> Option<T> {
        let mut values = lock(self.prepared()?);
        let position = values.iter().position(|value| value.is::<T>())?;
        values.remove(position).downcast().ok().map(|value| *value)
    }
}

#[cfg(test)]
mod tests {
    use crate::context::from_context::*;

    #[derive(Debug)]
    struct Store(String);

    impl Store {
        fn value(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn fields_and_methods_of_the_value_are_not_hidden() {
        let store = State::from(Arc::new(Store("rows".to_owned())));
        let other = store.clone();
        assert_eq!((store.0.as_str(), other.value()), ("rows", 4));
        assert_eq!(format!("{other:?}"), r#"State(Store("rows"))"#);
        assert_eq!(Arc::strong_count(&State::into_arc(other)), 2);
    }
}
