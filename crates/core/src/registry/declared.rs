//! Converts annotated functions into callables.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use mcp_schema::generate::output_schema;
use mcp_schema::model_rules::{Severity, breaches};
use mcp_schema::query::allows;
use mcp_schema::template::{ExplodedList, UriTemplate};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::context::{AwaitedValues, Capability, LazyState};
use crate::handler::decode::{ArgumentInfo, ArgumentStyle, Decoder};
use crate::handler::definition::{Definition, Kind, SelectedFunction};
use crate::handler::rules;
use crate::handler::tags::TagSelection;
use crate::limits::MessageLimits;
use crate::protocol::is_reserved_meta_key;
use crate::rate::SharedQuota;
use crate::registry::callable::{
    ArgumentCompleters, Callable, Completer, FINDINGS, Handler, ItemDetails, OutputChecker,
    TemplateLister,
};
use crate::registry::draft::CallableDraft;
use crate::spawn;
use crate::types::{Meta, PromptArgument};

/// Additional data that the server supplies for a definition.
pub(super) struct ServerAdditions {
    /// The value on which a method is called. `None` for functions.
    pub(super) receiver: Option<Arc<dyn Any + Send + Sync>>,
    pub(super) rules: Arc<ServerRules>,
    /// The states that the definition's parameters need but that are created later.
    pub(super) states: Vec<Arc<LazyState>>,
    /// The states that the template's lister needs but that are created later.
    pub(super) lister_states: Vec<Arc<LazyState>>,
}

/// A function that finds the completer named by a parameter.
type FindCompleter<'a> = &'a mut dyn FnMut(&ArgumentInfo) -> Result<Completer, String>;

/// Converts a definition of any kind.
///
/// # Errors
///
/// Returns all problems with the definition.
pub(super) fn declared_callable(
    definition: &Definition,
    given: ServerAdditions,
    find: FindCompleter<'_>,
) -> Result<Callable, Vec<String>> {
    let mut draft = CallableDraft::new(definition.options.iter().cloned(), &given.rules);
    let key = given.rules.lookup_key(definition);
    let problems = &mut draft.problems;
    if definition.kind == Kind::Tool {
        problems.extend(given.rules.check_not_reserved(&key).err());
        if let Cow::Owned(prefixed) = &key {
            problems.extend(rules::tool_name(prefixed).into_result().err());
        }
    }
    if definition.kind == Kind::Resource {
        problems.extend(rules::uri(definition.uri()).into_result().err());
    }
    let pattern = (definition.kind == Kind::ResourceTemplate)
        .then(|| UriTemplate::parse(definition.uri()).map_err(|error| problems.push(error)));
    let style = match definition.kind {
        Kind::Tool => ArgumentStyle::Tool {
            strict: draft.is_strict,
        },
        _ => ArgumentStyle::Text,
    };
    let raw_schema = draft.input_schema.take();
    let is_generated = raw_schema.is_none();
    let decoder = match Decoder::new(definition.parameters, style, raw_schema) {
        Ok(decoder) => decoder.with_limits(given.rules.message_limits.parse_limits()),
        Err(found) => {
            draft.problems.extend(found);
            return Err(draft.problems);
        }
    };
    if definition.kind.has_completions() {
        draft.completions = argument_completers(&decoder, find, &mut draft.problems);
    }
    let details = match (definition.kind, pattern) {
        (Kind::Tool, _) => {
            if is_generated {
                warn_of_rejected_schemas(definition, &decoder);
            }
            tool_details(definition, &key, &decoder, &mut draft)
        }
        (Kind::Prompt, _) => {
            let prompt = draft.prompt(&key, prompt_arguments(&decoder));
            Some(ItemDetails::Prompt(prompt))
        }
        (Kind::Resource, _) => {
            refuse_arguments(&decoder, &mut draft.problems);
            Some(ItemDetails::Resource(draft.resource(&key, definition.name)))
        }
        (Kind::ResourceTemplate, Some(Ok(pattern))) => Some(ItemDetails::Template {
            pattern: fit_template(pattern, &decoder, &mut draft.problems),
            template: draft.template(&key, definition.name),
            lister: definition.list().map(|list| {
                let awaited = AwaitedValues::new(given.lister_states, std::iter::empty());
                TemplateLister::new(list(), awaited)
            }),
        }),
        (Kind::ResourceTemplate, _) => None,
        (Kind::Completer, _) => Some(ItemDetails::Completer),
        (Kind::ExtensionMethod, _) => Some(ItemDetails::Method),
    };
    let handler = Handler::Function {
        run: definition.run,
        decoder,
        receiver: given.receiver,
    };
    let prepared = definition.parameters.iter().filter_map(|it| it.ty.prepare);
    let awaited = AwaitedValues::new(given.states, prepared);
    draft.finish(&key, details, handler, awaited)
}

/// Warns about arguments whose generated schemas are rejected by model APIs.
fn warn_of_rejected_schemas(definition: &Definition, decoder: &Decoder) {
    for breach in breaches(None, decoder.schema(), &[Severity::Refused]) {
        tracing::warn!(
            target: FINDINGS,
            tool = definition.name,
            at = %definition.location,
            "{} ({})",
            breach.text,
            breach.rule.text
        );
    }
}

fn tool_details(
    definition: &Definition,
    name: &str,
    decoder: &Decoder,
    draft: &mut CallableDraft,
) -> Option<ItemDetails> {
    let input_schema = to_raw_json(decoder.schema(), &mut draft.problems);
    let described = definition
        .output_schema
        .filter(|_| draft.adapted.no_output_schema.is_none());
    let output_schema = described.and_then(output_schema);
    let output_schema = output_schema.and_then(|schema| to_raw_json(&schema, &mut draft.problems));
    let tool = draft.tool(name, input_schema?, output_schema);
    let outputs =
        OutputChecker::for_derived_schema(tool.output_schema.as_deref(), definition.conforms);
    Some(ItemDetails::Tool { tool, outputs })
}

/// Returns the arguments of a prompt as they appear in lists.
fn prompt_arguments(decoder: &Decoder) -> Vec<PromptArgument> {
    let arguments = decoder.arguments().iter().map(|declared| {
        let mut argument = PromptArgument::default();
        declared.name.clone_into(&mut argument.name);
        argument.description.clone_from(&declared.description);
        argument.required = Some(declared.required);
        argument
    });
    arguments.collect()
}

/// Reports arguments of a resource, because resources cannot have arguments.
fn refuse_arguments(decoder: &Decoder, problems: &mut Vec<String>) {
    for argument in decoder.arguments() {
        problems.push(format!(
            "parameter `{}` can never have a value: a URI without variables has no arguments; use \
             `#[resource_template]`, or take an injected value",
            argument.name
        ));
    }
}

/// Adapts the variables of a pattern to the parameters that receive them.
fn fit_template(
    mut pattern: UriTemplate,
    decoder: &Decoder,
    problems: &mut Vec<String>,
) -> UriTemplate {
    for argument in decoder.arguments() {
        problems.extend(fit_variable(&mut pattern, argument).err());
        if argument.any_path {
            pattern.take_any_path(argument.name);
        }
    }
    pattern
}

/// If the parameter is a list, makes its variable produce a list. Returns an error if a URI cannot represent the
/// parameter's type.
fn fit_variable(pattern: &mut UriTemplate, argument: &ArgumentInfo) -> Result<(), String> {
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
            "parameter `{name}` takes a list, but the variable `{{{name}}}` holds only one value; write `{{{name}*}}`"
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

/// Determines the completer for each argument: the completer that it names, a completer derived from its type, or none.
fn argument_completers(
    decoder: &Decoder,
    find: FindCompleter<'_>,
    problems: &mut Vec<String>,
) -> ArgumentCompleters {
    let mut completions = ArgumentCompleters::default();
    for argument in decoder.arguments() {
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

/// Returns a schema as JSON text.
pub(super) fn to_raw_json(schema: &Value, problems: &mut Vec<String>) -> Option<Box<RawValue>> {
    to_raw_value(schema)
        .map_err(|error| problems.push(format!("schema: {error}")))
        .ok()
}

// --- Validates the `_meta` keys that a program sets.
//
// Specification: 2026-07-28, basic, "_meta".

/// Returns all problems with the keys. The reserved keys in `permitted` may be used, because they are defined by
/// extensions.
pub(super) fn meta_problems(meta: &Meta, permitted: &[String]) -> impl Iterator<Item = String> {
    let keys = meta.keys().filter(|key| !permitted.contains(key));
    keys.filter_map(|key| entry_problem(key))
}

fn entry_problem(key: &str) -> Option<String> {
    meta_key_problem(key).or_else(|| {
        is_reserved_meta_key(key).then(|| {
            format!(
                "meta key `{key}` is reserved for the protocol; use another prefix, such as `com.example/`"
            )
        })
    })
}

/// Returns the reason why a key violates the grammar, or `None` if the key is valid.
#[must_use]
pub fn meta_key_problem(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !prefix.split('.').all(is_prefix_label)) {
        return Some(format!(
            "meta key `{key}`: the part before `/` must be labels separated by dots, such as `com.example`"
        ));
    }
    (!is_key_name(name)).then(|| {
        format!("meta key `{key}`: a name consists of letters and digits, with `-`, `_` and `.` only between them")
    })
}

/// Returns `true` if the label starts with a letter, ends with a letter or digit, and contains only letters, digits and
/// `-` in between.
fn is_prefix_label(label: &str) -> bool {
    label.starts_with(|first: char| first.is_ascii_alphabetic())
        && label.ends_with(|last: char| last.is_ascii_alphanumeric())
        && label
            .chars()
            .all(|inner| inner.is_ascii_alphanumeric() || inner == '-')
}

/// Returns `true` if the name is empty, or if it begins and ends with an alphanumeric character.
fn is_key_name(name: &str) -> bool {
    let alphanumeric = |end: char| end.is_ascii_alphanumeric();
    name.is_empty()
        || (name.starts_with(alphanumeric)
            && name.ends_with(alphanumeric)
            && name
                .chars()
                .all(|inner| inner.is_ascii_alphanumeric() || "-_.".contains(inner)))
}

// --- Rules that a server sets for all of its definitions, including those that are inserted while it runs.

type ReservesFn = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The names that a source of tools reserves.
#[derive(Clone)]
pub struct NameReservation {
    /// The name of the source.
    pub(crate) source: Arc<str>,
    /// Returns the reason why nothing else can have a name.
    pub(crate) reserves: Arc<ReservesFn>,
}

impl fmt::Debug for NameReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NameReservation")
            .field(&self.source)
            .finish()
    }
}

/// The rules that a server sets for all of its definitions.
#[derive(Clone, Debug, Default)]
pub struct ServerRules {
    /// Reserved `_meta` keys defined by the server's extensions.
    pub meta_keys: Vec<String>,
    /// The scopes that a tag requires, which apply to all definitions with that tag.
    pub tag_scopes: Vec<(String, Vec<String>)>,
    /// The rates that all definitions with the quota's name as a label share.
    pub quotas: Vec<Arc<SharedQuota>>,
    /// The names that sources of tools reserve.
    pub reservations: Vec<NameReservation>,
    /// The selection of definitions to serve, or `None` to serve all of them.
    pub selection: Option<TagSelection>,
    /// The limits on messages, which also apply to JSON inside strings.
    pub message_limits: MessageLimits,
    /// Tags that are valid even while no definition has them.
    pub described_tags: Vec<String>,
    /// Prefixes of names, each with the functions whose names have it.
    pub prefixes: Vec<(String, Vec<SelectedFunction>)>,
}

impl ServerRules {
    /// Returns the key by which requests look up a definition on this server: the URI of a resource or template in its
    /// normal form, and the name of any other definition, with its prefix.
    pub(super) fn lookup_key(&self, definition: &Definition) -> Cow<'static, str> {
        let key = definition.lookup_key();
        let mut prefixes = self.prefixes.iter();
        let prefix = prefixes.find(|(_, functions)| {
            let mut functions = functions.iter();
            functions.any(|selected| selected.function == definition.function)
        });
        match prefix {
            Some((prefix, _)) if definition.kind.has_name_for_clients() => {
                format!("{prefix}{key}").into()
            }
            _ => match Capability::of_kind(definition.kind) {
                Some(list) => list.lookup_key(key),
                None => key.into(),
            },
        }
    }

    /// Returns an error if a source of tools reserves the name.
    pub(super) fn check_not_reserved(&self, name: &str) -> Result<(), String> {
        self.check_not_reserved_by_others(None, name)
    }

    /// Returns an error if a source of tools other than `own` reserves the name.
    pub(crate) fn check_not_reserved_by_others(
        &self,
        own: Option<&str>,
        name: &str,
    ) -> Result<(), String> {
        let others = self.reservations.iter();
        let mut others = others.filter(|other| own != Some(&*other.source));
        others.try_for_each(|other| match spawn::catch(|| (other.reserves)(name)) {
            Ok(None) => Ok(()),
            Ok(Some(reason)) => Err(reason),
            Err(panic) => {
                let source = &other.source;
                Err(format!(
                    "the tool source `{source}` panicked when it was asked whether it reserves the name: {panic}"
                ))
            }
        })
    }

    /// Returns the quotas of a definition with these labels.
    pub(super) fn quotas(&self, labels: &[Box<str>]) -> impl Iterator<Item = Arc<SharedQuota>> {
        let quotas = self.quotas.iter().cloned();
        quotas.filter(|quota| labels.iter().any(|label| **label == *quota.name))
    }

    /// Returns the scopes that these tags require.
    pub(super) fn scopes<'r>(&'r self, tags: &'r [Box<str>]) -> impl Iterator<Item = &'r String> {
        let required = self.tag_scopes.iter();
        let required = required.filter(|(tag, _)| tags.iter().any(|known| **known == **tag));
        required.flat_map(|(_, scopes)| scopes)
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::declared::entry_problem;

    // Covers: META-07, META-09
    #[test]
    fn custom_meta_keys_are_accepted_and_reserved_ones_refused() {
        for (key, fine) in [
            ("ui", true),
            ("", true),
            ("com.example/flag", true),
            ("com.example/", true),
            ("example.com/a.b-c_d", true),
            ("io.modelcontextprotocol/x", false),
            ("dev.mcp/x", false),
            ("tools.mcp.com/x", false),
            ("mcp.dev/x", false),
            ("com.mcp-tools/x", true),
            ("com.example.mcp/x", true),
            ("1com/x", false),
            ("com-/x", false),
            ("/x", false),
            ("a b", false),
            ("-a", false),
            ("a/b/c", false),
        ] {
            assert_eq!(
                entry_problem(key).is_none(),
                fine,
                "{key}: {:?}",
                entry_problem(key)
            );
        }
    }
}
