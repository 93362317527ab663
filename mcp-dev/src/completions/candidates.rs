//! Finds the candidates that can be inserted at the cursor.

use anyhow::Result;
use clap::{Arg, Command};
use mcp_check::{ServerReader as _, SurfaceList};
use mcp_schema::format::{BASE64, of_schema};
use mcp_schema::template::percent_encode;
use serde_json::{Map, Value, json};

use crate::describe::Description;
use crate::inspect::ServerClient;

/// A string that can be inserted at the cursor.
#[derive(Debug, PartialEq)]
pub(super) struct Candidate {
    /// The whole word.
    pub(super) value: String,
    pub(super) about: String,
}

impl Candidate {
    pub(super) fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            about: about.into(),
        }
    }
}

/// The candidates, or `None` if file names should be completed.
pub(super) type Found = Option<Vec<Candidate>>;

/// The server whose command line is completed.
pub(super) struct CompletedServer<'d> {
    pub(super) about: &'d Description,
    /// Connects to the server, for values that only its completers know.
    pub(super) program: &'d [String],
}

impl CompletedServer<'_> {
    async fn connect(&self) -> Result<ServerClient> {
        ServerClient::for_completion(self.program).await
    }

    fn find(&self, list: SurfaceList, key: &str) -> Option<&Value> {
        let mut items = self.about.items(list).iter();
        items.find(|item| item[list.item_key()] == key)
    }

    fn names(&self, list: SurfaceList) -> Vec<Candidate> {
        names(list, self.about.items(list))
    }
}

/// Returns the candidates that the commands alone determine, or `None` if the word is an argument whose values may come
/// from a server.
pub(super) fn known(line: &CommandLine<'_>, typed: &str) -> Option<Found> {
    if let Some(option) = line.awaiting {
        return Some(of_values(option, ""));
    }
    if let Some((option, _)) = typed
        .strip_prefix("--")
        .and_then(|typed| typed.split_once('='))
    {
        let found = line.option(option);
        return Some(found.map_or(Some(Vec::new()), |found| {
            of_values(found, &format!("--{option}="))
        }));
    }
    if typed.starts_with('-') {
        return Some(Some(options(line.command)));
    }
    if line.is_program {
        let commands = line.command.get_subcommands();
        let commands = commands.filter(|command| !command.is_hide_set());
        let commands = commands.map(|command| {
            let about = command.get_about().map(ToString::to_string);
            Candidate::new(command.get_name(), about.unwrap_or_default())
        });
        return Some(Some(commands.collect()));
    }
    let argument = line.command.get_positionals().nth(line.given.len());
    let argument = argument.filter(|one| !one.get_possible_values().is_empty())?;
    Some(of_values(argument, ""))
}

/// Returns the candidates for the word at the cursor.
///
/// # Errors
///
/// Fails if values are needed and the server cannot start.
pub(super) async fn candidates(
    server: &CompletedServer<'_>,
    line: &CommandLine<'_>,
    typed: &str,
) -> Result<Found> {
    if let Some(found) = known(line, typed) {
        return Ok(found);
    }
    let position = line.given.len();
    let first = line.given.first().map_or("", String::as_str);
    match (line.command.get_name(), position) {
        ("call", 0) => Ok(Some(server.names(SurfaceList::Tools))),
        ("prompt", 0) => Ok(Some(server.names(SurfaceList::Prompts))),
        ("read", 0) => uris(server, typed).await.map(Some),
        ("complete", 0) => {
            let mut found = server.names(SurfaceList::Prompts);
            found.extend(server.names(SurfaceList::Templates));
            Ok(Some(found))
        }
        ("call", _) => Ok(match server.find(SurfaceList::Tools, first) {
            Some(tool) => of_tool(&tool["inputSchema"], &line.given[1..], typed),
            None => Some(Vec::new()),
        }),
        ("prompt", _) => match server.find(SurfaceList::Prompts, first) {
            Some(prompt) => of_prompt(server, prompt, &line.given[1..], typed).await,
            None => Ok(Some(Vec::new())),
        },
        ("complete", 1) => {
            let prompt = server.find(SurfaceList::Prompts, first);
            let arguments = prompt.into_iter().flat_map(prompt_arguments);
            let arguments = arguments.map(|(name, about)| Candidate::new(name, about));
            Ok(Some(arguments.collect()))
        }
        ("read" | "complete", _) => Ok(Some(Vec::new())),
        _ => Ok(of_position(line)),
    }
}

/// Returns the values of the argument at the cursor that are known in advance.
pub(super) fn of_position(line: &CommandLine<'_>) -> Found {
    let argument = line.command.get_positionals().nth(line.given.len());
    argument.map_or(Some(Vec::new()), |argument| of_values(argument, ""))
}

fn names(list: SurfaceList, items: &[Value]) -> Vec<Candidate> {
    let names = items.iter().filter_map(|item| {
        let about = item["title"].as_str().or(item["description"].as_str());
        let about = about.or(item["name"].as_str()).unwrap_or_default();
        Some(Candidate::new(item[list.item_key()].as_str()?, about))
    });
    names.collect()
}

/// Returns the options of a command.
fn options(command: &Command) -> Vec<Candidate> {
    let options = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let options = options.filter_map(|option| {
        let about = option.get_help().map(ToString::to_string);
        let name = format!("--{}", option.get_long()?);
        Some(Candidate::new(name, about.unwrap_or_default()))
    });
    let help = Candidate::new("--help", "Print help");
    options.chain(std::iter::once(help)).collect()
}

/// Returns the values of an argument that are known in advance. `before` is the text that precedes them in the same
/// word.
fn of_values(argument: &Arg, before: &str) -> Found {
    let values = argument.get_possible_values();
    let names = argument.get_value_names().into_iter().flatten();
    if values.is_empty()
        && names
            .into_iter()
            .any(|name| name.contains("FILE") || name.contains("FOLDER"))
    {
        return None;
    }
    let values = values.iter();
    let values = values.map(|value| Candidate::new(format!("{before}{}", value.get_name()), ""));
    Some(values.collect())
}

// --- Completes arguments of tools and prompts, written as `name=value`, with the values that schemas and completers
// suggest.

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

/// Returns `true` if the value can be read from a file: bytes, or any string.
fn takes_file(schema: &Value) -> bool {
    if of_schema(schema).is_some_and(|format| format.name == BASE64) {
        return true;
    }
    let kind = &schema["type"];
    let mut kinds = kind.as_array().into_iter().flatten().chain([kind]);
    kinds.any(|kind| kind == "string") && schema.get("enum").is_none()
}

/// Returns a prompt's arguments that have not been given yet, or the server's suggestions for the argument at the
/// cursor.
async fn of_prompt(
    server: &CompletedServer<'_>,
    prompt: &Value,
    given: &[String],
    typed: &str,
) -> Result<Found> {
    let Some((name, text)) = typed.split_once('=') else {
        let arguments = prompt_arguments(prompt);
        let arguments = arguments.map(|(name, about)| (name.to_owned(), about.to_owned()));
        return Ok(Some(open_arguments(arguments, given)));
    };
    let reference = json!({"type": "ref/prompt", "name": prompt["name"]});
    let earlier = given.iter().filter_map(|word| word.split_once('='));
    let earlier = earlier.map(|(name, value)| (name.to_owned(), value.into()));
    let client = server.connect().await?;
    let suggested = suggested(&client, reference, name, text, earlier.collect()).await;
    let values = suggested.iter();
    Ok(Some(
        values
            .map(|value| Candidate::new(format!("{name}={value}"), ""))
            .collect(),
    ))
}

/// Returns the values suggested by one of the server's completers, or none if it has no completer.
async fn suggested(
    client: &ServerClient,
    reference: Value,
    argument: &str,
    partial: &str,
    earlier: Map<String, Value>,
) -> Vec<String> {
    let mut params = json!({"ref": reference, "argument": {"name": argument, "value": partial}});
    if !earlier.is_empty() {
        params["context"] = json!({"arguments": earlier});
    }
    let result = client.request("completion/complete", params).await;
    let result = result.unwrap_or_default();
    let values = result["completion"]["values"].as_array();
    let values = values.into_iter().flatten();
    values
        .filter_map(|value| Some(value.as_str()?.to_owned()))
        .collect()
}

/// Returns the names and descriptions of a prompt's arguments.
fn prompt_arguments(prompt: &Value) -> impl Iterator<Item = (&str, &str)> {
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

// --- Completes URIs that match a server's templates, one variable at a time.

/// Returns the URIs of resources, and those that continue `typed` by a template.
async fn uris(server: &CompletedServer<'_>, typed: &str) -> Result<Vec<Candidate>> {
    let client = server.connect().await?;
    // Functions may list other resources than the program describes.
    let resources = client.list(SurfaceList::Resources).await?;
    let mut found = names(SurfaceList::Resources, &resources);
    for template in server.about.items(SurfaceList::Templates) {
        let Some(text) = template["uriTemplate"].as_str() else {
            continue;
        };
        let about = template["description"].as_str().unwrap_or(text);
        match reached(text, typed) {
            None => {}
            Some(TypedPart::Literal(value)) => found.push(Candidate::new(value, about)),
            Some(TypedPart::Variable(place)) => {
                let reference = json!({"type": "ref/resource", "uri": text});
                let TypedVariable {
                    before,
                    name,
                    partial,
                    after,
                    earlier,
                } = place;
                let values = suggested(&client, reference, name, partial, earlier).await;
                let values = values.iter().map(|value| {
                    Candidate::new(format!("{before}{}{after}", percent_encode(value)), about)
                });
                found.extend(values);
            }
        }
    }
    Ok(found)
}

/// The part of a template at which a URI that is being typed ends.
#[derive(Debug, PartialEq)]
enum TypedPart<'t> {
    /// The text up to the next variable: the URI can be completed only this far.
    Literal(String),
    Variable(TypedVariable<'t>),
}

/// A variable whose value is being typed.
#[derive(Debug, PartialEq)]
struct TypedVariable<'t> {
    /// The URI before the value.
    before: &'t str,
    name: &'t str,
    partial: &'t str,
    /// The literal after the value.
    after: &'t str,
    /// The preceding variables and their values.
    earlier: Map<String, Value>,
}

/// Finds the part of a template at which the URI ends. Only plain variables, such as `{id}`, can be completed.
fn reached<'t>(template: &'t str, typed: &'t str) -> Option<TypedPart<'t>> {
    let mut earlier = Map::new();
    let (mut template, mut rest) = (template, typed);
    loop {
        let (literal, variables) = template.split_once('{').unwrap_or((template, ""));
        let before = &typed[..typed.len() - rest.len()];
        let Some(value) = rest.strip_prefix(literal) else {
            let is_begun = literal.starts_with(rest);
            return is_begun.then(|| TypedPart::Literal(format!("{before}{literal}")));
        };
        let before = &typed[..typed.len() - value.len()];
        let (name, behind) = variables.split_once('}')?;
        if name.contains(|c: char| !c.is_alphanumeric() && c != '_') {
            return value
                .is_empty()
                .then(|| TypedPart::Literal(before.to_owned()));
        }
        let after = behind.split('{').next().unwrap_or_default();
        match value.find(after).filter(|_| !after.is_empty()) {
            Some(end) => {
                let (value, more) = value.split_at(end);
                earlier.insert(name.to_owned(), value.into());
                (template, rest) = (behind, more);
            }
            None => {
                return Some(TypedPart::Variable(TypedVariable {
                    before,
                    name,
                    partial: value,
                    after,
                    earlier,
                }));
            }
        }
    }
}

// --- The command line that is being typed: splits a bash line into words and determines the command and arguments
// that they form.

/// The part of the current word before the cursor.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LastWord {
    pub(super) text: String,
    /// The number of bytes that the shell keeps; the rest is replaced.
    kept: usize,
    /// The quote that is open at the cursor.
    quote: Option<char>,
    is_in_bash: bool,
}

impl LastWord {
    /// Creates a word that the shell replaces as a whole.
    pub(super) fn whole(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the part of a candidate that bash should insert at the cursor, with the required quotes and escapes.
    pub(super) fn rest_of(&self, candidate: &str) -> Option<String> {
        let rest = candidate.get(self.kept..)?;
        let is_plain = |c: char| c.is_alphanumeric() || "_./:=@%+,-".contains(c);
        let mut text = String::new();
        for character in rest.chars() {
            let escapes = match self.quote {
                // Characters cannot be escaped within single quotes.
                Some('\'') if character == '\'' => return None,
                Some('\'') => false,
                Some(_) => "\"\\$`".contains(character),
                None => self.is_in_bash && !is_plain(character),
            };
            if escapes {
                text.push('\\');
            }
            text.push(character);
        }
        if self.quote.is_none() && !text.ends_with(['=', '/', ':']) {
            text.push(' ');
        }
        Some(text)
    }
}

/// Splits a bash line into the words after the program and the word at its end. `breaks` are the characters at which
/// bash begins a new word for completion.
pub(super) fn parse(line: &str, breaks: &str) -> (Vec<String>, LastWord) {
    let mut words = Vec::new();
    let mut word: Option<LastWord> = None;
    let mut characters = line.trim_start().chars();
    while let Some(character) = characters.next() {
        let quote = word.as_ref().and_then(|word| word.quote);
        if quote.is_none() && character.is_whitespace() {
            words.extend(word.take().map(|word| word.text));
            continue;
        }
        let word = word.get_or_insert_default();
        match (character, quote) {
            (close, Some(open)) if close == open => word.quote = None,
            ('\\', None | Some('"')) => word.text.extend(characters.next()),
            ('"' | '\'', None) => {
                word.quote = Some(character);
                word.kept = word.text.len();
            }
            (other, _) => {
                word.text.push(other);
                // A word that begins with `@` could be a host name, so bash does not split the word.
                if quote.is_none() && other != '@' && breaks.contains(other) {
                    word.kept = word.text.len();
                }
            }
        }
    }
    let mut last = word.unwrap_or_default();
    last.is_in_bash = true;
    if !words.is_empty() {
        // The first word is the program.
        words.remove(0);
    }
    (words, last)
}

/// The words before the cursor, parsed as a command line.
pub(super) struct CommandLine<'c> {
    /// The command, or the program if there is none yet.
    pub(super) command: &'c Command,
    pub(super) is_program: bool,
    /// Positional arguments.
    pub(super) given: Vec<String>,
    /// The option whose value is at the cursor.
    pub(super) awaiting: Option<&'c Arg>,
}

impl<'c> CommandLine<'c> {
    pub(super) fn read(program: &'c Command, words: &[String]) -> Self {
        let mut line = Self {
            command: program,
            is_program: true,
            given: Vec::new(),
            awaiting: None,
        };
        for word in words {
            if line.awaiting.take().is_some() {
                continue;
            }
            if let Some(named) = word.strip_prefix('-').filter(|named| !named.is_empty()) {
                if !named.contains('=') {
                    let option = line.option(named.trim_start_matches('-'));
                    line.awaiting = option.filter(|option| option.get_action().takes_values());
                }
                continue;
            }
            match program.find_subcommand(word) {
                Some(command) if line.is_program => {
                    line.command = command;
                    line.is_program = false;
                }
                _ => line.given.push(word.clone()),
            }
        }
        line
    }

    /// Finds an option by its name without hyphens.
    pub(super) fn option(&self, name: &str) -> Option<&'c Arg> {
        let mut letters = name.chars();
        let letter = letters.next().filter(|_| letters.next().is_none());
        self.command.get_arguments().find(|option| {
            option
                .get_long_and_visible_aliases()
                .is_some_and(|names| names.contains(&name))
                || letter.is_some_and(|letter| option.get_short() == Some(letter))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_ends_in_a_literal_or_in_a_variable() {
        let variable = |template: &str, typed: &str| match reached(template, typed) {
            Some(TypedPart::Variable(place)) => format!(
                "{}|{}|{}|{}|{}",
                place.before,
                place.name,
                place.partial,
                place.after,
                Value::Object(place.earlier)
            ),
            Some(TypedPart::Literal(text)) => text,
            None => "-".to_owned(),
        };
        for (template, typed, expected) in [
            ("memo:///{id}", "", "memo:///"),
            ("memo:///{id}", "mem", "memo:///"),
            ("memo:///{id}", "note", "-"),
            ("memo:///{id}", "memo:///", "memo:///|id|||{}"),
            ("memo:///{id}", "memo:///4", "memo:///|id|4||{}"),
            ("a://{x}/b/{y}", "a://1", "a://|x|1|/b/|{}"),
            ("a://{x}/b/{y}", "a://1/b/é", "a://1/b/|y|é||{\"x\":\"1\"}"),
            ("a://{x}/b", "a://1/b", "-"),
            ("a://{x}/b", "a://1/bc", "-"),
            ("a:{+path}", "a:", "a:"),
            ("a:{+path}", "a:b", "-"),
            ("a:{", "a:b", "-"),
            ("{x}", "é", "|x|é||{}"),
        ] {
            assert_eq!(variable(template, typed), expected, "{template} {typed}");
        }
    }
}
