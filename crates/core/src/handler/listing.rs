//! Functions that list the resources of a resource template: `list = function`.
//!
//! Such a function can take the same injected values as a handler, and a [`ListCursor`] if it returns its list in
//! pages.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use crate::context::{Context, FromContext, States};
use crate::handler::handler_error::{HandlerError, IntoHandlerError};
use crate::types::Resource;

/// Lists the resources of a template, page by page.
pub trait Lister: Send + Sync + fmt::Debug {
    /// Returns the page after `cursor`, or the first page if there is no cursor. The cursor, which this lister returned
    /// earlier, is the only input from the client.
    fn list(
        &self,
        context: Context,
        cursor: Option<String>,
    ) -> Pin<Box<dyn Future<Output = Result<Page<Resource>, HandlerError>> + Send>>;

    /// Checks at start-up that the state required by the lister's parameters will be available.
    ///
    /// # Errors
    ///
    /// If state is missing, returns a message that explains how to provide it.
    fn check(&self, states: &States) -> Result<(), String> {
        let _ = states;
        Ok(())
    }
}

/// A page of a list, and the cursor for the next page.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor for the next page, or `None` on the last page.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Creates the last page.
    pub fn new(items: impl Into<Vec<T>>) -> Self {
        Self {
            items: items.into(),
            next: None,
        }
    }

    /// Sets the cursor for the next page. The cursor can be any string that the function is able to interpret later.
    #[must_use]
    pub fn with_next(mut self, cursor: impl Into<String>) -> Self {
        self.next = Some(cursor.into());
        self
    }
}

/// The cursor that the previous page set with [`Page::with_next`], or `None` for the first page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListCursor(pub Option<String>);

/// A parameter of a listing function: a value, or a reference to a value that is kept while the function runs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a listing function",
    label = "not injectable",
    note = "take `ListCursor`, or a type that implements `FromContext`, such as `State<…>` or `Context`"
)]
pub trait ListParameter<Kind> {
    /// The value that is kept during a call.
    type Taken: Send + 'static;
    /// The type passed to the function.
    type Given<'a>;

    /// Takes the value for one call.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not available.
    fn take(context: &Context, cursor: &mut Option<String>) -> Result<Self::Taken, HandlerError>;

    /// Passes the value to the function. A value can be passed by value only once.
    ///
    /// # Errors
    ///
    /// Returns an error if the value was already passed by value, which is a bug in the framework.
    fn give(taken: &mut Option<Self::Taken>) -> Result<Self::Given<'_>, HandlerError>;

    /// Checks at start-up that calls will find the state that they need.
    ///
    /// # Errors
    ///
    /// If state is missing, returns a message that explains how to provide it.
    fn check(states: &States) -> Result<(), String>;
}

/// Marks values from the context.
#[derive(Debug)]
pub enum FromTheContext {}
/// Marks values from the list request.
#[derive(Debug)]
pub enum FromTheRequest {}
/// Marks borrowed values.
#[derive(Debug)]
pub struct Lent<Kind>(PhantomData<Kind>);

impl<T: FromContext + Send + 'static> ListParameter<FromTheContext> for T {
    type Taken = T;
    type Given<'a> = T;

    fn take(context: &Context, _: &mut Option<String>) -> Result<T, HandlerError> {
        T::from_context(context)
    }

    fn give(taken: &mut Option<T>) -> Result<T, HandlerError> {
        taken.take().ok_or_else(already_passed_error)
    }

    fn check(states: &States) -> Result<(), String> {
        <T as FromContext>::check(states)
    }
}

impl ListParameter<FromTheRequest> for ListCursor {
    type Taken = Self;
    type Given<'a> = Self;

    fn take(_: &Context, cursor: &mut Option<String>) -> Result<Self, HandlerError> {
        Ok(Self(cursor.take()))
    }

    fn give(taken: &mut Option<Self>) -> Result<Self, HandlerError> {
        taken.take().ok_or_else(already_passed_error)
    }

    fn check(_: &States) -> Result<(), String> {
        Ok(())
    }
}

impl<T, Kind> ListParameter<Lent<Kind>> for &'static T
where
    T: ListParameter<Kind, Taken = T> + Send + Sync + 'static,
{
    type Taken = T;
    type Given<'a> = &'a T;

    fn take(context: &Context, cursor: &mut Option<String>) -> Result<T, HandlerError> {
        T::take(context, cursor)
    }

    fn give(taken: &mut Option<T>) -> Result<&T, HandlerError> {
        taken.as_ref().ok_or_else(already_passed_error)
    }

    fn check(states: &States) -> Result<(), String> {
        T::check(states)
    }
}

fn already_passed_error() -> HandlerError {
    HandlerError::framework_bug("a value for a listing function was already passed")
}

/// A type that a listing function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a listing function",
    label = "not a list of resources",
    note = "return `Vec<Resource>`, `Page<Resource>`, or a `Result` of these"
)]
pub trait IntoPage {
    /// Returns the page.
    ///
    /// # Errors
    ///
    /// Returns the function's error.
    fn into_page(self) -> Result<Page<Resource>, HandlerError>;
}

impl IntoPage for Page<Resource> {
    fn into_page(self) -> Result<Page<Resource>, HandlerError> {
        Ok(self)
    }
}

impl IntoPage for Vec<Resource> {
    fn into_page(self) -> Result<Page<Resource>, HandlerError> {
        Ok(Page::new(self))
    }
}

impl<T: IntoPage, E: IntoHandlerError> IntoPage for Result<T, E> {
    fn into_page(self) -> Result<Page<Resource>, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_page()
    }
}

type ListerFuture = Pin<Box<dyn Future<Output = Result<Page<Resource>, HandlerError>> + Send>>;

/// A function that lists resources. `Kind` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot list the resources of a template",
    label = "not a listing function",
    note = "write a function, async or not, that has up to four injected parameters (`State<…>`, `Context`, `ListCursor`, or references to these) and returns `Vec<Resource>`, `Page<Resource>`, or a `Result` of these"
)]
pub trait ListFunction<Kind>: Send + Sync + 'static {
    /// Calls the function.
    fn call(&self, context: &Context, cursor: Option<String>) -> ListerFuture;

    /// Checks that the state needed by the function's parameters is available.
    ///
    /// # Errors
    ///
    /// If state is missing, returns a message that explains how to provide it.
    fn check(states: &States) -> Result<(), String>;
}

/// Marks synchronous functions.
#[derive(Debug)]
pub enum AtOnce {}
/// Marks functions that return a future.
#[derive(Debug)]
pub enum Later {}

/// A function that returns a future, which may borrow from the function's parameters.
pub trait CallLater<'a, Parameters> {
    /// The output of the future.
    type Page: IntoPage;
    /// The future.
    type Future: Future<Output = Self::Page> + Send + 'a;

    /// Calls the function.
    fn call_later(&self, parameters: Parameters) -> Self::Future;
}

/// Calls a closure in which `?` can return early if a parameter is not available.
fn run<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// Implements [`ListFunction`] for functions of each supported arity. `F` has two bounds: one with the types as
/// written, from which everything is inferred, and one with the types that are passed during a call.
macro_rules! functions {
    ($($($part:ident $kind:ident)*;)+) => {$(
        impl<F, R, $($part, $kind),*> ListFunction<(AtOnce, R, $($part, $kind),*)> for F
        where
            F: Fn($($part),*) -> R + for<'a> Fn($($part::Given<'a>),*) -> R + Send + Sync + 'static,
            R: IntoPage,
            $($part: ListParameter<$kind>,)*
        {
            #[allow(non_snake_case, unused, reason = "each parameter is named after its type; parameters are optional")]
            fn call(&self, context: &Context, mut cursor: Option<String>) -> ListerFuture {
                fn given<R, $($part),*>(function: impl Fn($($part),*) -> R, $($part: $part),*) -> R {
                    function($($part),*)
                }
                let page = run(|| {
                    $(let mut $part = Some($part::take(context, &mut cursor)?);)*
                    given(self, $($part::give(&mut $part)?),*).into_page()
                });
                Box::pin(std::future::ready(page))
            }

            #[allow(unused, reason = "there may be no parameters")]
            fn check(states: &States) -> Result<(), String> {
                $($part::check(states)?;)*
                Ok(())
            }
        }

        #[allow(non_snake_case, reason = "each parameter is named after its type")]
        impl<'a, F, R, $($part),*> CallLater<'a, ($($part,)*)> for F
        where
            F: Fn($($part),*) -> R,
            R: Future<Output: IntoPage> + Send + 'a,
        {
            type Page = R::Output;
            type Future = R;

            fn call_later(&self, ($($part,)*): ($($part,)*)) -> R {
                self($($part),*)
            }
        }

        impl<F, R, $($part, $kind),*> ListFunction<(Later, R, $($part, $kind),*)> for F
        where
            F: Fn($($part),*) -> R + for<'a> CallLater<'a, ($($part::Given<'a>,)*)> + Clone + Send + Sync + 'static,
            R: Future,
            $($part: ListParameter<$kind>,)*
        {
            #[allow(non_snake_case, unused, reason = "each parameter is named after its type; parameters are optional")]
            fn call(&self, context: &Context, mut cursor: Option<String>) -> ListerFuture {
                let function = self.clone();
                let taken = run(|| Ok::<_, HandlerError>(($(Some($part::take(context, &mut cursor)?),)*)));
                Box::pin(async move {
                    let ($(mut $part,)*) = taken?;
                    let future = function.call_later(($($part::give(&mut $part)?,)*));
                    future.await.into_page()
                })
            }

            #[allow(unused, reason = "there may be no parameters")]
            fn check(states: &States) -> Result<(), String> {
                $($part::check(states)?;)*
                Ok(())
            }
        }
    )+};
}

functions! {
    ;
    A KA;
    A KA B KB;
    A KA B KB C KC;
    A KA B KB C KC D KD;
}

/// Creates a lister from a function; `list = function` expands to a call to this function.
pub fn lister<F: ListFunction<Kind>, Kind: 'static>(function: F) -> Box<dyn Lister> {
    Box::new(FunctionLister(function, PhantomData::<fn() -> Kind>))
}

struct FunctionLister<F, Kind>(F, PhantomData<fn() -> Kind>);

impl<F, Kind> fmt::Debug for FunctionLister<F, Kind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<F>())
    }
}

impl<F: ListFunction<Kind>, Kind> Lister for FunctionLister<F, Kind> {
    fn list(&self, context: Context, cursor: Option<String>) -> ListerFuture {
        self.0.call(&context, cursor)
    }

    fn check(&self, states: &States) -> Result<(), String> {
        F::check(states)
    }
}

#[cfg(test)]
mod tests;
