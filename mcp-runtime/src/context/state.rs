//! Shared state, looked up by type.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::context::{Context, FromContext, States, short_type_name};
use crate::handler::handler_error::HandlerError;

/// A value passed to [`Server::state`](crate::Server::state), or made by
/// [`Server::state_with`](crate::Server::state_with), and shared by all calls. Cheap to clone; dereferences to
/// `T`.
pub struct State<T: ?Sized>(pub Arc<T>);

impl<T: ?Sized> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&&*self.0).finish()
    }
}

impl<T: Send + Sync + 'static> FromContext for State<T> {
    fn from_context(context: &Context) -> Result<Self, HandlerError> {
        context
            .states()
            .get()
            .map(Self)
            .ok_or_else(|| HandlerError::opaque(missing_state_message::<T>()))
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
