//! What clients and the APIs of models refuse, and what makes a server hard to use. Each rule names its source.

use std::fmt;

use serde_json::Value;

use crate::client::Listed;
use crate::client::surface::Surface;
use crate::server::command_line::check::schema;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Severity {
    /// Some client or the API of some model refuses it, and often all tools with it.
    Refused,
    /// It works, and could be better.
    Advice,
}

impl Severity {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Advice => "advice",
        }
    }
}

/// Something found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    /// What it is about: `` tool `add` ``.
    pub(super) at: String,
    pub(super) text: String,
    /// Who says so; empty if it is common sense.
    pub(super) source: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity.as_str(), self.at, self.text)?;
        if !self.source.is_empty() {
            write!(f, " ({})", self.source)?;
        }
        Ok(())
    }
}

/// The Messages API of Anthropic, `tools[].name`; the function names of OpenAI's Chat Completions API are the same.
const NAMES: &str = "Anthropic and OpenAI, names of tools: ^[a-zA-Z0-9_-]{1,64}$";
/// OpenAI, Chat Completions API, `tools[].function.description`.
const LONG: &str = "OpenAI, descriptions of functions: at most 1024 characters";
/// Visual Studio Code, "Use tools in chat": a request can have at most 128 tools.
const MANY: &str = "VS Code, at most 128 tools in a request";
/// Most tokens of tools that are still no burden: a twentieth of a context of 200,000.
const MOST_TOKENS: usize = 10_000;
const MOST_TOOLS: usize = 128;
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1_024;

/// All findings, in the order of the surface.
pub(super) fn lint(surface: &Surface) -> Vec<Finding> {
    let mut found = Findings::default();
    for tool in surface.items(Listed::Tools) {
        lint_tool(tool, &mut found);
    }
    for prompt in surface.items(Listed::Prompts) {
        lint_prompt(prompt, &mut found);
    }
    for (list, word) in [
        (Listed::Resources, "resource"),
        (Listed::Templates, "template"),
    ] {
        for item in surface.items(list) {
            found.about(word, item[list.key()].as_str());
            found.described(item);
        }
    }
    let (tools, tokens) = (surface.items(Listed::Tools).len(), tokens(surface));
    found.at = "the tools".to_owned();
    if tools > MOST_TOOLS {
        found.refused(format!("there are {tools}"), MANY);
    }
    if tokens > MOST_TOKENS {
        found.advice(format!(
            "they take about {tokens} tokens of every conversation; shorten descriptions, or split the server"
        ));
    }
    found.all
}

/// How much of a model's context the tools take: four bytes of JSON are about one token.
pub(super) fn tokens(surface: &Surface) -> usize {
    let tools = surface.items(Listed::Tools).iter();
    let bytes: usize = tools
        .map(|tool| {
            let read = ["name", "description", "inputSchema"];
            let sizes = read.map(|member| tool[member].to_string().len());
            sizes.iter().sum::<usize>()
        })
        .sum();
    bytes.div_ceil(4)
}

fn lint_tool(tool: &Value, found: &mut Findings) {
    let name = tool["name"].as_str().unwrap_or_default();
    found.about("tool", Some(name));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.chars().all(is_plain) || name.len() > LONGEST_NAME {
        found.refused("the name is not one everybody takes", NAMES);
    }
    found.described(tool);
    let description = tool["description"].as_str().unwrap_or_default();
    if description.chars().count() > LONGEST_DESCRIPTION {
        found.refused("the description is long", LONG);
    }
    let schema = &tool["inputSchema"];
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if property["description"].as_str().is_none_or(str::is_empty) {
            found.advice(format!("argument `{name}` has no description"));
        }
    }
    schema::lint(schema, found);
}

fn lint_prompt(prompt: &Value, found: &mut Findings) {
    found.about("prompt", prompt["name"].as_str());
    found.described(prompt);
    for argument in prompt["arguments"].as_array().into_iter().flatten() {
        if argument["description"].as_str().is_none_or(str::is_empty) {
            let name = argument["name"].as_str().unwrap_or_default();
            found.advice(format!("argument `{name}` has no description"));
        }
    }
}

/// What was found so far, and what is looked at.
#[derive(Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    at: String,
}

impl Findings {
    fn about(&mut self, word: &str, name: Option<&str>) {
        self.at = format!("{word} `{}`", name.unwrap_or_default());
    }

    fn described(&mut self, item: &Value) {
        if item["description"].as_str().is_none_or(str::is_empty) {
            self.advice("has no description; write a doc comment");
        }
    }

    pub(super) fn refused(&mut self, text: impl Into<String>, source: &'static str) {
        self.push(Severity::Refused, text.into(), source);
    }

    fn advice(&mut self, text: impl Into<String>) {
        self.push(Severity::Advice, text.into(), "");
    }

    fn push(&mut self, severity: Severity, text: String, source: &'static str) {
        let at = self.at.clone();
        self.all.push(Finding {
            severity,
            at,
            text,
            source,
        });
    }
}
