//! A callable under construction: the one place where options take effect, from attributes and builders alike.
//!
//! `declared` and `dynamic` add what only annotated functions and only definitions created at run time have.

use std::mem;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_schema::check::Validator;
use schemars::Schema;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::context::AwaitedValues;
use crate::handler::access::Access;
use crate::handler::item_option::{ItemOption, Made};
use crate::handler::option::{AdaptedTool, AttachedOption};
use crate::handler::{rules, tags};
use crate::rate::{Rate, RateLimiter};
use crate::registry::callable::{
    ArgumentCompleters, CallPermits, Callable, Handler, HandlerGuards, ItemDetails, cache_hint,
};
use crate::registry::declared::{ServerRules, meta_problems};
use crate::types::{
    Annotations, CacheScope, ClientFeature, Icon, Meta, Prompt, PromptArgument, Resource,
    ResourceTemplate, Tool, ToolAnnotations,
};

/// A callable under construction.
#[derive(Default)]
pub(super) struct CallableDraft {
    wire: WireFields,
    guards: HandlerGuards,
    access: Access,
    tags: Vec<Box<str>>,
    requires: Box<[ClientFeature]>,
    attached: Vec<AttachedOption>,
    ttl: Option<Duration>,
    cache: Option<CacheScope>,
    /// How the add-ons' options change the tool.
    pub(super) adapted: AdaptedTool,
    /// The input schema that replaces the derived one.
    pub(super) input_schema: Option<Schema>,
    pub(super) is_strict: bool,
    /// The completion candidates for each argument or variable.
    pub(super) candidates: Vec<(String, Vec<String>)>,
    pub(super) completions: ArgumentCompleters,
    /// Everything that is wrong with the definition.
    pub(super) problems: Vec<String>,
}

impl CallableDraft {
    /// Applies options in order.
    pub(super) fn new(options: impl IntoIterator<Item = ItemOption>, server: &ServerRules) -> Self {
        let mut draft = Self::default();
        for option in options {
            draft.apply(option, server);
        }
        let labels = &draft.tags;
        draft.access.require(server.scopes(labels));
        draft.guards.quotas = server.quotas(labels).collect();
        draft.adapted = AdaptedTool::new(draft.guards.max_output, &draft.attached);
        draft.problems.append(&mut draft.adapted.problems);
        draft.guards.fits_output = draft.adapted.fits_output;
        draft
    }

    /// Applies one option.
    fn apply(&mut self, option: ItemOption, server: &ServerRules) {
        let (wire, problems) = (&mut self.wire, &mut self.problems);
        match option {
            // Those that clients see.
            ItemOption::Title(title) => wire.title = Some(title.into()),
            ItemOption::Description(text) => {
                wire.description = (!text.is_empty()).then(|| text.into());
            }
            ItemOption::Icons(icons) => {
                let icons = icons.make();
                problems.extend(rules::icon_problems(&icons));
                wire.icons.extend(icons);
            }
            ItemOption::Meta(entries) => wire.add_meta(entries, server, problems),
            ItemOption::Hints(hints) => wire.hints = *hints,
            ItemOption::ReadOnly(hint) => wire.hints.read_only_hint = Some(hint),
            ItemOption::Destructive(hint) => wire.hints.destructive_hint = Some(hint),
            ItemOption::Idempotent(hint) => wire.hints.idempotent_hint = Some(hint),
            ItemOption::OpenWorld(hint) => wire.hints.open_world_hint = Some(hint),
            ItemOption::MimeType(mime_type) => wire.mime_type = Some(mime_type.into()),
            ItemOption::OutputMimeType(mime_type) => wire.mime_type = mime_type.map(Into::into),
            ItemOption::Size(bytes) => wire.size = Some(bytes),
            ItemOption::Annotations(annotations) => wire.annotations = *annotations,
            ItemOption::Audience(roles) => wire.annotations.audience = roles.to_vec(),
            ItemOption::Priority(priority) => wire.annotations.priority = Some(priority),
            ItemOption::LastModified(time) => wire.annotations.last_modified = Some(time.into()),
            // Those of calls.
            ItemOption::Timeout(timeout) => self.guards.timeout = Some(timeout),
            ItemOption::Rate(rate) => match Rate::parse(&rate) {
                Ok(rate) => self.guards.rate = Some(RateLimiter::new(rate)),
                Err(problem) => problems.push(problem),
            },
            ItemOption::Concurrency(calls) => {
                problems.extend(zero_problem("concurrency", calls));
                self.guards.permits = Some(CallPermits::new(calls));
            }
            ItemOption::MaxOutput(bytes) => {
                problems.extend(zero_problem("max_output", bytes));
                self.guards.max_output = Some(bytes);
            }
            ItemOption::Scopes(scopes) => {
                let verdicts = scopes.iter().map(|scope| rules::scope(scope).into_result());
                problems.extend(verdicts.filter_map(Result::err));
                self.access.require(&*scopes);
            }
            ItemOption::VisibleIf(visible_if) => self.access.show_if(visible_if),
            ItemOption::Tags(tags) => {
                problems.extend(tags.iter().filter_map(|tag| tags::problem(tag)));
                self.tags.extend(tags.iter().map(|tag| (**tag).into()));
            }
            ItemOption::Requires(features) => self.requires = features.into(),
            ItemOption::Attached(option) => {
                self.attached.retain(|other| !other.is((*option).type_id()));
                self.attached.push(option);
            }
            ItemOption::Ttl(ttl) => self.ttl = Some(ttl),
            ItemOption::Cache(scope) => self.cache = Some(scope),
            // Those of arguments.
            ItemOption::InputSchema(schema) => match schema() {
                Ok(schema) => {
                    let checked = Validator::new(schema.clone().to_value());
                    problems.extend(checked.err().map(|error| format!("input schema: {error}")));
                    self.input_schema = Some(schema);
                }
                Err(problem) => problems.push(problem),
            },
            ItemOption::Strict(is_strict) => self.is_strict = is_strict,
            ItemOption::Candidates(candidates) => self.candidates.push(*candidates),
            // These belong to the definition's place among others, see `Definition`.
            ItemOption::Uri(_) | ItemOption::List(_) | ItemOption::Completes(_) => {}
        }
    }

    /// Returns the callable.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with the definition.
    pub(super) fn finish(
        self,
        name: &str,
        details: Option<ItemDetails>,
        handler: Handler,
        awaited: AwaitedValues,
    ) -> Result<Callable, Vec<String>> {
        // Everything else has gone into the details and the handler.
        let Self {
            wire: _,
            guards,
            access,
            tags,
            requires,
            attached,
            ttl,
            cache,
            adapted: _,
            input_schema: _,
            is_strict: _,
            candidates: _,
            completions,
            problems,
        } = self;
        let (Some(details), true) = (details, problems.is_empty()) else {
            return Err(problems);
        };
        Ok(Callable {
            name: name.into(),
            details,
            handler,
            guards,
            options: attached.into(),
            around: OnceLock::new(),
            requires,
            tags: tags.into(),
            completions,
            cache: cache_hint(ttl, cache, &access),
            access,
            pace: Arc::default(),
            awaited,
        })
    }

    /// Returns a tool as it appears in lists.
    pub(super) fn tool(
        &mut self,
        name: &str,
        input_schema: Box<RawValue>,
        output_schema: Option<Box<RawValue>>,
    ) -> Tool {
        let wire = mem::take(&mut self.wire);
        let mut hints = wire.hints;
        if self.adapted.is_idempotent {
            // Repeating such a call has no further effect, unless the author says otherwise.
            hints.idempotent_hint = hints.idempotent_hint.or(Some(true));
        }
        let mut tool = Tool::new(name, input_schema);
        tool.title = wire.title;
        tool.description = wire.description;
        tool.icons = wire.icons;
        tool.execution = self.adapted.execution;
        tool.output_schema = output_schema;
        tool.annotations = (hints != ToolAnnotations::default()).then_some(hints);
        tool.meta = wire.meta;
        tool
    }

    /// Returns a prompt as it appears in lists.
    pub(super) fn prompt(&mut self, name: &str, arguments: Vec<PromptArgument>) -> Prompt {
        let wire = mem::take(&mut self.wire);
        let mut prompt = Prompt::default();
        name.clone_into(&mut prompt.name);
        prompt.title = wire.title;
        prompt.description = wire.description;
        prompt.arguments = arguments;
        prompt.icons = wire.icons;
        prompt.meta = wire.meta;
        prompt
    }

    /// Returns a resource as it appears in lists.
    pub(super) fn resource(&mut self, uri: &str, name: &str) -> Resource {
        let wire = mem::take(&mut self.wire);
        let mut resource = Resource::new(uri, name);
        resource.title = wire.title;
        resource.description = wire.description;
        resource.mime_type = wire.mime_type;
        resource.size = wire.size;
        resource.annotations = non_empty(wire.annotations);
        resource.icons = wire.icons;
        resource.meta = wire.meta;
        resource
    }

    /// Returns a resource template as it appears in lists.
    pub(super) fn template(&mut self, uri_template: &str, name: &str) -> ResourceTemplate {
        let wire = mem::take(&mut self.wire);
        let mut template = ResourceTemplate::default();
        uri_template.clone_into(&mut template.uri_template);
        name.clone_into(&mut template.name);
        template.title = wire.title;
        template.description = wire.description;
        template.mime_type = wire.mime_type;
        template.annotations = non_empty(wire.annotations);
        template.icons = wire.icons;
        template.meta = wire.meta;
        template
    }
}

/// The fields that clients see in lists and that options set.
#[derive(Default)]
struct WireFields {
    title: Option<String>,
    description: Option<String>,
    icons: Vec<Icon>,
    meta: Option<Meta>,
    hints: ToolAnnotations,
    mime_type: Option<String>,
    size: Option<u64>,
    annotations: Annotations,
}

impl WireFields {
    fn add_meta(&mut self, entries: Made<Value>, server: &ServerRules, problems: &mut Vec<String>) {
        match entries.make() {
            Value::Object(entries) => {
                problems.extend(meta_problems(&entries, &server.meta_keys));
                self.meta.get_or_insert_default().extend(entries);
            }
            other => problems.push(format!("meta must be an object, not `{other}`")),
        }
    }
}

fn non_empty(annotations: Annotations) -> Option<Annotations> {
    (!annotations.is_empty()).then_some(annotations)
}

/// Returns what is wrong with a limit of zero.
fn zero_problem(option: &str, limit: usize) -> Option<String> {
    (limit == 0).then(|| format!("`{option}` is zero; the minimum is one"))
}
