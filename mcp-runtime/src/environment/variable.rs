//! A declared variable: its name and the properties that its schema specifies.

use std::fmt;

use mcp_schema::explain;
use serde_json::{Value, json};

/// A variable that a server declares.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredVariable {
    /// The name in the environment, such as `NOTES_MAX_ROWS`.
    pub(crate) name: String,
    /// The name of the field, such as `max_rows`.
    pub(crate) field: String,
    pub(crate) schema: Value,
    pub(crate) is_required: bool,
    pub(crate) is_secret: bool,
    /// The value in the form in which it may be logged, if the variable is set to a valid value.
    shown: Option<String>,
}

impl DeclaredVariable {
    pub(super) fn new(prefix: &str, field: &str, schema: &Value, is_required: bool) -> Self {
        Self {
            name: format!("{prefix}{}", field.to_uppercase().replace('-', "_")),
            field: field.to_owned(),
            is_secret: is_secret(schema),
            schema: schema.clone(),
            is_required,
            shown: None,
        }
    }

    /// Declares a variable that supplies the value of a header. The variable is secret, because a header may contain
    /// credentials.
    pub(crate) fn for_header(name: &str, description: &str) -> Self {
        let mut variable = Self {
            name: name.to_owned(),
            field: name.to_owned(),
            is_secret: true,
            schema: json!({"type": "string", "description": description}),
            is_required: false,
            shown: None,
        };
        if let Ok(text) = std::env::var(name) {
            variable.record_value(&text);
        }
        variable
    }

    /// Marks the variable as needed only for HTTP.
    #[cfg(feature = "http")]
    pub(crate) fn only_for_http(mut self) -> Self {
        let description = self.schema["description"].as_str().unwrap_or_default();
        let need = if self.is_required {
            "required over HTTP"
        } else {
            "used over HTTP"
        };
        self.schema["description"] = match description {
            "" => need.into(),
            description => format!("{description}; {need}").into(),
        };
        self.is_required = false;
        self
    }

    /// Records that the variable is set to this valid value.
    pub(super) fn record_value(&mut self, text: &str) {
        let shown = if self.is_secret { "***" } else { text };
        self.shown = Some(shown.to_owned());
    }

    /// Logs the value.
    pub(crate) fn log_value(&self) {
        let variable = &*self.name;
        if let Some(value) = &self.shown {
            tracing::info!(variable, value, "an environment variable is set");
        } else {
            tracing::info!(variable, "an environment variable is not set");
        }
    }

    /// Returns the first paragraph of the description, if there is one.
    pub(crate) fn description(&self) -> Option<String> {
        let description = self.schema["description"].as_str()?;
        // A blank line precedes the list of an enum's documented values.
        let lines: Vec<_> = description
            .lines()
            .take_while(|line| !line.is_empty())
            .collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    }

    /// Returns the default, unless the variable is secret.
    #[cfg(feature = "ship")]
    pub(crate) fn default(&self) -> Option<&Value> {
        let default = self.schema.get("default");
        default.filter(|default| !self.is_secret && !default.is_null())
    }

    /// Returns the JSON type of the value, or an empty string if it can have several types.
    #[cfg(feature = "ship")]
    pub(crate) fn kind(&self) -> &str {
        let kind = &self.schema["type"];
        // `Option` adds `null`.
        let first = kind
            .as_array()
            .and_then(|kinds| kinds.iter().find(|kind| *kind != "null"));
        first.unwrap_or(kind).as_str().unwrap_or_default()
    }

    /// Describes the expected values.
    pub(super) fn expected_value_text(&self) -> String {
        match self.schema.get("enum").and_then(Value::as_array) {
            Some(allowed) => {
                let plain = |value: &Value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                };
                allowed.iter().map(plain).collect::<Vec<_>>().join("|")
            }
            None => explain::kind(&self.schema),
        }
    }
}

/// A line of help: the description, followed by the type, the default and any marks in brackets.
impl fmt::Display for DeclaredVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An enum's documented values are listed in the brackets.
        let description = self.description().unwrap_or_default();
        f.write_str(&description)?;
        let gap = if description.is_empty() { "" } else { " " };
        write!(f, "{gap}({}", self.expected_value_text())?;
        match self.schema.get("default") {
            _ if self.is_required => f.write_str(", required")?,
            Some(_) if self.is_secret => {}
            Some(Value::String(text)) => write!(f, ", default {text}")?,
            Some(default) => write!(f, ", default {default}")?,
            None => {}
        }
        f.write_str(if self.is_secret { ", secret)" } else { ")" })
    }
}

/// Returns `true` if the schema, or a schema inside it, describes a [`Secret`](super::Secret).
fn is_secret(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("writeOnly") == Some(&Value::Bool(true)) || members.values().any(is_secret)
        }
        Value::Array(items) => items.iter().any(is_secret),
        _ => false,
    }
}
