//! Conversion of annotated functions into entries.

use std::any::Any;
use std::sync::Arc;

use mcp_schema::check::Validator;
use mcp_schema::generate::output_schema;
use mcp_schema::query::{allows, hard_for_models};
use mcp_schema::template::{ExplodedList, UriTemplate};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::handler::access::Access;
use crate::handler::decode::{ArgumentInfo, ArgumentStyle, Decoder};
use crate::handler::definition::{Definition, Kind};
use crate::handler::rules;
use crate::registry::complete::{Completer, CompleterEntry, Completions};
use crate::registry::entry::{CacheOptions, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use crate::registry::guards::Guards;
use crate::registry::handler::Handler;
use crate::registry::meta;
use crate::registry::outputs::Outputs;
use crate::types::{
    Annotations, Icon, Meta, Prompt, PromptArgument, Resource, ResourceTemplate, Tool,
    ToolAnnotations,
};

/// The additional data for a definition from its server.
pub(super) struct Given {
    /// The value that a method is called on, for methods.
    pub(super) receiver: Held,
    /// Additional required scopes.
    pub(super) scopes: Vec<String>,
}

/// The value that a method is called on, for methods.
type Held = Option<Arc<dyn Any + Send + Sync>>;

/// An entry, or all problems of the definition.
type DeclaredEntry<E> = Result<E, Vec<String>>;

/// Finds the completer that a parameter names.
pub(super) type Find<'a> = &'a mut dyn FnMut(&ArgumentInfo) -> Result<Completer, String>;

pub(super) fn tool(definition: &Definition, given: Given) -> DeclaredEntry<ToolEntry> {
    let options = definition.options;
    let mut problems = Vec::new();
    let meta = meta(definition, &mut problems);
    let guards = Guards::new(&options.guards, &mut problems);
    let raw_schema = options
        .input_schema
        .and_then(|schema| schema().map_err(|error| problems.push(error)).ok());
    if let Some(schema) = &raw_schema
        && let Err(error) = Validator::new(schema.clone().to_value())
    {
        problems.push(format!("input schema: {error}"));
    }
    let generated = raw_schema.is_none();
    let style = ArgumentStyle::Tool {
        strict: options.strict,
    };
    let decoder = decoder(definition, style, raw_schema, &mut problems);
    let hard = decoder.as_ref().filter(|_| generated);
    for (place, what) in hard
        .map(|decoder| hard_for_models(decoder.schema()))
        .into_iter()
        .flatten()
    {
        tracing::warn!(
            tool = definition.name,
            at = %definition.location,
            argument = place,
            "several model APIs reject the schema of {what}; use a struct or a tagged enum"
        );
    }
    let input_schema = decoder
        .as_ref()
        .and_then(|decoder| raw(decoder.schema(), &mut problems));
    let output_schema = definition
        .output_schema
        .and_then(output_schema)
        .and_then(|schema| raw(&schema, &mut problems));
    let (Some(decoder), Some(input_schema), true) = (decoder, input_schema, problems.is_empty())
    else {
        return Err(problems);
    };
    let mut annotations = ToolAnnotations::default();
    annotations.read_only_hint = options.read_only;
    annotations.destructive_hint = options.destructive;
    annotations.idempotent_hint = options.idempotent;
    annotations.open_world_hint = options.open_world;
    let mut tool = Tool::new(definition.name, input_schema);
    tool.title = options.title.map(str::to_owned);
    tool.description = text(definition.description);
    tool.icons = icons(definition);
    tool.output_schema = output_schema;
    tool.annotations = (annotations != ToolAnnotations::default()).then_some(annotations);
    tool.meta = meta;
    Ok(ToolEntry {
        outputs: Outputs::derived(tool.output_schema.as_deref()),
        tool,
        handler: handler(definition, decoder, given.receiver),
        guards,
        requires: options.requires.into(),
        pace: Arc::default(),
        access: access(definition, &given.scopes),
    })
}

pub(super) fn prompt(
    definition: &Definition,
    given: Given,
    find: Find<'_>,
) -> DeclaredEntry<PromptEntry> {
    let options = definition.options;
    let mut problems = Vec::new();
    let meta = meta(definition, &mut problems);
    let guards = Guards::new(&options.guards, &mut problems);
    let decoder = decoder(definition, ArgumentStyle::Text, None, &mut problems);
    let completions = completions(decoder.as_ref(), find, &mut problems);
    let (Some(decoder), true) = (decoder, problems.is_empty()) else {
        return Err(problems);
    };
    let arguments = decoder.arguments().iter().map(|declared| {
        let mut argument = PromptArgument::default();
        declared.name.clone_into(&mut argument.name);
        argument.description.clone_from(&declared.description);
        argument.required = Some(declared.required);
        argument
    });
    let mut prompt = Prompt::default();
    definition.name.clone_into(&mut prompt.name);
    prompt.title = options.title.map(str::to_owned);
    prompt.description = text(definition.description);
    prompt.arguments = arguments.collect();
    prompt.icons = icons(definition);
    prompt.meta = meta;
    Ok(PromptEntry {
        prompt,
        handler: handler(definition, decoder, given.receiver),
        guards,
        pace: Arc::default(),
        access: access(definition, &given.scopes),
        completions,
    })
}

pub(super) fn resource(definition: &Definition, given: Given) -> DeclaredEntry<ResourceEntry> {
    let options = definition.options;
    let mut problems = Vec::new();
    let meta = meta(definition, &mut problems);
    let guards = Guards::new(&options.guards, &mut problems);
    problems.extend(rules::uri(options.uri).into_result().err());
    let decoder = decoder(definition, ArgumentStyle::Text, None, &mut problems);
    for argument in decoder.as_ref().map(Decoder::arguments).unwrap_or_default() {
        problems.push(format!(
            "parameter `{}` can never have a value: a URI without variables has no arguments; use \
             `#[resource_template]`, or take an injected value",
            argument.name
        ));
    }
    let (Some(decoder), true) = (decoder, problems.is_empty()) else {
        return Err(problems);
    };
    let mut resource = Resource::new(options.uri, definition.name);
    resource.title = options.title.map(str::to_owned);
    resource.description = text(definition.description);
    resource.mime_type = options.mime_type.map(str::to_owned);
    resource.size = options.size;
    resource.annotations = annotations(definition);
    resource.icons = icons(definition);
    resource.meta = meta;
    Ok(ResourceEntry {
        resource,
        handler: handler(definition, decoder, given.receiver),
        guards,
        pace: Arc::default(),
        access: access(definition, &given.scopes),
        cache: cache(definition),
    })
}

pub(super) fn template(
    definition: &Definition,
    given: Given,
    find: Find<'_>,
) -> DeclaredEntry<TemplateEntry> {
    let options = definition.options;
    let mut problems = Vec::new();
    let meta = meta(definition, &mut problems);
    let guards = Guards::new(&options.guards, &mut problems);
    let pattern = UriTemplate::parse(options.uri).map_err(|error| problems.push(error));
    let decoder = decoder(definition, ArgumentStyle::Text, None, &mut problems);
    let completions = completions(decoder.as_ref(), find, &mut problems);
    let pattern = pattern.map(|mut pattern| {
        for argument in decoder.as_ref().map(Decoder::arguments).unwrap_or_default() {
            problems.extend(fit(&mut pattern, argument).err());
            if argument.any_path {
                pattern.take_any_path(argument.name);
            }
        }
        pattern
    });
    let (Ok(pattern), Some(decoder), true) = (pattern, decoder, problems.is_empty()) else {
        return Err(problems);
    };
    let mut template = ResourceTemplate::default();
    options.uri.clone_into(&mut template.uri_template);
    definition.name.clone_into(&mut template.name);
    template.title = options.title.map(str::to_owned);
    template.description = text(definition.description);
    template.mime_type = options.mime_type.map(str::to_owned);
    template.annotations = annotations(definition);
    template.icons = icons(definition);
    template.meta = meta;
    Ok(TemplateEntry {
        template,
        pattern,
        handler: handler(definition, decoder, given.receiver),
        guards,
        pace: Arc::default(),
        access: access(definition, &given.scopes),
        cache: cache(definition),
        lister: options.list.map(|list| Arc::from(list())),
        completions,
    })
}

/// Makes the variable of a list parameter yield a list. Returns an error for a type that a URI cannot represent.
fn fit(pattern: &mut UriTemplate, argument: &ArgumentInfo) -> Result<(), String> {
    let ArgumentInfo { name, schema, .. } = argument;
    let takes = |kind| allows(schema, kind);
    if ["string", "integer", "number", "boolean"]
        .into_iter()
        .any(takes)
    {
        return Ok(());
    }
    if !takes("array") {
        return Err(format!(
            "parameter `{name}` takes an object, which a URI cannot represent; take a string, a number or a list, or use several variables"
        ));
    }
    if !pattern.explodes(name) {
        return Err(format!(
            "parameter `{name}` takes a list, but the variable `{{{name}}}` has only one value; write `{{{name}*}}`"
        ));
    }
    let of_text = schema
        .get("items")
        .is_none_or(|items| allows(items, "string"));
    pattern.keep_apart(
        name,
        ExplodedList {
            of_text,
            required: argument.required,
        },
    );
    Ok(())
}

pub(super) fn completer(definition: &Definition, receiver: Held) -> DeclaredEntry<CompleterEntry> {
    let mut problems = Vec::new();
    let guards = Guards::new(&definition.options.guards, &mut problems);
    let decoder = decoder(definition, ArgumentStyle::Text, None, &mut problems);
    let (Some(decoder), true) = (decoder, problems.is_empty()) else {
        return Err(problems);
    };
    Ok(CompleterEntry {
        handler: handler(definition, decoder, receiver),
        guards,
    })
}

/// Returns the kind of the definition and its name or URI.
pub(super) fn describe(definition: &Definition) -> String {
    match definition.kind {
        Kind::Tool => format!("tool `{}`", definition.name),
        Kind::Prompt => format!("prompt `{}`", definition.name),
        Kind::Resource => format!("resource `{}`", definition.options.uri),
        Kind::ResourceTemplate => format!("resource template `{}`", definition.options.uri),
        Kind::Completer => format!("completer `{}`", definition.name),
    }
}

fn decoder(
    definition: &Definition,
    style: ArgumentStyle,
    raw_schema: Option<schemars::Schema>,
    problems: &mut Vec<String>,
) -> Option<Decoder> {
    Decoder::new(definition.parameters, style, raw_schema)
        .map_err(|found| problems.extend(found))
        .ok()
}

fn handler(definition: &Definition, decoder: Decoder, receiver: Held) -> Handler {
    Handler::Function {
        run: definition.run,
        decoder,
        receiver,
    }
}

/// Determines the completion of each argument: by a named completer, by its type, or none.
fn completions(
    decoder: Option<&Decoder>,
    find: Find<'_>,
    problems: &mut Vec<String>,
) -> Completions {
    let mut completions = Completions::default();
    for argument in decoder.map(Decoder::arguments).unwrap_or_default() {
        let completer = if argument.completer.is_some() {
            find(argument).unwrap_or_else(|problem| {
                problems.push(problem);
                Completer::Nothing
            })
        } else if argument.candidates.is_empty() {
            Completer::Nothing
        } else {
            Completer::Fixed(Arc::from(argument.candidates.as_slice()))
        };
        completions.push(argument.name, completer);
    }
    completions
}

fn meta(definition: &Definition, problems: &mut Vec<String>) -> Option<Meta> {
    let meta = match definition.options.meta?() {
        Value::Object(meta) => meta,
        other => {
            problems.push(format!("meta must be an object, not `{other}`"));
            return None;
        }
    };
    problems.extend(meta::problems(Some(&meta)));
    Some(meta)
}

fn annotations(definition: &Definition) -> Option<Annotations> {
    let options = definition.options;
    let mut annotations = Annotations::default();
    annotations.audience = options.audience.to_vec();
    annotations.priority = options.priority;
    annotations.last_modified = options.last_modified.map(str::to_owned);
    (!annotations.is_empty()).then_some(annotations)
}

fn icons(definition: &Definition) -> Vec<Icon> {
    definition
        .options
        .icons
        .map(|icons| icons())
        .unwrap_or_default()
}

fn cache(definition: &Definition) -> CacheOptions {
    CacheOptions {
        ttl: definition.options.ttl,
        scope: definition.options.cache,
    }
}

fn access(definition: &Definition, scopes: &[String]) -> Access {
    let options = definition.options;
    let mut access = Access::declared(options.scopes, options.visible_if);
    access.require(scopes);
    access
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn raw(schema: &Value, problems: &mut Vec<String>) -> Option<Box<RawValue>> {
    to_raw_value(schema)
        .map_err(|error| problems.push(format!("schema: {error}")))
        .ok()
}
