//! Resources and resource templates created at run time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Arguments, DynamicHandler, builder};
use crate::context::Context;
use crate::handler::call::{resource, running};
use crate::handler::handler_error::HandlerError;
use crate::handler::listing::{Lister, Page};
use crate::handler::resource::IntoResourceResult;
use crate::types::{Annotations, CacheScope, Icon, Resource, ResourceTemplate};

/// A resource with a fixed URI, defined at run time.
pub struct DynamicResource {
    pub(crate) resource: Resource,
    pub(crate) handler: DynamicHandler,
}

builder!(DynamicResource, resource);

impl DynamicResource {
    /// Creates a resource with this URI and name.
    pub fn new<F, R>(
        uri: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResourceResult,
    {
        Self {
            resource: Resource::new(uri, name),
            handler: DynamicHandler::new(move |_, context| {
                let future = handler(context);
                running(async move { resource::reply(future.await) })
            }),
        }
    }

    /// Sets the size of the contents in bytes, before any encoding.
    #[must_use]
    pub fn size(mut self, size: u64) -> Self {
        self.resource.size = Some(size);
        self
    }
}

/// A resource template defined at run time.
pub struct DynamicTemplate {
    pub(crate) template: ResourceTemplate,
    pub(crate) any_path: Vec<String>,
    pub(crate) lister: Option<Arc<dyn Lister>>,
    pub(crate) handler: DynamicHandler,
}

builder!(DynamicTemplate, template);

impl DynamicTemplate {
    /// Creates a resource template with this URI template (RFC 6570) and name. The handler receives the values of the
    /// template's variables.
    ///
    /// A URI does not match if a variable's value contains NUL, has a `..` segment, or begins with `/`, `\` or a drive
    /// letter, unless the variable accepts [any path](Self::any_path).
    pub fn new<F, R>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResourceResult,
    {
        let mut template = ResourceTemplate::default();
        template.uri_template = uri_template.into();
        template.name = name.into();
        Self {
            template,
            any_path: Vec::new(),
            lister: None,
            handler: DynamicHandler::new(move |arguments, context| {
                let future = handler(arguments, context);
                running(async move { resource::reply(future.await) })
            }),
        }
    }

    /// Sets the completion candidates for a variable.
    #[must_use]
    pub fn candidates(
        mut self,
        variable: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.handler.add_candidates(variable, candidates);
        self
    }

    /// Lets a variable accept values that can lead out of a directory: `..`, absolute paths, drive letters and NUL. The
    /// handler must validate such values before using them as paths.
    #[must_use]
    pub fn any_path(mut self, variable: impl Into<String>) -> Self {
        self.any_path.push(variable.into());
        self
    }

    /// Sets a function that lists the template's resources page by page. The function receives a cursor, which is
    /// `None` for the first page, and returns resources and the cursor for the next page.
    ///
    /// The client sends the cursor back and may have modified it, so validate it like any other input.
    #[must_use]
    pub fn list<F>(
        mut self,
        list: impl Fn(Context, Option<String>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Page<Resource>, HandlerError>> + Send + 'static,
    {
        self.lister = Some(Arc::new(DynamicLister(move |context, cursor| {
            let listed: ListingFuture = Box::pin(list(context, cursor));
            listed
        })));
        self
    }
}

/// Builder methods shared by resources and templates.
macro_rules! readable {
    ($name:ident, $wire:ident) => {
        impl $name {
            /// Sets the media type.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.$wire.mime_type = Some(mime_type.into());
                self
            }

            /// Sets the annotations, such as audience and priority.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.$wire.annotations = Some(annotations);
                self
            }

            /// Sets how long clients may cache the contents. Defaults to the server's value.
            #[must_use]
            pub fn ttl(mut self, ttl: Duration) -> Self {
                self.handler.ttl = Some(ttl);
                self
            }

            /// Sets which clients may use the cached contents. Defaults to the server's value.
            #[must_use]
            pub fn cache(mut self, scope: CacheScope) -> Self {
                self.handler.cache = Some(scope);
                self
            }
        }
    };
}

readable!(DynamicResource, resource);

readable!(DynamicTemplate, template);

type ListingFuture = Pin<Box<dyn Future<Output = Result<Page<Resource>, HandlerError>> + Send>>;

/// Implements [`Lister`] for a closure.
struct DynamicLister<F>(F);

impl<F: Fn(Context, Option<String>) -> ListingFuture + Send + Sync> Lister for DynamicLister<F> {
    fn list(&self, context: Context, cursor: Option<String>) -> ListingFuture {
        (self.0)(context, cursor)
    }
}

impl<F> fmt::Debug for DynamicLister<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DynamicLister")
    }
}
