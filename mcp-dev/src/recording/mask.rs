//! Hides secrets in messages: values that a schema marks as secret, and the values of environment variables and headers
//! that contain secrets. A value that is known to be a secret is hidden wherever it occurs.
//!
//! The `schema` module reads the schemas, and the `secrets` module finds known secrets in strings.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::schema::{ValueMasker, hides_something};
use super::secrets::{KnownSecrets, MASK, in_environment};
use crate::session::Era;

/// Maximum number of open requests, of tasks, of tools and of forms to remember. Values that belong to any others are
/// hidden.
const MAX_KNOWN: usize = 10_000;
/// Maximum length of a request id that is remembered, in bytes.
const MAX_ID: usize = 1_000;
/// Maximum total size of the schemas and names that are remembered, in bytes.
const MAX_SCHEMAS: usize = 32 << 20;

/// The kind of a request, which is needed to interpret its response.
enum Request {
    ListTools,
    /// A request whose result is the tool's result, either immediately or later.
    Call(String),
    Form(Schema),
}

/// The relevant part of a schema.
#[derive(Clone)]
enum Schema {
    Open,
    Hides(Value),
    /// The schema is unknown, so all values are hidden.
    Unknown,
}

#[derive(Clone)]
struct Tool {
    arguments: Schema,
    result: Schema,
}

#[derive(Default)]
pub(super) struct RecordingMasker {
    /// Tools, keyed by era and name.
    tools: HashMap<(Era, String), Tool>,
    requests: HashMap<(Era, bool, String), Request>,
    /// The tools that tasks run, keyed by era and task id.
    tasks: HashMap<(Era, String), String>,
    /// Forms that a result asked the client to fill in, keyed by era and key.
    forms: HashMap<(Era, String), Schema>,
    /// Total size in bytes of the schemas and names in `tools`, `tasks` and `forms`.
    held: usize,
    secrets: KnownSecrets,
}

impl RecordingMasker {
    /// Creates a masker that knows the secrets in this process's environment, which the server inherits: see
    /// [`in_environment`].
    pub(super) fn of_environment() -> Self {
        let mut masker = Self::default();
        for (_, value) in in_environment(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        })) {
            masker.learn(&value);
        }
        masker
    }

    /// Hides a value from now on, wherever it occurs.
    pub(super) fn learn(&mut self, secret: &str) {
        self.secrets.learn(secret);
    }

    /// Returns a message without its secrets, and remembers the secrets that it contains.
    pub(super) fn mask(&mut self, era: Era, sent: bool, mut message: Value) -> Value {
        let id = message["id"].to_string();
        let method = message["method"].as_str().map(str::to_owned);
        if let Some(method) = method {
            if let Some(params) = message.get_mut("params") {
                self.request(era, sent, &id, &method, params);
            } else if method == "tools/list" {
                self.opened(era, sent, id, Request::ListTools);
            }
        } else {
            let request = self.requests.remove(&(era, !sent, id));
            if let Some(result) = message.get_mut("result") {
                self.result(era, request, result);
            }
        }
        self.plain(message)
    }

    fn opened(&mut self, era: Era, sent: bool, id: String, request: Request) {
        if self.requests.len() < MAX_KNOWN && id.len() <= MAX_ID {
            self.requests.insert((era, sent, id), request);
        }
    }

    fn request(&mut self, era: Era, sent: bool, id: &str, method: &str, params: &mut Value) {
        if sent && matches!(method, "initialize" | "server/discover") {
            // Each connection numbers its requests from the beginning.
            self.requests.retain(|(other, _, _), _| *other != era);
        }
        let request = match method {
            "tools/list" => Some(Request::ListTools),
            "tools/call" => {
                let name = params["name"].as_str().unwrap_or_default().to_owned();
                let tool = self.tool(era, &name);
                if let Some(arguments) = params.get_mut("arguments") {
                    self.hide(&tool.arguments, arguments);
                }
                Some(Request::Call(name))
            }
            "elicitation/create" => {
                let schema = self.schema(&params["requestedSchema"]);
                Some(Request::Form(schema))
            }
            _ => {
                let task = params["taskId"].as_str().map(str::to_owned);
                let tool = task.and_then(|task| self.tasks.get(&(era, task)));
                tool.map(|tool| Request::Call(tool.clone()))
            }
        };
        if let Some(answers) = params
            .get_mut("inputResponses")
            .and_then(Value::as_object_mut)
        {
            for (key, answer) in answers {
                let schema = self.forms.get(&(era, key.clone())).cloned();
                if let Some(content) = answer.get_mut("content") {
                    // Sampling results also have content, but no form.
                    let full = self.is_full(self.forms.len());
                    let other = if full { Schema::Unknown } else { Schema::Open };
                    self.hide(&schema.unwrap_or(other), content);
                }
            }
        }
        if let Some(request) = request {
            self.opened(era, sent, id.to_owned(), request);
        }
    }

    fn result(&mut self, era: Era, request: Option<Request>, result: &mut Value) {
        let questions = result.get("inputRequests").and_then(Value::as_object);
        for (key, question) in questions.into_iter().flatten() {
            let asked = &question["params"]["requestedSchema"];
            if asked.is_object() && !self.is_full(self.forms.len()) {
                let schema = self.schema(asked);
                self.held += schema.size() + key.len();
                if let Some(before) = self.forms.insert((era, key.clone()), schema) {
                    self.held -= before.size() + key.len();
                }
            }
        }
        match request {
            Some(Request::ListTools) => {
                for tool in result["tools"].as_array().into_iter().flatten() {
                    self.define(era, tool);
                }
            }
            Some(Request::Call(name)) => {
                let created = result["taskId"].as_str();
                let created = created.or_else(|| result["task"]["taskId"].as_str());
                if let Some(task) = created
                    && !self.is_full(self.tasks.len())
                {
                    self.held += task.len();
                    self.tasks.insert((era, task.to_owned()), name.clone());
                }
                let tool = self.tool(era, &name);
                // A task's result is nested in the response.
                for at in ["/structuredContent", "/result/structuredContent"] {
                    if let Some(structured) = result.pointer_mut(at) {
                        self.hide(&tool.result, structured);
                    }
                }
            }
            Some(Request::Form(schema)) => {
                if let Some(content) = result.get_mut("content") {
                    self.hide(&schema, content);
                }
            }
            // This is the answer to a form that is no longer known.
            None if result["action"].is_string() => {
                if let Some(content) = result.get_mut("content") {
                    self.hide(&Schema::Unknown, content);
                }
            }
            None => {}
        }
    }

    fn define(&mut self, era: Era, definition: &Value) {
        let Some(name) = definition["name"].as_str() else {
            return;
        };
        if self.is_full(self.tools.len()) {
            // An older definition may mark fewer values as secret.
            self.tools.remove(&(era, name.to_owned()));
            return;
        }
        let tool = Tool {
            arguments: self.schema(&definition["inputSchema"]),
            result: self.schema(&definition["outputSchema"]),
        };
        self.held += tool.size() + name.len();
        if let Some(before) = self.tools.insert((era, name.to_owned()), tool) {
            self.held -= before.size() + name.len();
        }
    }

    /// Finds a tool. If it was not listed in the given era, the other era's definition is used.
    fn tool(&self, era: Era, name: &str) -> Tool {
        let eras = [era, Era::Modern, Era::Legacy].into_iter();
        let mut known = eras.filter_map(|era| self.tools.get(&(era, name.to_owned())));
        known.next().cloned().unwrap_or(Tool {
            arguments: Schema::Unknown,
            result: Schema::Open,
        })
    }

    fn is_full(&self, known: usize) -> bool {
        known >= MAX_KNOWN || self.held > MAX_SCHEMAS
    }

    fn schema(&self, schema: &Value) -> Schema {
        if !hides_something(schema) {
            return Schema::Open;
        }
        if self.held + schema.to_string().len() > MAX_SCHEMAS {
            return Schema::Unknown;
        }
        Schema::Hides(schema.clone())
    }

    fn hide(&mut self, schema: &Schema, value: &mut Value) {
        let mut value_masker = ValueMasker::default();
        match schema {
            Schema::Open => {}
            Schema::Hides(schema) => value_masker.hide(schema, value),
            Schema::Unknown => value_masker.hide_all(value),
        }
        for secret in value_masker.hidden {
            self.learn(&secret);
        }
    }

    /// Returns a value without known secrets.
    fn plain(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.secrets.hide(text)),
            Value::Array(entries) => entries.into_iter().map(|entry| self.plain(entry)).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(name, member)| (self.secrets.hide(name), self.plain(member)))
                .collect(),
            Value::Number(number) if self.secrets.contains(&number.to_string()) => json!(MASK),
            other => other,
        }
    }
}

impl Schema {
    fn size(&self) -> usize {
        match self {
            Self::Hides(schema) => schema.to_string().len(),
            Self::Open | Self::Unknown => 1,
        }
    }
}

impl Tool {
    fn size(&self) -> usize {
        self.arguments.size() + self.result.size()
    }
}
