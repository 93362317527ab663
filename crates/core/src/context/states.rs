//! A server's shared values, indexed by type. Some of them are created only when they are first needed.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::watch;

use crate::context::state_functions::{MakeState, NeededState, SharedValue, TakenStates};
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

    /// Inserts a value that `make` creates, from the values that it takes, when it is first needed.
    #[doc(hidden)]
    pub fn insert_later<T, E, P, M>(&mut self, make: M)
    where
        T: Send + Sync + 'static,
        E: Into<BoxError>,
        M: MakeState<T, E, P>,
    {
        let later = LazyState::new(short_type_name::<T>(), M::needs(), move |states| {
            let making = make.make(states);
            async move {
                let Some(making) = making else {
                    return Err("the values that it takes have not been created".into());
                };
                let value = making.await.map_err(Into::into)?;
                Ok(Arc::new(value) as SharedValue)
            }
        });
        let later = Arc::new(later);
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
        self.find_by_type(TypeId::of::<T>(), TypeId::of::<Arc<T>>())
    }

    fn find_needed(&self, needed: &NeededState) -> Option<&StateValue> {
        self.find_by_type(needed.ty, needed.shared)
    }

    /// Returns the value with this type, or with that of an [`Arc`] that holds it.
    fn find_by_type(&self, ty: TypeId, shared: TypeId) -> Option<&StateValue> {
        let found = self.values.get(&ty).or_else(|| self.values.get(&shared));
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

    /// Finds the values that functions take. Returns a line for each mistake: a value that is missing, or values that
    /// need each other.
    #[doc(hidden)]
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for later in &self.later {
            for needed in &later.needs {
                if self.find_needed(needed).is_none() {
                    faults.push(format!(
                        "the state of type `{}` is created from `{name}`, but there is no state of type `{name}`; add \
                         `.state(…)`, `.state_with(…)` or, for settings, `.env::<{name}>(…)`",
                        later.type_name,
                        name = without_paths(needed.type_name),
                    ));
                }
            }
        }
        faults.extend(self.circles());
        faults
    }

    /// Describes the values that need each other, once for each circle.
    fn circles(&self) -> Vec<String> {
        let mut circles = Vec::new();
        // Values that are part of a known circle, or from which none was found.
        let mut seen: Vec<&Arc<LazyState>> = Vec::new();
        for later in &self.later {
            self.follow(later, &mut Vec::new(), &mut seen, &mut circles);
        }
        circles
    }

    fn follow<'s>(
        &'s self,
        later: &'s Arc<LazyState>,
        path: &mut Vec<&'s Arc<LazyState>>,
        seen: &mut Vec<&'s Arc<LazyState>>,
        circles: &mut Vec<String>,
    ) {
        if let Some(start) = path.iter().position(|on_path| Arc::ptr_eq(on_path, later)) {
            let circle = path[start..].iter().copied().chain([later]);
            let names: Vec<_> = circle.map(|one| format!("`{}`", one.type_name)).collect();
            let (first, others) = (names[0].as_str(), names[1..].join(", which needs "));
            circles.push(format!(
                "no state can be created from itself: {first} needs {others}"
            ));
            return;
        }
        if seen.iter().any(|known| Arc::ptr_eq(known, later)) {
            return;
        }
        path.push(later);
        for needed in &later.needs {
            if let Some(StateValue::Later(needed)) = self.find_needed(needed) {
                self.follow(needed, path, seen, circles);
            }
        }
        path.pop();
        seen.push(later);
    }

    /// Connects the values with those from which they are created, once [`faults`](Self::faults) has found none.
    #[doc(hidden)]
    pub fn connect(&self) {
        for later in &self.later {
            let _ = later.sources.set(self.sources(&later.needs));
        }
    }

    fn sources(&self, needs: &[NeededState]) -> Vec<StateValue> {
        let values = needs.iter().filter_map(|needed| self.find_needed(needed));
        values.cloned().collect()
    }

    /// Describes what is missing for a function that takes these values.
    #[doc(hidden)]
    #[must_use]
    pub fn missing(&self, needs: &[NeededState]) -> Vec<String> {
        let missing = needs
            .iter()
            .filter(|needed| self.find_needed(needed).is_none());
        missing
            .map(|needed| without_paths(needed.type_name))
            .collect()
    }

    /// Creates the values that a function takes, as far as they do not exist yet.
    pub(crate) async fn take(&self, needs: &[NeededState]) -> Result<TakenStates, Error> {
        take(&self.sources(needs)).await
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

/// The future that creates a value.
type Making = Pin<Box<dyn Future<Output = Result<SharedValue, BoxError>> + Send>>;

/// Returns these values, and creates those that do not exist yet.
async fn take(sources: &[StateValue]) -> Result<TakenStates, Error> {
    let mut values = Vec::with_capacity(sources.len());
    for source in sources {
        let value = match source {
            StateValue::Made(value) => Some(value),
            StateValue::Later(later) => {
                // A future that awaits itself must be boxed.
                Box::pin(later.make()).await?;
                later.value()
            }
        };
        values.extend(value.cloned());
    }
    Ok(TakenStates::new(values))
}

/// A value that is created when it is first needed.
pub struct LazyState {
    type_name: String,
    /// The values from which it is created.
    needs: Vec<NeededState>,
    sources: OnceLock<Vec<StateValue>>,
    make: Arc<dyn Fn(TakenStates) -> Making + Send + Sync>,
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
    pub(super) fn new<F>(
        type_name: String,
        needs: Vec<NeededState>,
        make: impl Fn(TakenStates) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<SharedValue, BoxError>> + Send + 'static,
    {
        Self {
            type_name,
            needs,
            sources: OnceLock::new(),
            make: Arc::new(move |states| Box::pin(make(states))),
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
        let sources = self.sources.get().map_or(&[][..], Vec::as_slice);
        let mut outcome = self.attempt(take(sources).await?);
        let outcome = outcome.wait_for(Option::is_some).await;
        let outcome = outcome.ok().and_then(|outcome| outcome.clone());
        outcome
            .unwrap_or(Err(AttemptError::Unfinished))
            .map_err(|error| self.error(error))
    }

    /// Joins the attempt in progress, or starts a new attempt with these values.
    fn attempt(&self, states: TakenStates) -> watch::Receiver<Option<Result<(), AttemptError>>> {
        let mut attempt = lock(&self.attempt);
        if let Some(attempt) = attempt.as_ref().filter(|attempt| attempt.can_be_joined()) {
            return attempt.outcome.clone();
        }
        let (sender, outcome) = watch::channel(None);
        let (make, value) = (Arc::clone(&self.make), Arc::clone(&self.value));
        let making = async move {
            let result = make(states).await.map(|made| {
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
        let state = Arc::new(LazyState::new("Pool".into(), Vec::new(), move |_| {
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
        let state = LazyState::new("Pool".into(), Vec::new(), move |_| {
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
