//! Prepares the parameters of a function at start-up, so that decoding a call does not require any further analysis.

use mcp_schema::check::Validator;
use mcp_schema::generate::{MakeSchema, Properties, Property, schema_to_publish};
use mcp_schema::query::{allows, candidates};
use schemars::Schema;
use serde_json::{Map, Value};

use super::types::SchemaBeyondType;
use super::{
    ArgumentInfo, ArgumentStyle, Decoder, MAX_PARAMETERS, WireParameter, pointer_to, serde_message,
};
use crate::handler::decode::{ArgumentSchema, HEADER, find_headers};
use crate::handler::parameter::{DefaultValue, ParameterMeta};
use crate::jsonrpc::ParseLimits;
use crate::limits::MessageLimits;

impl Decoder {
    /// Examines the parameters.
    ///
    /// # Errors
    ///
    /// Returns all mistakes made by the author: defaults that cannot be decoded, constraints that do not apply to a
    /// type, invalid patterns and schemas, headers for arguments that cannot be mirrored, and duplicate names.
    pub fn new(
        parameters: &'static [ParameterMeta],
        style: ArgumentStyle,
        raw_schema: Option<Schema>,
    ) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut properties = Properties::new(&sent_schemas(parameters));
        let mut root = ArgumentSchema::default();
        let mut wire: Vec<WireParameter> = Vec::new();
        let mut arguments = Vec::new();
        let mut flatten: Option<usize> = None;
        for (index, parameter) in parameters.iter().enumerate() {
            if parameter.ty.injected {
                continue;
            }
            if parameter.flatten {
                let schema = properties.flattened(parameter.ty.schema, parameter.doc);
                if let Some(first) = flatten.and_then(|first| parameters.get(first)) {
                    problems.push(format!(
                        "`{}` and `{}` both take the whole argument object; only one can",
                        first.name, parameter.name
                    ));
                }
                flatten = Some(index);
                root.flatten(schema, &mut problems);
                continue;
            }
            let schema = argument_schema(&mut properties, parameter, &mut problems);
            let name = parameter.name;
            if wire.iter().any(|other| other.name == name) {
                problems.push(format!("argument `{name}` is defined twice"));
                continue;
            }
            let nullable = (parameter.ty.accepts)("null");
            let required = !nullable && parameter.default.is_none();
            check_default(parameter, &mut problems);
            // The author's schema is enforced as a whole.
            let beyond_type = if raw_schema.is_some() || (parameter.ty.is_exact)() {
                SchemaBeyondType::new(&parameter.constraints.to_schema())
            } else {
                SchemaBeyondType::new(&schema)
            };
            root.property(name, schema.clone(), required);
            wire.push(WireParameter {
                name,
                index,
                nullable,
                accepts_text: false,
                beyond_type,
            });
            arguments.push(argument_info(parameter, schema, required));
        }
        check_count(wire.len(), &mut problems);
        let (mut schema, closed) = root.finish(style);
        properties.finish(&mut schema);
        let raw = raw_schema.is_some();
        if let Some(given) = raw_schema {
            schema = checked_root(given, &mut problems);
        }
        for (wire, argument) in wire.iter_mut().zip(&arguments) {
            wire.accepts_text = accepts_text(&argument.schema, &schema, &mut Vec::new());
        }
        let headers = find_headers(&schema, &mut problems);
        let validator = match Validator::new(schema) {
            Ok(validator) => validator,
            Err(problem) => {
                let culprit = culprit(parameters, &problem);
                problems.push(format!("the input schema{culprit} is not valid: {problem}"));
                return Err(problems);
            }
        };
        let mut published_schema = None;
        if !raw {
            check_published_defaults(&validator, &arguments, &mut problems);
            published_schema = schema_to_publish(validator.schema()).map(Box::new);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let flattened = match flatten {
            Some(_) => other_properties(validator.schema(), &wire),
            None => Vec::new(),
        };
        let flattened_beyond_type = match flatten {
            Some(_) if !raw => {
                SchemaBeyondType::new(&without_named_parameters(validator.schema(), &wire))
            }
            _ => None,
        };
        Ok(Self {
            parameters,
            wire,
            flatten,
            flattened,
            flattened_beyond_type,
            style,
            published: published_schema,
            validator,
            arguments,
            headers,
            raw,
            closed: closed && !raw && style != ArgumentStyle::Text,
            limits: MessageLimits::default().parse_limits(),
        })
    }

    /// Sets the limits for JSON that is accepted inside strings. Without this, the default limits of a message apply.
    pub(crate) fn with_limits(self, limits: ParseLimits) -> Self {
        Self { limits, ..self }
    }
}

/// Returns what makes the schemas of the parameters that clients send.
fn sent_schemas(parameters: &[ParameterMeta]) -> Vec<MakeSchema> {
    let sent = parameters.iter().filter(|parameter| !parameter.ty.injected);
    sent.map(|parameter| parameter.ty.schema).collect()
}

/// Returns the words for the argument, and its type, in whose schema there is a problem. The problem begins with a pointer.
fn culprit(parameters: &[ParameterMeta], problem: &str) -> String {
    let is_in = |parameter: &&ParameterMeta| {
        let pointer = format!("/properties{}", pointer_to(parameter.name));
        let rest = problem.strip_prefix(&pointer);
        rest.is_some_and(|rest| rest.starts_with(['/', ':']))
    };
    let mut sent = parameters.iter().filter(|parameter| !parameter.ty.injected);
    let found = sent.clone().find(is_in);
    match found.or_else(|| sent.find(|parameter| parameter.flatten)) {
        Some(parameter) => format!(
            " of the argument `{}` of type `{}`",
            parameter.name,
            (parameter.ty.name)()
        ),
        None => String::new(),
    }
}

fn check_count(arguments: usize, problems: &mut Vec<String>) {
    if arguments > MAX_PARAMETERS {
        problems.push(format!(
            "{arguments} arguments; a function can have at most {MAX_PARAMETERS}"
        ));
    }
}

/// Returns the schema that the author wrote, which must be an object schema.
fn checked_root(schema: Schema, problems: &mut Vec<String>) -> Value {
    let schema = schema.to_value();
    if schema.get("type").is_none_or(|kind| kind != "object") {
        problems.push("the input schema needs `\"type\": \"object\"` at its root".to_owned());
    }
    schema
}

/// Returns the schema of an argument, including all options of its parameter. Mistakes are added to `problems`.
fn argument_schema(
    properties: &mut Properties,
    parameter: &ParameterMeta,
    problems: &mut Vec<String>,
) -> Value {
    let default = match &parameter.default {
        Some(DefaultValue::Json(text)) => Some(
            serde_json::from_str(text).map_err(|error| format!("the default is not JSON: {error}")),
        ),
        Some(DefaultValue::Rust { json, .. }) => {
            Some(json().map_err(|error| format!("the default cannot be written as JSON: {error}")))
        }
        None => None,
    };
    let property = Property {
        name: parameter.name,
        description: parameter.doc,
        schema: parameter.ty.schema,
        constraints: parameter.constraints,
        default,
    };
    let mut schema = properties.property(property, problems);
    if let (Some(header), Some(object)) = (parameter.header, schema.as_object_mut()) {
        object.insert(HEADER.to_owned(), header.into());
    }
    schema
}

/// Returns the properties of an argument with this schema.
fn argument_info(parameter: &ParameterMeta, schema: Value, required: bool) -> ArgumentInfo {
    ArgumentInfo {
        name: parameter.name,
        required,
        description: schema
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned),
        candidates: match parameter.candidates {
            None => candidates(&schema),
            Some(listed) => listed.iter().map(ToString::to_string).collect(),
        },
        completer: parameter.completer.map(|completer| completer()),
        any_path: parameter.any_path,
        schema,
    }
}

/// Returns the schema without the named parameters.
fn without_named_parameters(schema: &Value, wire: &[WireParameter]) -> Value {
    let mut schema = schema.clone();
    let is_own = |name: &str| wire.iter().any(|wire| wire.name == name);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !is_own(name));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !name.as_str().is_some_and(is_own));
    }
    schema
}

/// Returns the properties of a schema that are not named parameters.
fn other_properties(schema: &Value, wire: &[WireParameter]) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(Map::keys).cloned();
    names
        .filter(|name| !wire.iter().any(|wire| wire.name == name))
        .collect()
}

/// Reports a default that is not a value of its type. Whether the schema, with its constraints, allows the default is
/// checked once the schema is complete.
fn check_default(parameter: &ParameterMeta, problems: &mut Vec<String>) {
    if let Some(DefaultValue::Json(text)) = &parameter.default
        && let Some(error) = (parameter.ty.refuses)(text)
    {
        problems.push(format!(
            "argument `{}`: the default `{text}` is not a value of its type: {}",
            parameter.name,
            serde_message(&error)
        ));
    }
}

/// Reports defaults that the type accepts but the schema does not allow, because a client that sent such a default
/// would be refused.
fn check_published_defaults(
    validator: &Validator,
    arguments: &[ArgumentInfo],
    problems: &mut Vec<String>,
) {
    for argument in arguments {
        let subject = format!("argument `{}`: ", argument.name);
        let Some(default) = argument.schema.get("default") else {
            continue;
        };
        if problems.iter().any(|problem| problem.starts_with(&subject)) {
            continue;
        }
        let faults = validator.check_property(argument.name, default);
        let faults: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
        if !faults.is_empty() {
            problems.push(format!(
                "{subject}the default `{default}` is not allowed by the argument's schema: {}",
                faults.join("; ")
            ));
        }
    }
}

/// Returns `true` if a value may be sent as a plain string. Follows references, each one once, because a schema may refer
/// to itself.
fn accepts_text<'s>(schema: &'s Value, root: &'s Value, followed: &mut Vec<&'s str>) -> bool {
    if let Some(target) = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| reference.strip_prefix('#'))
    {
        if followed.contains(&target) {
            return false;
        }
        followed.push(target);
        return root
            .pointer(target)
            .is_some_and(|target| accepts_text(target, root, followed));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get(keyword) {
            return branches
                .iter()
                .any(|branch| accepts_text(branch, root, followed));
        }
    }
    allows(schema, "string")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_that_cannot_be_enforced_is_traced_to_its_type() {
        #[derive(serde::Deserialize)]
        struct Wide;
        impl schemars::JsonSchema for Wide {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "Wide".into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> Schema {
                let member = |number: u32| (format!("m{number}"), json!({}));
                let members: Map<String, Value> = (0..30_000).map(member).collect();
                schemars::json_schema!({"type": "object", "properties": members})
            }
        }
        static WIDE: [ParameterMeta; 2] = [
            ParameterMeta::of::<u8, _>("wid", ""),
            ParameterMeta::of::<Wide, _>("wide", ""),
        ];
        static FLAT: [ParameterMeta; 1] = [ParameterMeta::of::<Wide, _>("all", "").flatten()];
        for (parameters, name) in [(&WIDE[..], "wide"), (&FLAT[..], "all")] {
            let style = ArgumentStyle::Tool { strict: false };
            let problem = Decoder::new(parameters, style, None)
                .unwrap_err()
                .join("\n");
            let argument = format!("the input schema of the argument `{name}` of type `");
            assert!(problem.starts_with(&argument), "{problem}");
            assert!(problem.contains("::Wide` is not valid: /"), "{problem}");
            assert!(
                problem.contains("too deeply nested or too large"),
                "{problem}"
            );
        }
    }

    #[test]
    fn a_recursive_type_is_searched_once() {
        let of = |variants: Value| {
            let root = json!({"$defs": {"Tree": {"anyOf": variants}}});
            accepts_text(&json!({"$ref": "#/$defs/Tree"}), &root, &mut Vec::new())
        };
        let itself = json!({"$ref": "#/$defs/Tree"});
        // Were each reference followed each time, this would need more steps than there is time.
        let mut variants = vec![itself; 64];
        variants.push(json!({"type": "integer"}));
        assert!(!of(json!(variants)));
        variants.push(json!({"type": "string"}));
        assert!(of(json!(variants)));
        assert!(!of(json!([{"$ref": "#/$defs/missing"}])));
    }
}
