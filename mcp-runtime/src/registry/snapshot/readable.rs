//! The resource or resource template that a URI refers to.

use std::sync::Arc;

use crate::context::Context;
use crate::handler::call::CallRefusal;
use crate::handler::definition::Kind;
use crate::protocol::encode::CacheHint;
use crate::registry::entry::{CacheOptions, Pace, ResourceEntry, TemplateEntry};
use crate::registry::guards::Guards;
use crate::registry::handler::{Handler, HandlerProgress};
use crate::types::CacheScope;

/// The resource with a URI, or the template that matches it, with the variables of the URI.
#[derive(Clone, Debug)]
pub(crate) struct Readable {
    pub(super) source: ReadableEntry,
    pub(super) arguments: String,
}

#[derive(Clone, Debug)]
pub(super) enum ReadableEntry {
    Resource(Arc<ResourceEntry>),
    Template(Arc<TemplateEntry>),
}

impl Readable {
    /// Starts reading.
    ///
    /// # Errors
    ///
    /// If a variable does not fit its type, or an injected value is not available.
    pub(crate) fn start(
        &self,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        self.start_with(&self.arguments, context)
    }

    /// Starts reading with other variables than those of the URI.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub(crate) fn start_with(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        self.handler().start(arguments, context)
    }

    /// Returns the kind: a resource, or a resource template.
    pub(crate) fn kind(&self) -> Kind {
        match &self.source {
            ReadableEntry::Resource(_) => Kind::Resource,
            ReadableEntry::Template(_) => Kind::ResourceTemplate,
        }
    }

    /// Returns the arguments, as a JSON object.
    pub(crate) fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Returns the handler that reads it.
    pub(crate) fn handler(&self) -> &Handler {
        match &self.source {
            ReadableEntry::Resource(entry) => &entry.handler,
            ReadableEntry::Template(entry) => &entry.handler,
        }
    }

    /// Returns the name of the resource or template.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        match &self.source {
            ReadableEntry::Resource(entry) => &entry.resource.name,
            ReadableEntry::Template(entry) => &entry.template.name,
        }
    }

    /// Returns the media type, if the definition specifies one.
    pub(crate) fn mime_type(&self) -> Option<&str> {
        match &self.source {
            ReadableEntry::Resource(entry) => entry.resource.mime_type.as_deref(),
            ReadableEntry::Template(entry) => entry.template.mime_type.as_deref(),
        }
    }

    /// Returns the cache hint: the definition's, or else the server's `default`. If access is restricted, the scope is private.
    pub(crate) fn cache(&self, default: CacheHint) -> CacheHint {
        let (options, access): (CacheOptions, _) = match &self.source {
            ReadableEntry::Resource(entry) => (entry.cache, &entry.access),
            ReadableEntry::Template(entry) => (entry.cache, &entry.access),
        };
        let mut hint = options.or(default);
        if access.is_restricted() {
            hint.scope = CacheScope::Private;
        }
        hint
    }

    /// Returns the limits of the handler.
    pub(crate) fn guards(&self) -> &Guards {
        match &self.source {
            ReadableEntry::Resource(entry) => &entry.guards,
            ReadableEntry::Template(entry) => &entry.guards,
        }
    }

    /// Returns the record of slow first polls of the handler.
    pub(crate) fn pace(&self) -> &Arc<Pace> {
        match &self.source {
            ReadableEntry::Resource(entry) => &entry.pace,
            ReadableEntry::Template(entry) => &entry.pace,
        }
    }
}
