//! Completes arguments of tools and prompts, written as `name=value`, with the values that schemas and completers
//! suggest.

use serde_json::{Map, Value, json};

use crate::context::Capability;
use crate::server::command_line::arguments::{parse_arguments, takes_file};
use crate::server::command_line::completions::candidates::{Candidate, Found};
use crate::server::command_line::outcome::CommandError;
use crate::server::command_line::session::CommandSession;

/// Returns a tool's arguments that have not been given yet, or the values of the argument at the cursor.
pub(super) fn of_tool(schema: &Value, given: &[String], typed: &str) -> Found {
    if typed.starts_with('@') {
        // The word names a file with all arguments.
        return None;
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let Some((name, text)) = typed.split_once('=') else {
        let about = |schema: &Value| {
            schema["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let arguments = properties.map(|(name, schema)| (name.clone(), about(schema)));
        return Some(open_arguments(arguments, given));
    };
    let property = resolved(schema, &schema["properties"][name]);
    if text.starts_with('@') && takes_file(property) {
        return None;
    }
    let mut texts = Vec::new();
    push_values(schema, property, &mut texts, 0);
    let values = texts.into_iter();
    Some(
        values
            .map(|(value, about)| Candidate::new(format!("{name}={value}"), about))
            .collect(),
    )
}

/// Returns a prompt's arguments that have not been given yet, or the server's suggestions for the argument at the
/// cursor.
pub(super) async fn of_prompt(
    session: &CommandSession,
    prompt: &str,
    given: &[String],
    typed: &str,
) -> Result<Found, CommandError> {
    let Some((name, text)) = typed.split_once('=') else {
        let found = session.find(Capability::Prompts, prompt).await?;
        let arguments = prompt_arguments(&found);
        let arguments = arguments.map(|(name, about)| (name.to_owned(), about.to_owned()));
        return Ok(Some(open_arguments(arguments, given)));
    };
    let reference = json!({"type": "ref/prompt", "name": prompt});
    let earlier = parse_arguments(given, &Value::Null)?;
    let suggested = suggested(session, reference, name, text, earlier).await?;
    let values = suggested.iter();
    Ok(Some(
        values
            .map(|value| Candidate::new(format!("{name}={value}"), ""))
            .collect(),
    ))
}

/// Returns the values suggested by one of the server's completers.
pub(super) async fn suggested(
    session: &CommandSession,
    reference: Value,
    argument: &str,
    partial: &str,
    earlier: Value,
) -> Result<Vec<String>, CommandError> {
    let result = session
        .client
        .complete(reference, argument, partial, earlier)
        .await?;
    let values = result["completion"]["values"]
        .as_array()
        .into_iter()
        .flatten();
    Ok(values
        .filter_map(|value| Some(value.as_str()?.to_owned()))
        .collect())
}

/// Returns the names and descriptions of a prompt's arguments.
pub(super) fn prompt_arguments(prompt: &Value) -> impl Iterator<Item = (&str, &str)> {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    arguments.filter_map(|argument| {
        let about = argument["description"].as_str().unwrap_or_default();
        Some((argument["name"].as_str()?, about))
    })
}

/// Returns the arguments that have not been given yet, each as `name=`.
fn open_arguments(
    arguments: impl Iterator<Item = (String, String)>,
    given: &[String],
) -> Vec<Candidate> {
    let is_given = |name: &str| {
        let mut given = given.iter().filter_map(|word| word.split_once('='));
        given.any(|(other, _)| other == name)
    };
    let open = arguments.filter(|(name, _)| !is_given(name));
    open.map(|(name, about)| Candidate::new(format!("{name}="), about))
        .collect()
}

/// Follows a reference to a definition in the same schema.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let pointer = schema["$ref"]
        .as_str()
        .and_then(|uri| uri.strip_prefix('#'));
    pointer
        .and_then(|pointer| root.pointer(pointer))
        .unwrap_or(schema)
}

/// Collects the values that a schema lists, with their descriptions. Circular references are followed only to a maximum
/// depth.
fn push_values(root: &Value, schema: &Value, texts: &mut Vec<(String, String)>, depth: usize) {
    const MAX_DEPTH: usize = 8;
    let schema = resolved(root, schema);
    let about = schema["description"].as_str().or(schema["title"].as_str());
    let mut push = |value: &Value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => return,
            other => other.to_string(),
        };
        if !texts.iter().any(|(other, _)| *other == text) {
            texts.push((text, about.unwrap_or_default().to_owned()));
        }
    };
    let no_members = Map::new();
    let members = schema.as_object().unwrap_or(&no_members);
    if let Some(value) = members.get("const") {
        push(value);
    }
    if members.get("type").is_some_and(|kind| *kind == "boolean") {
        push(&true.into());
        push(&false.into());
    }
    let all = |name: &str| {
        members
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    for value in all("enum").chain(all("examples")) {
        push(value);
    }
    if depth < MAX_DEPTH {
        for choice in all("anyOf").chain(all("oneOf")) {
            push_values(root, choice, texts, depth + 1);
        }
    }
}
