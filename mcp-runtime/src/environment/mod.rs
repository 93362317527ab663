//! Reads a server's settings from environment variables. A struct declares the variables, and all mistakes are reported
//! together.
//!
//! As with arguments, the struct's schema declares the names, types, defaults and descriptions, and the same validator
//! explains mistakes. `server/environment.rs` adds the struct to the server's state, and the command line lists the
//! variables in its help.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fmt::Write as _;

use mcp_schema::check::Validator;
use mcp_schema::explain;
use mcp_schema::explain::Fault;
use mcp_schema::generate::{MakeSchema, Properties};
use mcp_schema::suggest::closest;
use mcp_schema::text::read_text;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value, json};

/// A value that must not be exposed, such as a password or an API key.
///
/// Its `Debug` output is `Secret(***)`, it does not implement `Display` or serialization, and errors never repeat it.
/// In a struct for [`Server::env`](crate::Server::env), it marks the variable as secret, so that the help and the log
/// show that the variable is set but not its value. The memory is not wiped, because the process's environment contains
/// another copy.
///
/// ```
/// use mcp_runtime::env::Secret;
///
/// let key = Secret::new("s3cr3t".to_owned());
/// assert_eq!(format!("{key:?}"), "Secret(***)");
/// assert_eq!(key.expose_secret(), "s3cr3t");
/// ```
#[derive(Clone, Default)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Creates a secret from its value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value. The caller is then responsible for keeping it out of logs and messages.
    #[must_use]
    pub const fn expose_secret(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The error is discarded because it may contain the value.
        let read = T::deserialize(deserializer).map(Self);
        read.map_err(|_| de::Error::custom("the value, which is secret, is not valid"))
    }
}

impl<T: JsonSchema> JsonSchema for Secret<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.insert("writeOnly".to_owned(), true.into());
        schema
    }
}

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
    fn record_value(&mut self, text: &str) {
        let shown = if self.is_secret { "***" } else { text };
        self.shown = Some(shown.to_owned());
    }

    /// Logs the value.
    fn log_value(&self) {
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
    fn expected_value_text(&self) -> String {
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

/// Returns `true` if the schema, or a schema inside it, describes a [`Secret`](Secret).
fn is_secret(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("writeOnly") == Some(&Value::Bool(true)) || members.values().any(is_secret)
        }
        Value::Array(items) => items.iter().any(is_secret),
        _ => false,
    }
}

/// The variables that a server declares, and the mistakes found in the variables that are set.
#[derive(Default)]
pub(crate) struct ServerEnvironment {
    pub(crate) variables: Vec<DeclaredVariable>,
    /// Variables that are set and whose names resemble a declared name, each paired with that declared name.
    pub(crate) misspelled: Vec<(String, String)>,
    pub(crate) faults: Vec<String>,
}

impl ServerEnvironment {
    /// Logs the values of all variables, except for secrets, and warns of names that are probably misspelled.
    pub(crate) fn log_values(&self) {
        for variable in &self.variables {
            variable.log_value();
        }
        // The variable may be declared by another struct.
        let declared = |name: &str| self.variables.iter().any(|variable| variable.name == name);
        let misspelled = self.misspelled.iter().filter(|(name, _)| !declared(name));
        for (variable, meant) in misspelled {
            tracing::warn!(
                variable,
                meant,
                "an environment variable is ignored; is its name misspelled?"
            );
        }
    }

    /// Returns a help section that lists the variables, or an empty string if there are none.
    #[cfg(feature = "cli")]
    pub(crate) fn help(&self) -> String {
        let width = self.variables.iter().map(|variable| variable.name.len());
        let width = width.max().unwrap_or_default();
        let lines = self
            .variables
            .iter()
            .map(|variable| format!("\n  {:width$}  {variable}", variable.name));
        let lines: String = lines.collect();
        if lines.is_empty() {
            lines
        } else {
            format!("Environment:{lines}")
        }
    }
}

/// The outcome of reading the variables of `T`.
pub(crate) struct EnvironmentReading<T> {
    /// Every variable, in the order of the fields.
    pub(crate) variables: Vec<DeclaredVariable>,
    /// Variables that are set and whose names resemble a declared name, each paired with that declared name.
    pub(crate) misspelled: Vec<(String, String)>,
    /// The value, or one line for each mistake.
    pub(crate) value: Result<T, Vec<String>>,
}

/// Reads a struct from variables whose names begin with `prefix`. `variables` contains the process's environment.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(
    prefix: &str,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> EnvironmentReading<T> {
    let schema = generate_schema::<T>();
    let mut declared = declared_variables(&schema, prefix);
    let validator = match Validator::new(schema) {
        Ok(validator) if !declared.is_empty() => validator,
        Ok(_) => return not_a_struct::<T>("it has no fields"),
        Err(problem) => return not_a_struct::<T>(&problem),
    };
    let present: Vec<(String, OsString)> = variables
        .into_iter()
        // A name that is not valid Unicode cannot be declared.
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(_, value)| !counts_as_unset(value))
        .collect();
    let mut faults = Vec::new();
    let mut members = Map::new();
    for variable in &mut declared {
        match read_variable_value(variable, &present, prefix, &validator) {
            Ok(Some(value)) => {
                members.insert(variable.field.clone(), value);
            }
            Ok(None) => {}
            Err(found) => faults.extend(found),
        }
    }
    let misspelled = misspelled_names(&declared, &present, prefix);
    let value = if faults.is_empty() {
        deserialize_environment(members, &declared).map_err(|fault| vec![fault])
    } else {
        Err(faults)
    };
    EnvironmentReading {
        variables: declared,
        misspelled,
        value,
    }
}

/// Returns `true` for values that count as absent: empty values, because many shells and configuration formats cannot
/// remove a variable, and placeholders, which hosts leave in the environment of an MCP bundle for settings that the
/// user has left empty.
///
/// Source: repository modelcontextprotocol/mcpb, `MANIFEST.md`, "Variable Substitution in User Configuration".
pub(crate) fn counts_as_unset(value: &OsStr) -> bool {
    let is_placeholder = |text: &str| text.starts_with("${user_config.") && text.ends_with('}');
    value.is_empty() || value.to_str().is_some_and(is_placeholder)
}

fn generate_schema<T: JsonSchema>() -> Value {
    let make: MakeSchema = |generator| Some(T::json_schema(generator));
    let mut properties = Properties::new(&[make]);
    let mut schema = properties.flattened(make, "");
    properties.finish(&mut schema);
    schema
}

/// Returns the variables that the properties of a schema declare.
fn declared_variables(schema: &Value, prefix: &str) -> Vec<DeclaredVariable> {
    let required = schema["required"].as_array();
    let is_required =
        |field: &str| required.is_some_and(|names| names.iter().any(|name| name == field));
    let fields = schema["properties"].as_object();
    let variable = |(field, of): (&String, &Value)| {
        DeclaredVariable::new(prefix, field, of, is_required(field))
    };
    fields.into_iter().flatten().map(variable).collect()
}

fn not_a_struct<T>(problem: &str) -> EnvironmentReading<T> {
    let name = std::any::type_name::<T>();
    EnvironmentReading {
        variables: Vec::new(),
        misspelled: Vec::new(),
        value: Err(vec![format!(
            "`{name}` cannot declare environment variables, because {problem}; use a struct with a field for each variable"
        )]),
    }
}

/// Returns a variable's value as JSON of the type that its field requires, or `None` if the variable is optional and
/// absent.
fn read_variable_value(
    variable: &mut DeclaredVariable,
    present: &[(String, OsString)],
    prefix: &str,
    validator: &Validator,
) -> Result<Option<Value>, Vec<String>> {
    let name = variable.name.clone();
    let Some((_, value)) = present.iter().find(|(present, _)| *present == name) else {
        if !variable.is_required {
            return Ok(None);
        }
        let mut fault = format!("the environment variable `{name}` is not set: {variable}");
        let others = present.iter().map(|(other, _)| &**other);
        if let Some(similar) = closest(&name, others.filter(|other| is_candidate(other, prefix))) {
            // Writing to a string never fails.
            let _ = write!(fault, "; `{similar}` is set; is its name misspelled?");
        }
        return Err(vec![fault]);
    };
    let Some(text) = value.to_str() else {
        return Err(vec![format!(
            "the environment variable `{name}` is not valid UTF-8; expected {}",
            variable.expected_value_text()
        )]);
    };
    let value = read_text(&variable.schema, text);
    let faults = validator.check_property(&variable.field, &value);
    if faults.is_empty() {
        variable.record_value(text);
        return Ok(Some(value));
    }
    if variable.is_secret {
        return Err(vec![format!(
            "the environment variable `{name}`, which is secret, does not have the expected form: {}",
            variable.expected_value_text()
        )]);
    }
    let line = |fault: &Fault| {
        // The pointer refers to a part of the value, or is empty for the field itself.
        let inside = fault.pointer.trim_start_matches('/').split_once('/');
        let inside = inside.map_or_else(String::new, |(_, rest)| format!("/{rest}: "));
        format!(
            "the environment variable `{name}`: {inside}{}",
            fault.message
        )
    };
    Err(faults.iter().map(line).collect())
}

/// Returns `true` if a variable that is present may be a misspelling of a declared variable. Without a prefix, this
/// would include the system's variables.
fn is_candidate(name: &str, prefix: &str) -> bool {
    !prefix.is_empty() && name.starts_with(prefix)
}

/// Returns the variables whose names are probably misspelled, each with the declared name; they would otherwise be
/// ignored silently.
fn misspelled_names(
    declared: &[DeclaredVariable],
    present: &[(String, OsString)],
    prefix: &str,
) -> Vec<(String, String)> {
    let is_declared = |name: &str| declared.iter().any(|variable| variable.name == name);
    let names = || declared.iter().map(|variable| &*variable.name);
    let suspects = present
        .iter()
        .filter(|(name, _)| is_candidate(name, prefix) && !is_declared(name));
    suspects
        .filter_map(|(name, _)| Some((name.clone(), closest(name, names())?.to_owned())))
        .collect()
}

/// Creates the struct. The struct's `Deserialize` implementation may reject a value that the schema allows; the message
/// then names the variable that was being read.
fn deserialize_environment<T: DeserializeOwned>(
    members: Map<String, Value>,
    declared: &[DeclaredVariable],
) -> Result<T, String> {
    let field = RefCell::new(None);
    let members = members
        .into_iter()
        .inspect(|(name, _)| *field.borrow_mut() = Some(name.clone()))
        // An error after the last field applies to all fields.
        .chain(std::iter::from_fn(|| {
            *field.borrow_mut() = None;
            None
        }));
    T::deserialize(MapDeserializer::<_, serde_json::Error>::new(members)).map_err(|error| {
        let field = field.take();
        let variable = declared
            .iter()
            .find(|variable| Some(&variable.field) == field.as_ref());
        match variable {
            Some(variable) if variable.is_secret => format!(
                "the environment variable `{}`, which is secret, is not valid",
                variable.name
            ),
            Some(variable) => format!("the environment variable `{}`: {error}", variable.name),
            None => format!("the environment variables are not valid settings: {error}"),
        }
    })
}
