//! Functions whose parameters are shared values: those that create another value, and those that run when a server
//! begins to serve.

use std::any::{Any, TypeId, type_name};
use std::future::{Future, ready};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::BoxError;

/// A shared value of any type.
pub(super) type SharedValue = Arc<dyn Any + Send + Sync>;

/// A parameter of such a function: `State<T>` or `Arc<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shared value",
    label = "not a shared value",
    note = "write `State<T>` or `Arc<T>`, where `T` is the type of a value of `Server::env`, `Server::state` or `Server::state_with`"
)]
pub trait SharedParameter: Sized {
    #[doc(hidden)]
    type Value: Send + Sync + 'static;

    #[doc(hidden)]
    fn from_shared(value: Arc<Self::Value>) -> Self;
}

impl<T: Send + Sync + 'static> SharedParameter for Arc<T> {
    type Value = T;

    fn from_shared(value: Self) -> Self {
        value
    }
}

/// A value that a function takes.
#[doc(hidden)]
#[derive(Clone)]
pub struct NeededState {
    pub(super) ty: TypeId,
    /// The type of an [`Arc`] that holds the value.
    pub(super) shared: TypeId,
    /// The full name of the type.
    pub(super) type_name: &'static str,
}

/// The values that a function takes, in the order of its parameters.
#[doc(hidden)]
#[derive(Clone)]
pub struct TakenStates(std::vec::IntoIter<SharedValue>);

impl TakenStates {
    pub(super) fn new(values: Vec<SharedValue>) -> Self {
        Self(values.into_iter())
    }

    /// Returns the next value. Functions get the values that they need, so `None` means a mistake in this crate.
    fn next<P: SharedParameter>(&mut self) -> Option<P> {
        let value = match self.0.next()?.downcast() {
            Ok(value) => value,
            Err(shared) => shared.downcast_ref::<Arc<P::Value>>().cloned()?,
        };
        Some(P::from_shared(value))
    }
}

fn needed<P: SharedParameter>() -> NeededState {
    NeededState {
        ty: TypeId::of::<P::Value>(),
        shared: TypeId::of::<Arc<P::Value>>(),
        type_name: type_name::<P::Value>(),
    }
}

/// An async function that creates a shared value of type `T` from up to three others: see `Server::state_with`.
///
/// Implemented for functions and closures whose parameters are [`State<T>`](crate::context::State) or `Arc<T>`, and which return a
/// `Result`. `P` is determined by the parameters.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot create a shared value",
    label = "not a function of shared values",
    note = "pass an async function or closure of at most three parameters, each `State<T>` or `Arc<T>`, which returns a `Result`"
)]
pub trait MakeState<T, E, P>: Send + Sync + 'static {
    #[doc(hidden)]
    type Making: Future<Output = Result<T, E>> + Send + 'static;

    #[doc(hidden)]
    fn needs() -> Vec<NeededState>;

    #[doc(hidden)]
    fn make(&self, states: TakenStates) -> Option<Self::Making>;
}

/// A function that runs when a server begins to serve: see `Server::on_serve`.
///
/// Implemented for functions and closures of up to three parameters that are [`State<T>`](crate::context::State) or `Arc<T>`. They may be
/// async, and return nothing or a `Result<(), E>`. `P` is determined by the parameters and the result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run when the server begins to serve",
    label = "not a function of shared values",
    note = "pass a function or closure, async or not, of at most three parameters, each `State<T>` or `Arc<T>`, which returns nothing or a `Result<(), E>`"
)]
pub trait ServeHook<P>: Send + 'static {
    #[doc(hidden)]
    fn needs() -> Vec<NeededState>;

    #[doc(hidden)]
    fn run(self, states: TakenStates) -> Option<HookFuture>;
}

/// What such a function does.
#[doc(hidden)]
pub type HookFuture = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// What an async function, or one that is not, returns when it has run.
#[doc(hidden)]
pub trait HookResult {
    fn into_result(self) -> Result<(), BoxError>;
}

impl HookResult for () {
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> HookResult for Result<(), E> {
    fn into_result(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

/// Marks functions that are not async.
#[doc(hidden)]
pub struct Plain;

/// Marks async functions.
#[doc(hidden)]
pub struct Awaited<R>(PhantomData<R>);

/// What a function returns, which is a future if the function is async.
#[doc(hidden)]
pub trait HookOutcome<M> {
    fn into_future(self) -> HookFuture;
}

impl<R: HookResult> HookOutcome<Plain> for R {
    fn into_future(self) -> HookFuture {
        Box::pin(ready(self.into_result()))
    }
}

impl<F, R> HookOutcome<Awaited<R>> for F
where
    F: Future<Output = R> + Send + 'static,
    R: HookResult,
{
    fn into_future(self) -> HookFuture {
        Box::pin(async move { self.await.into_result() })
    }
}

macro_rules! functions {
    ($($parameter:ident),*) => {
        impl<Function, Making, T, E, $($parameter),*> MakeState<T, E, ($($parameter,)*)> for Function
        where
            Function: Fn($($parameter),*) -> Making + Send + Sync + 'static,
            Making: Future<Output = Result<T, E>> + Send + 'static,
            $($parameter: SharedParameter),*
        {
            type Making = Making;

            fn needs() -> Vec<NeededState> {
                vec![$(needed::<$parameter>()),*]
            }

            #[allow(unused_mut, unused_variables, reason = "a function may have no parameters")]
            fn make(&self, mut states: TakenStates) -> Option<Making> {
                Some(self($(states.next::<$parameter>()?),*))
            }
        }

        impl<Function, Outcome, M, $($parameter),*> ServeHook<(M, ($($parameter,)*))> for Function
        where
            Function: FnOnce($($parameter),*) -> Outcome + Send + 'static,
            Outcome: HookOutcome<M>,
            $($parameter: SharedParameter),*
        {
            fn needs() -> Vec<NeededState> {
                vec![$(needed::<$parameter>()),*]
            }

            #[allow(unused_mut, unused_variables, reason = "a function may have no parameters")]
            fn run(self, mut states: TakenStates) -> Option<HookFuture> {
                Some(self($(states.next::<$parameter>()?),*).into_future())
            }
        }
    };
}

functions!();
functions!(A);
functions!(A, B);
functions!(A, B, C);
