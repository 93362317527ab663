//! A server's shared values, indexed by type. Some of them are created by `lazy_state` only when they are first needed.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};

use crate::context::lazy_state::{BoxError, LazyState, SharedValue};
use crate::context::short_type_name;
use crate::error::Error;
use crate::lock::lock;

/// The values passed to [`Server::state`](crate::Server::state) and [`Server::state_with`](crate::Server::state_with),
/// one for each type.
#[derive(Default)]
pub struct States {
    values: HashMap<TypeId, StateValue>,
    /// The values to be created, in the order in which they were declared.
    later: Vec<Arc<LazyState>>,
    /// The values to be created that checks have looked up since [`begin_check`](Self::begin_check).
    looked_up: Mutex<Vec<Arc<LazyState>>>,
}

#[derive(Clone)]
enum StateValue {
    Made(SharedValue),
    Later(Arc<LazyState>),
}

impl States {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.set(TypeId::of::<T>(), StateValue::Made(value));
    }

    /// Inserts a value that `make` creates when it is first needed.
    pub(crate) fn insert_later<T, E, F>(&mut self, make: impl Fn() -> F + Send + Sync + 'static)
    where
        T: Send + Sync + 'static,
        E: Into<BoxError>,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let later = Arc::new(LazyState::new(short_type_name::<T>(), move || {
            let making = make();
            async move {
                let value = making.await.map_err(Into::into)?;
                Ok(Arc::new(value) as SharedValue)
            }
        }));
        self.set(TypeId::of::<T>(), StateValue::Later(Arc::clone(&later)));
        self.later.push(later);
    }

    fn set(&mut self, ty: TypeId, value: StateValue) {
        if let Some(StateValue::Later(former)) = self.values.insert(ty, value) {
            self.later.retain(|later| !Arc::ptr_eq(later, &former));
        }
    }

    /// Returns the value of type `T`, if any. For a value that is created when it is first needed, this returns `None`
    /// until then, although [`contains`](Self::contains) returns `true`.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = match self.values.get(&TypeId::of::<T>())? {
            StateValue::Made(value) => value,
            StateValue::Later(later) => later.value()?,
        };
        Arc::clone(value).downcast().ok()
    }

    /// Returns `true` if there is a value of type `T`, even if it has not been created yet.
    ///
    /// In [`FromContext::check`](crate::FromContext::check), this also declares that the value is needed, so that it is
    /// created before the handler's parameters.
    #[must_use]
    pub fn contains<T: Send + Sync + 'static>(&self) -> bool {
        let value = self.values.get(&TypeId::of::<T>());
        if let Some(StateValue::Later(later)) = value {
            lock(&self.looked_up).push(Arc::clone(later));
        }
        value.is_some()
    }

    /// Returns `true` if there is a value of type `T`, without recording that the value is needed.
    pub(crate) fn is_declared<T: Send + Sync + 'static>(&self) -> bool {
        self.values.contains_key(&TypeId::of::<T>())
    }

    /// Starts a check of one handler's parameters.
    pub(crate) fn begin_check(&self) {
        lock(&self.looked_up).clear();
    }

    /// Ends a check. Returns the values that must still be created.
    pub(crate) fn end_check(&self) -> Vec<Arc<LazyState>> {
        std::mem::take(&mut lock(&self.looked_up))
    }

    /// Returns `true` if all values have been created.
    pub(crate) fn are_made(&self) -> bool {
        self.later.iter().all(|later| later.is_made())
    }

    /// Creates all values that have not been created yet, in the order in which they were declared.
    ///
    /// # Errors
    ///
    /// Returns an error that names the type of the first value that cannot be created.
    pub(crate) async fn make_all(&self) -> Result<(), Error> {
        for later in &self.later {
            later.make().await?;
        }
        Ok(())
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("States")
            .field("len", &self.values.len())
            .finish_non_exhaustive()
    }
}
