//! Resources and resource templates created at run time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Arguments, DynamicRun, builder};
use crate::context::{Caller, Context};
use crate::handler::access::Access;
use crate::handler::call::{resource, running};
use crate::handler::definition::GuardOptions;
use crate::handler::handler_error::HandlerError;
use crate::handler::listing::{Lister, Page};
use crate::handler::resource::IntoResourceResult;
use crate::types::{Annotations, CacheScope, Icon, Meta, Resource, ResourceTemplate};

/// A resource with a fixed URI, known only at run time.
pub struct DynamicResource {
    pub(crate) uri: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) mime_type: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) guards: GuardOptions<String>,
    pub(crate) access: Access,
    pub(crate) ttl: Option<Duration>,
    pub(crate) cache: Option<CacheScope>,
    pub(crate) run: DynamicRun,
}

builder!(DynamicResource);

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
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            mime_type: None,
            size: None,
            annotations: None,
            guards: GuardOptions::NONE,
            access: Access::default(),
            ttl: None,
            cache: None,
            run: Arc::new(move |_, context| {
                let future = handler(context);
                running(async move { resource::reply(future.await) })
            }),
        }
    }

    /// Sets the size in bytes, before any encoding.
    #[must_use]
    pub fn size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }
}

impl DynamicResource {
    pub(crate) fn definition(&self) -> Resource {
        let mut resource = Resource::new(&*self.uri, &*self.name);
        resource.title.clone_from(&self.title);
        resource.description.clone_from(&self.description);
        resource.mime_type.clone_from(&self.mime_type);
        resource.size = self.size;
        resource.annotations.clone_from(&self.annotations);
        resource.icons.clone_from(&self.icons);
        resource.meta.clone_from(&self.meta);
        resource
    }
}

/// A resource template known only at run time.
pub struct DynamicTemplate {
    pub(crate) uri_template: String,
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) mime_type: Option<String>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) guards: GuardOptions<String>,
    pub(crate) access: Access,
    pub(crate) ttl: Option<Duration>,
    pub(crate) cache: Option<CacheScope>,
    pub(crate) candidates: Vec<(String, Vec<String>)>,
    pub(crate) any_path: Vec<String>,
    pub(crate) lister: Option<Arc<dyn Lister>>,
    pub(crate) run: DynamicRun,
}

builder!(DynamicTemplate);

impl DynamicTemplate {
    /// Creates a resource template with this URI template (RFC 6570) and name. The handler receives the template's variables.
    ///
    /// A URI matches only if no variable contains NUL, has a segment `..`, or begins with `/`, `\` or a drive letter, unless
    /// the variable accepts [any path](Self::any_path).
    pub fn new<F, R>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResourceResult,
    {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            mime_type: None,
            annotations: None,
            guards: GuardOptions::NONE,
            access: Access::default(),
            ttl: None,
            cache: None,
            candidates: Vec::new(),
            any_path: Vec::new(),
            lister: None,
            run: Arc::new(move |arguments, context| {
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
        self.candidates.push((
            variable.into(),
            candidates.into_iter().map(Into::into).collect(),
        ));
        self
    }

    /// Makes a variable accept values that lead out of a directory: `..`, absolute paths, drive letters and NUL. The handler
    /// must validate them before it uses them as a path.
    #[must_use]
    pub fn any_path(mut self, variable: impl Into<String>) -> Self {
        self.any_path.push(variable.into());
        self
    }

    /// Sets a function that lists the template's resources page by page: it receives a cursor, `None` for the first page,
    /// and returns resources and the cursor of the next page.
    ///
    /// The cursor comes back through the client, which may have changed it: validate it like any input.
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

impl DynamicTemplate {
    pub(crate) fn definition(&self) -> ResourceTemplate {
        let mut template = ResourceTemplate::default();
        template.uri_template.clone_from(&self.uri_template);
        template.name.clone_from(&self.name);
        template.title.clone_from(&self.title);
        template.description.clone_from(&self.description);
        template.mime_type.clone_from(&self.mime_type);
        template.annotations.clone_from(&self.annotations);
        template.icons.clone_from(&self.icons);
        template.meta.clone_from(&self.meta);
        template
    }
}

/// Builder methods shared by resources and templates.
macro_rules! readable {
    ($name:ident) => {
        impl $name {
            /// Sets the media type.
            #[must_use]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.mime_type = Some(mime_type.into());
                self
            }

            /// Sets the annotations, such as audience and priority.
            #[must_use]
            pub fn annotations(mut self, annotations: Annotations) -> Self {
                self.annotations = Some(annotations);
                self
            }

            /// Sets how long clients may cache the contents. Default: the server's value.
            #[must_use]
            pub fn ttl(mut self, ttl: Duration) -> Self {
                self.ttl = Some(ttl);
                self
            }

            /// Sets for whom the contents may be cached. Default: the server's value.
            #[must_use]
            pub fn cache(mut self, scope: CacheScope) -> Self {
                self.cache = Some(scope);
                self
            }
        }
    };
}

readable!(DynamicResource);

readable!(DynamicTemplate);

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
