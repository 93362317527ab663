//! Values that a call waits for before its handler starts: state that has not been created yet, and parameters that
//! implement [`AsyncFromContext`](crate::AsyncFromContext).

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use crate::cancellation::CancellationToken;
use crate::context::states::LazyState;
use crate::context::{
    CallEnding, CallHandle, Context, NotificationSender, QuestionTransport, RequestContext, States,
};
use crate::error::Error;
use crate::handler::handler_error::HandlerError;
use crate::lock::lock;

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
        Ok(Context::new(Arc::new(PreparedHandle {
            call: context,
            values: Mutex::new(values),
        })))
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

/// A call whose awaited parameters are ready.
struct PreparedHandle {
    call: Context,
    values: Mutex<Vec<PreparedValue>>,
}

impl CallHandle for PreparedHandle {
    fn request(&self) -> &RequestContext {
        self.call.call().request()
    }

    fn outbound(&self) -> &dyn NotificationSender {
        self.call.call().outbound()
    }

    fn asking(&self) -> &dyn QuestionTransport {
        self.call.call().asking()
    }

    fn ending(&self) -> &CallEnding {
        self.call.call().ending()
    }

    fn leaving(&self) -> Option<&CancellationToken> {
        self.call.call().leaving()
    }

    fn prepared(&self) -> Option<&Mutex<Vec<PreparedValue>>> {
        Some(&self.values)
    }
}

impl Context {
    /// Returns the next awaited value of type `T`. Each value is returned only once.
    pub(crate) fn take_prepared<T: 'static>(&self) -> Option<T> {
        let mut values = lock(self.call().prepared()?);
        let position = values.iter().position(|value| value.is::<T>())?;
        values.remove(position).downcast().ok().map(|value| *value)
    }
}
