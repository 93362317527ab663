//! The entries of the registry, by kind: the definition as shown in lists, its handler, and the options for running it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_schema::explain::{Fault, missing};
use mcp_schema::template::UriTemplate;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::handler::access::Access;
use crate::handler::call::CallRefusal;
use crate::handler::decode::strings;
use crate::handler::definition::ClientFeature;
use crate::handler::listing::Lister;
use crate::protocol::encode::CacheHint;
use crate::protocol::shape::Shape;
use crate::registry::complete::Completions;
use crate::registry::guards::Guards;
use crate::registry::handler::{Handler, HandlerProgress};
use crate::registry::outputs::Outputs;
use crate::types::{CacheScope, Prompt, Resource, ResourceTemplate, Tool};

/// A tool.
#[derive(Debug)]
pub(crate) struct ToolEntry {
    pub(crate) tool: Tool,
    pub(crate) outputs: Outputs,
    pub(crate) handler: Handler,
    pub(crate) guards: Guards,
    pub(crate) requires: Box<[ClientFeature]>,
    pub(crate) pace: Arc<Pace>,
    pub(crate) access: Access,
}

/// A prompt.
#[derive(Debug)]
pub(crate) struct PromptEntry {
    pub(crate) prompt: Prompt,
    pub(crate) handler: Handler,
    pub(crate) guards: Guards,
    pub(crate) pace: Arc<Pace>,
    pub(crate) access: Access,
    pub(crate) completions: Completions,
}

/// A resource with a fixed URI.
#[derive(Debug)]
pub(crate) struct ResourceEntry {
    pub(crate) resource: Resource,
    pub(crate) handler: Handler,
    pub(crate) guards: Guards,
    pub(crate) pace: Arc<Pace>,
    pub(crate) access: Access,
    pub(crate) cache: CacheOptions,
}

/// A resource template.
#[derive(Debug)]
pub(crate) struct TemplateEntry {
    pub(crate) template: ResourceTemplate,
    pub(crate) pattern: UriTemplate,
    pub(crate) handler: Handler,
    pub(crate) guards: Guards,
    pub(crate) pace: Arc<Pace>,
    pub(crate) access: Access,
    pub(crate) cache: CacheOptions,
    pub(crate) lister: Option<Arc<dyn Lister>>,
    pub(crate) completions: Completions,
}

impl PromptEntry {
    /// Starts the prompt with `arguments`, a JSON object of strings as sent by the client.
    ///
    /// # Errors
    ///
    /// If a required argument is missing, or a value is not a string or not valid for its type.
    pub(crate) fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        if let Some(decoder) = self.handler.decoder() {
            let arguments = decoder
                .from_strings(arguments)
                .map_err(CallRefusal::Arguments)?;
            return self.handler.start(&arguments, context);
        }
        let given = strings(arguments).map_err(CallRefusal::Arguments)?;
        let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
        let required = self.prompt.arguments.iter();
        let text = json!({"type": "string"});
        let faults: Vec<Fault> = required
            .filter(|argument| argument.required == Some(true) && !is_given(&argument.name))
            .map(|argument| Fault::new("", missing("argument", &argument.name, Some(&text))))
            .collect();
        if !faults.is_empty() {
            return Err(CallRefusal::Arguments(faults));
        }
        let given: Map<String, Value> = given
            .into_iter()
            .map(|(name, text)| (name.into_owned(), text.into_owned().into()))
            .collect();
        let arguments = Value::Object(given).to_string();
        self.handler.start(&arguments, context)
    }
}

/// The cache hints for contents, as far as the definition specifies them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheOptions {
    pub(crate) ttl: Option<Duration>,
    pub(crate) scope: Option<CacheScope>,
}

impl CacheOptions {
    /// Returns the effective cache hints, with the server's as default.
    pub(crate) fn or(self, default: CacheHint) -> CacheHint {
        CacheHint {
            ttl: self.ttl.unwrap_or(default.ttl),
            scope: self.scope.unwrap_or(default.scope),
        }
    }
}

/// Remembers whether a handler blocks its thread for long before it first waits.
///
/// Such a handler must not be polled by the task that serves a connection, because that would delay further messages.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicU32);

impl Pace {
    /// A handler whose first poll takes longer is slow.
    const SLOW: Duration = Duration::from_micros(200);
    /// Number of calls that are spawned first after a slow one; then the handler is polled in place again.
    const CALLS: u32 = 32;

    /// Returns `true` if the next call should be spawned before its first poll. Counts the call.
    pub(crate) fn spawn_first(&self) -> bool {
        // The usual case takes one load.
        self.0.load(Ordering::Relaxed) != 0
            && self
                .0
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
                    calls.checked_sub(1)
                })
                .is_ok()
    }

    /// Records the duration of a first poll.
    pub(crate) fn observed(&self, first_poll: Duration) {
        if first_poll > Self::SLOW {
            self.0.store(Self::CALLS, Ordering::Relaxed);
        }
    }
}

/// An entry of a list.
pub(crate) trait ListEntry: Send + Sync + 'static {
    /// The representation in lists.
    type Wire: Shape + Serialize + Clone;
    /// The name of the list in its result.
    const MEMBER: &'static str;
    /// The noun for an entry's key in messages.
    const NOUN: &'static str;
    /// Returns the representation in lists.
    fn wire(&self) -> &Self::Wire;
    /// Returns the key under which the entry is found.
    fn found_by(&self) -> &str;
    /// Returns the access rules.
    fn access(&self) -> &Access;
}

macro_rules! entry {
    ($entry:ident, $field:ident: $wire:ident, $name:ident, $member:literal, $noun:literal) => {
        impl ListEntry for $entry {
            type Wire = $wire;
            const MEMBER: &'static str = $member;
            const NOUN: &'static str = $noun;

            fn wire(&self) -> &$wire {
                &self.$field
            }

            fn found_by(&self) -> &str {
                &self.$field.$name
            }

            fn access(&self) -> &Access {
                &self.access
            }
        }
    };
}

entry!(ToolEntry, tool: Tool, name, "tools", "tool name");
entry!(PromptEntry, prompt: Prompt, name, "prompts", "prompt name");
entry!(ResourceEntry, resource: Resource, uri, "resources", "resource URI");
entry!(TemplateEntry, template: ResourceTemplate, uri_template, "resourceTemplates", "resource template");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_slow_first_poll_32_calls_are_spawned_first() {
        let pace = Pace::default();
        assert!(!pace.spawn_first());
        pace.observed(Duration::from_micros(200));
        assert!(!pace.spawn_first());
        pace.observed(Duration::from_micros(201));
        for _ in 0..32 {
            assert!(pace.spawn_first());
        }
        assert!(!pace.spawn_first());
    }

    #[test]
    fn a_definition_overrides_the_cache_hint_of_the_server() {
        let server = CacheHint {
            ttl: Duration::from_secs(1),
            scope: CacheScope::Public,
        };
        assert_eq!(CacheOptions::default().or(server), server);
        let own = CacheOptions {
            ttl: Some(Duration::from_secs(9)),
            scope: Some(CacheScope::Private),
        };
        assert_eq!(own.or(server).ttl, Duration::from_secs(9));
        assert_eq!(own.or(server).scope, CacheScope::Private);
    }
}
