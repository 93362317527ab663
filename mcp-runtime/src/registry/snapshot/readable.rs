//! Something at an address, whether it has the address to itself or a template matches it.

use std::sync::Arc;

use crate::context::Context;
use crate::handler::call::Refusal;
use crate::handler::definition::Kind;
use crate::protocol::encode::CacheHint;
use crate::registry::entry::{CacheOptions, Pace, ResourceEntry, TemplateEntry};
use crate::registry::guards::Guards;
use crate::registry::handler::{Handler, Started};
use crate::types::CacheScope;

/// Something at an address, with the variables of the address if a template has it.
#[derive(Clone, Debug)]
pub(crate) struct Readable {
    pub(super) source: Source,
    pub(super) arguments: String,
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    Resource(Arc<ResourceEntry>),
    Template(Arc<TemplateEntry>),
}

impl Readable {
    /// Starts reading.
    ///
    /// # Errors
    ///
    /// If a variable does not fit its type, or an injected value could not be had.
    pub(crate) fn start(&self, context: &dyn Fn() -> Context) -> Result<Started, Refusal> {
        self.start_with(&self.arguments, context)
    }

    /// Starts reading with other variables than those of the address.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub(crate) fn start_with(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<Started, Refusal> {
        self.handler().start(arguments, context)
    }

    /// Whether it has the address to itself, or a template matches it.
    pub(crate) fn kind(&self) -> Kind {
        match &self.source {
            Source::Resource(_) => Kind::Resource,
            Source::Template(_) => Kind::ResourceTemplate,
        }
    }

    /// The arguments, as a JSON object.
    pub(crate) fn arguments(&self) -> &str {
        &self.arguments
    }

    /// What reads it.
    pub(crate) fn handler(&self) -> &Handler {
        match &self.source {
            Source::Resource(entry) => &entry.handler,
            Source::Template(entry) => &entry.handler,
        }
    }

    /// The name of the resource or template.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        match &self.source {
            Source::Resource(entry) => &entry.resource.name,
            Source::Template(entry) => &entry.template.name,
        }
    }

    /// The media type, as far as the definition says.
    pub(crate) fn mime_type(&self) -> Option<&str> {
        match &self.source {
            Source::Resource(entry) => entry.resource.mime_type.as_deref(),
            Source::Template(entry) => entry.template.mime_type.as_deref(),
        }
    }

    /// How long and by whom it may be reused, given what the server says: only by whoever read it, if not everybody may.
    pub(crate) fn cache(&self, default: CacheHint) -> CacheHint {
        let (options, access): (CacheOptions, _) = match &self.source {
            Source::Resource(entry) => (entry.cache, &entry.access),
            Source::Template(entry) => (entry.cache, &entry.access),
        };
        let mut hint = options.or(default);
        if access.is_restricted() {
            hint.scope = CacheScope::Private;
        }
        hint
    }

    /// What keeps it within bounds.
    pub(crate) fn guards(&self) -> &Guards {
        match &self.source {
            Source::Resource(entry) => &entry.guards,
            Source::Template(entry) => &entry.guards,
        }
    }

    /// Whether its first polls are slow.
    pub(crate) fn pace(&self) -> &Arc<Pace> {
        match &self.source {
            Source::Resource(entry) => &entry.pace,
            Source::Template(entry) => &entry.pace,
        }
    }
}
