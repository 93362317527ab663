//! Shared state, looked up by type.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::context::{Context, FromContext, States, short_type_name};
use crate::handler::handler_error::HandlerError;

/// A value that was passed to [`Server::state`](crate::Server::state) or created by
/// [`Server::state_with`](crate::Server::state_with) and is shared by all calls. Cheap to clone; dereferences to `T`,
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

#[cfg(test)]
mod tests {
    use super::*;

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
