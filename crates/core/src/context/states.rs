//! A server's shared values, indexed by type. Some of them are created only when they are first needed.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::watch;

use crate::error::{BoxError, Causes, Error, ErrorKind};
use crate::host::{TaskHandle, spawn};
use crate::sync::lock;

/// The values passed to `Server::state` and `Server::state_with`,
/// one for each type.
#[derive(Default)]
pub struct States {
    /// The values, each with its type and that of an `Arc` that holds it.
    values: HashMap<TypeId, (StateValue, (TypeId, TypeId))>,
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
    #[doc(hidden)]
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.set::<T>(StateValue::Made(Arc::new(value)));
    }

    /// Inserts a value that `make` creates when it is first needed.
    #[doc(hidden)]
    pub fn insert_later<T, E, F>(&mut self, make: impl Fn() -> F + Send + Sync + 'static)
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
        self.set::<T>(StateValue::Later(Arc::clone(&later)));
        self.later.push(later);
    }

    /// Keeps a value, in place of one of the same type, whether that one is in an [`Arc`] or not.
    fn set<T: 'static>(&mut self, value: StateValue) {
        let ty = TypeId::of::<T>();
        let of_inner = |(kept, shared): &(TypeId, TypeId)| (*shared == ty).then_some(*kept);
        let inner = self
            .values
            .values()
            .map(|(_, types)| types)
            .find_map(of_inner);
        for replaced in [Some(ty), Some(TypeId::of::<Arc<T>>()), inner] {
            let former = replaced.and_then(|ty| self.values.remove(&ty));
            if let Some((StateValue::Later(former), _)) = former {
                self.later.retain(|later| !Arc::ptr_eq(later, &former));
            }
        }
        let types = (ty, TypeId::of::<Arc<T>>());
        self.values.insert(ty, (value, types));
    }

    /// Returns the value from which [`get`](Self::get) takes its value.
    fn find<T: 'static>(&self) -> Option<&StateValue> {
        let shared = || self.values.get(&TypeId::of::<Arc<T>>());
        let found = self.values.get(&TypeId::of::<T>()).or_else(shared);
        found.map(|(value, _)| value)
    }

    /// Returns the value of type `T`, if any, also if it was passed in an [`Arc`]. For a value that is created when it is first needed, this returns `None`
    /// until then, although [`contains`](Self::contains) returns `true`.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = match self.find::<T>()? {
            StateValue::Made(value) => value,
            StateValue::Later(later) => later.value()?,
        };
        match Arc::clone(value).downcast() {
            Ok(value) => Some(value),
            Err(shared) => shared.downcast_ref::<Arc<T>>().cloned(),
        }
    }

    /// Returns `true` if there is a value of type `T`, even if it has not been created yet.
    ///
    /// In [`FromContext::check`](crate::context::FromContext::check), this also declares that the value is needed, so that it is
    /// created before the handler's parameters.
    #[must_use]
    pub fn contains<T: Send + Sync + 'static>(&self) -> bool {
        let value = self.find::<T>();
        if let Some(StateValue::Later(later)) = value {
            lock(&self.looked_up).push(Arc::clone(later));
        }
        value.is_some()
    }

    /// Returns `true` if there is a value of type `T`, without recording that the value is needed.
    pub(crate) fn is_declared<T: Send + Sync + 'static>(&self) -> bool {
        self.find::<T>().is_some()
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

/// A shared value of any type.
pub(super) type SharedValue = Arc<dyn Any + Send + Sync>;

/// The future that creates a value.
type Making = Pin<Box<dyn Future<Output = Result<SharedValue, BoxError>> + Send>>;

/// A value that is created when it is first needed.
pub struct LazyState {
    type_name: String,
    make: Arc<dyn Fn() -> Making + Send + Sync>,
    value: Arc<OnceLock<SharedValue>>,
    /// The attempt in progress, or the most recent attempt.
    attempt: Mutex<Option<Attempt>>,
}

/// An attempt to create the value, for which any number of calls can wait. The attempt runs in a separate task, because
/// the call that started it may be cancelled and because its log messages are not meant for that call's client.
struct Attempt {
    /// Contains `None` until the attempt has ended. The sender is dropped together with the task.
    outcome: watch::Receiver<Option<Result<(), AttemptError>>>,
    task: TaskHandle,
}

/// An attempt's error, for each of the calls that are waiting for it.
#[derive(Clone, Debug)]
enum AttemptError {
    Failed(Arc<dyn std::error::Error + Send + Sync>),
    /// The task ended without a result because it panicked.
    Unfinished,
}

impl LazyState {
    pub(super) fn new<F>(type_name: String, make: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<SharedValue, BoxError>> + Send + 'static,
    {
        Self {
            type_name,
            make: Arc::new(move || Box::pin(make())),
            value: Arc::default(),
            attempt: Mutex::default(),
        }
    }

    pub(super) fn value(&self) -> Option<&SharedValue> {
        self.value.get()
    }

    pub(crate) fn is_made(&self) -> bool {
        self.value.get().is_some()
    }

    /// Creates the value unless it already exists. Calls that wait at the same time share one attempt and its error;
    /// after that, the next call tries again. If a call is cancelled, the attempt continues for the other calls and for
    /// the next call.
    pub(crate) async fn make(&self) -> Result<(), Error> {
        if self.is_made() {
            return Ok(());
        }
        let mut outcome = self.attempt();
        let outcome = outcome.wait_for(Option::is_some).await;
        let outcome = outcome.ok().and_then(|outcome| outcome.clone());
        outcome
            .unwrap_or(Err(AttemptError::Unfinished))
            .map_err(|error| self.error(error))
    }

    /// Joins the attempt in progress, or starts a new attempt.
    fn attempt(&self) -> watch::Receiver<Option<Result<(), AttemptError>>> {
        let mut attempt = lock(&self.attempt);
        if let Some(attempt) = attempt.as_ref().filter(|attempt| attempt.can_be_joined()) {
            return attempt.outcome.clone();
        }
        let (sender, outcome) = watch::channel(None);
        let (make, value) = (Arc::clone(&self.make), Arc::clone(&self.value));
        let making = async move {
            let result = make().await.map(|made| {
                // Attempts do not overlap, so the value cannot exist yet.
                let _ = value.set(made);
            });
            sender.send_replace(Some(
                result.map_err(|error| AttemptError::Failed(error.into())),
            ));
        };
        *attempt = Some(Attempt {
            outcome: outcome.clone(),
            task: spawn(Box::pin(making)),
        });
        outcome
    }

    fn error(&self, error: AttemptError) -> Error {
        let subject = format!("cannot create the state of type `{}`", self.type_name);
        match error {
            AttemptError::Failed(cause) => {
                let message = format!("{subject}: {}", Causes(&*cause));
                Error::new(ErrorKind::State, message).with_shared_source(cause)
            }
            AttemptError::Unfinished => {
                let message = format!("{subject}: the function that creates it panicked");
                Error::new(ErrorKind::State, message)
            }
        }
    }
}

impl Attempt {
    /// Returns `true` unless the attempt has failed.
    fn can_be_joined(&self) -> bool {
        match &*self.outcome.borrow() {
            Some(outcome) => outcome.is_ok(),
            None => self.outcome.has_changed().is_ok(),
        }
    }
}

/// Aborts the task when the server to which it belongs is dropped.
impl Drop for Attempt {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for LazyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyState")
            .field("type_name", &self.type_name)
            .finish_non_exhaustive()
    }
}

/// Returns the name of `T` without module paths, such as `Mutex<Vec<String>>`.
#[must_use]
pub fn short_type_name<T: ?Sized>() -> String {
    without_paths(std::any::type_name::<T>())
}

/// Removes everything before the last segment of each path.
fn without_paths(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut start = 0;
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == ':' && rest.starts_with(':') && !short[start..].is_empty() {
            rest = &rest[1..];
            short.truncate(start);
            continue;
        }
        short.push(character);
        if !(character.is_alphanumeric() || character == '_') {
            start = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use crate::context::states::{short_type_name, without_paths};

    #[test]
    fn short_type_names_omit_module_paths_only() {
        assert_eq!(
            short_type_name::<Mutex<Vec<String>>>(),
            "Mutex<Vec<String>>"
        );
        assert_eq!(short_type_name::<(u8, &str)>(), "(u8, &str)");
        for (long, short) in [
            ("app::Db", "Db"),
            ("alloc::sync::Arc<dyn app::store::Store>", "Arc<dyn Store>"),
            ("[app::a::B; 3]", "[B; 3]"),
            ("<app::A as app::B>::C", "<A as B>::C"),
            ("fn(app::A) -> app::B", "fn(A) -> B"),
            ("größe::Maß", "Maß"),
            ("", ""),
        ] {
            assert_eq!(without_paths(long), short);
        }
    }
}

#[cfg(test)]
mod lazy_state_tests {
    use tokio::sync::Notify;

    use crate::context::states::*;

    #[tokio::test]
    async fn lazy_state_is_made_by_a_task_that_ends_with_its_server() {
        let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let notify = (Arc::clone(&begun), Arc::clone(&dropped));
        let state = Arc::new(LazyState::new("Pool".into(), move || {
            struct NotifyOnDrop(Arc<Notify>);
            impl Drop for NotifyOnDrop {
                fn drop(&mut self) {
                    self.0.notify_one();
                }
            }
            assert!(tokio::task::try_id().is_some(), "not in the task of a call");
            notify.0.notify_one();
            let on_drop = NotifyOnDrop(Arc::clone(&notify.1));
            async move {
                let _on_drop = on_drop;
                std::future::pending().await
            }
        }));
        {
            let mut call = Box::pin(state.make());
            tokio::select! {
                _ = &mut call => panic!("it is never made"),
                () = begun.notified() => {}
            }
        }
        drop(state);
        dropped.notified().await;
    }

    #[tokio::test]
    async fn after_a_panic_the_next_call_tries_again() {
        let attempts = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let state = LazyState::new("Pool".into(), move || {
            let attempt = attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert_ne!(attempt, 0, "the first attempt");
            async { Ok(Arc::new(7_u32) as SharedValue) }
        });
        let error = state.make().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::State);
        assert!(error.to_string().ends_with("panicked"), "{error}");
        state.make().await.unwrap();
        assert!(state.is_made());
    }
}
