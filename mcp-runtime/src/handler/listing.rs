//! How a resource template says which resources it has: `list = function`.
//!
//! Such a function takes what a handler can have injected, and a [`ListCursor`] if it lists in pages.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use crate::context::{Context, FromContext};
use crate::handler::tool_error::{IntoToolError, ToolError};
use crate::types::Resource;

/// Lists the resources of a template, a page at a time.
pub trait Lister: Send + Sync + fmt::Debug {
    /// The page after `cursor`, or the first one. Decodes nothing from the client but the cursor it gave out itself.
    fn list(
        &self,
        context: Context,
        cursor: Option<String>,
    ) -> Pin<Box<dyn Future<Output = Result<Page<Resource>, ToolError>> + Send>>;
}

/// A part of a list, and where to go on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What gives the next page; `None` on the last one.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// The last page.
    pub fn new(items: impl Into<Vec<T>>) -> Self {
        Self {
            items: items.into(),
            next: None,
        }
    }

    /// With another page after it, which `cursor` gives: any text the function understands when it comes back.
    #[must_use]
    pub fn with_next(mut self, cursor: impl Into<String>) -> Self {
        self.next = Some(cursor.into());
        self
    }
}

/// Where a list goes on: what the page before gave [`Page::with_next`]; `None` for the first page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListCursor(pub Option<String>);

/// What a listing function may take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a listing function",
    label = "not injectable",
    note = "take `ListCursor`, or what implements `FromContext`, such as `State<…>` or `Context`"
)]
pub trait ListParameter<Kind>: Sized {
    /// Takes the value for one call.
    ///
    /// # Errors
    ///
    /// Why it cannot be had.
    fn take(context: &Context, cursor: &mut Option<String>) -> Result<Self, ToolError>;
}

/// Marks what comes from the context.
#[derive(Debug)]
pub enum FromTheContext {}
/// Marks what comes from the request to list.
#[derive(Debug)]
pub enum FromTheRequest {}

impl<T: FromContext> ListParameter<FromTheContext> for T {
    fn take(context: &Context, _: &mut Option<String>) -> Result<Self, ToolError> {
        T::from_context(context)
    }
}

impl ListParameter<FromTheRequest> for ListCursor {
    fn take(_: &Context, cursor: &mut Option<String>) -> Result<Self, ToolError> {
        Ok(Self(cursor.take()))
    }
}

/// What a listing function may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a listing function",
    label = "not a list of resources",
    note = "return `Vec<Resource>`, `Page<Resource>`, or a `Result` of these"
)]
pub trait IntoPage {
    /// The page.
    ///
    /// # Errors
    ///
    /// What the function failed with.
    fn into_page(self) -> Result<Page<Resource>, ToolError>;
}

impl IntoPage for Page<Resource> {
    fn into_page(self) -> Result<Page<Resource>, ToolError> {
        Ok(self)
    }
}

impl IntoPage for Vec<Resource> {
    fn into_page(self) -> Result<Page<Resource>, ToolError> {
        Ok(Page::new(self))
    }
}

impl<T: IntoPage, E: IntoToolError> IntoPage for Result<T, E> {
    fn into_page(self) -> Result<Page<Resource>, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?.into_page()
    }
}

type Listing = Pin<Box<dyn Future<Output = Result<Page<Resource>, ToolError>> + Send>>;

/// A function that lists resources. `Kind` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot list the resources of a template",
    label = "not a listing function",
    note = "write a function, async or not, of up to four injected parameters (`State<…>`, `Context`, `ListCursor`) that returns `Vec<Resource>`, `Page<Resource>`, or a `Result` of these"
)]
pub trait ListFunction<Kind>: Send + Sync + 'static {
    /// Calls it.
    fn call(&self, context: &Context, cursor: Option<String>) -> Listing;
}

/// Marks functions that run to their end at once.
#[derive(Debug)]
pub enum AtOnce {}
/// Marks functions that give a future.
#[derive(Debug)]
pub enum Later {}

/// A place where `?` can end the taking of parameters.
fn run<T>(work: impl FnOnce() -> T) -> T {
    work()
}

macro_rules! functions {
    ($($($part:ident $kind:ident)*;)+) => {$(
        impl<F, R, $($part, $kind),*> ListFunction<(AtOnce, R, $($part, $kind),*)> for F
        where
            F: Fn($($part),*) -> R + Send + Sync + 'static,
            R: IntoPage,
            $($part: ListParameter<$kind>,)*
        {
            fn call(&self, context: &Context, cursor: Option<String>) -> Listing {
                let mut cursor = cursor;
                let _ = (context, &mut cursor);
                let page = run(|| self($($part::take(context, &mut cursor)?),*).into_page());
                Box::pin(std::future::ready(page))
            }
        }

        impl<F, R, $($part, $kind),*> ListFunction<(Later, R, $($part, $kind),*)> for F
        where
            F: Fn($($part),*) -> R + Send + Sync + 'static,
            R: Future<Output: IntoPage> + Send + 'static,
            $($part: ListParameter<$kind>,)*
        {
            fn call(&self, context: &Context, cursor: Option<String>) -> Listing {
                let mut cursor = cursor;
                let _ = (context, &mut cursor);
                match run(|| Ok::<R, ToolError>(self($($part::take(context, &mut cursor)?),*))) {
                    Ok(future) => Box::pin(async move { future.await.into_page() }),
                    Err(error) => Box::pin(std::future::ready(Err(error))),
                }
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

/// Makes a lister of a function; what `list = function` expands to.
pub fn lister<F: ListFunction<Kind>, Kind: 'static>(function: F) -> Box<dyn Lister> {
    Box::new(Function(function, PhantomData::<fn() -> Kind>))
}

struct Function<F, Kind>(F, PhantomData<fn() -> Kind>);

impl<F, Kind> fmt::Debug for Function<F, Kind> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<F>())
    }
}

impl<F: ListFunction<Kind>, Kind> Lister for Function<F, Kind> {
    fn list(&self, context: Context, cursor: Option<String>) -> Listing {
        self.0.call(&context, cursor)
    }
}

#[cfg(test)]
mod tests;
