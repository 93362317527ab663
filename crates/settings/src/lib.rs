//! Reads a server's settings from environment variables. A struct declares the variables, and all mistakes are reported
//! together.
//!
//! As with arguments, the struct's schema declares the names, types, defaults and descriptions, and the same validator
//! explains mistakes. The builder adds the struct to the server's state, and the command line lists the variables in its
//! help.

#![forbid(unsafe_code)]
// The examples are servers: `tests/documentation` runs them, so that no test of this crate waits for `mcp-runtime`.
#![cfg(not(doctest))]

mod value;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

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
pub use value::text_of;

use crate::value::{FoundValue, file_variable};

/// A value that must not be exposed, such as a password or an API key.
///
/// Its `Debug` output is `Secret(***)`, it does not implement `Display` or serialization, and errors never repeat it.
/// In a struct for `Server::env`, it marks the variable as secret, so that the help and the log
/// show that the variable is set but not its value. The memory is not wiped, because the process's environment contains
/// another copy.
///
/// ```
/// use mcp_runtime::server::Secret;
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
pub struct DeclaredVariable {
    /// The name in the environment, such as `NOTES_MAX_ROWS`.
    pub name: String,
    /// The name of the field, such as `max_rows`.
    pub field: String,
    /// What its value may be.
    pub schema: Value,
    /// `true` if the server does not start without it.
    pub is_required: bool,
    /// `true` if its value is never shown.
    pub is_secret: bool,
    /// `true` if it is used only over HTTP.
    pub is_for_http: bool,
    /// The file that contains the value, if it is not in the variable itself. Its contents are never shown.
    file: Option<PathBuf>,
    /// The value in the form in which it may be logged, if the variable is set to a valid value.
    shown: Option<String>,
}

impl DeclaredVariable {
    fn new(prefix: &str, field: &str, schema: &Value, is_required: bool) -> Self {
        Self {
            name: format!("{prefix}{}", field.to_uppercase().replace('-', "_")),
            field: field.to_owned(),
            is_secret: is_secret(schema),
            schema: schema.clone(),
            is_required,
            is_for_http: false,
            file: None,
            shown: None,
        }
    }

    /// Declares a variable that is not a field of a struct, such as the value of a header, and is optional.
    #[must_use]
    pub fn text(name: &str, description: &str, is_secret: bool) -> Self {
        let mut schema = json!({"type": "string", "description": description});
        if is_secret {
            schema["writeOnly"] = true.into();
        }
        let mut variable = Self::new("", name, &schema, false);
        name.clone_into(&mut variable.name);
        if std::env::var_os(name).is_none() {
            variable.file = std::env::var_os(file_variable(name)).map(PathBuf::from);
        }
        if let Ok(Some(text)) = text_of(name) {
            variable.record_value(&text);
        }
        variable
    }

    /// Returns the name of the variable that can name a file with the value instead.
    #[must_use]
    pub fn file_variable(&self) -> String {
        file_variable(&self.name)
    }

    /// Marks the variable as one without which the server does not start.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Marks the variable as needed only for HTTP.
    #[must_use]
    pub fn only_for_http(mut self) -> Self {
        self.is_for_http = true;
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
        self.shown = Some(match &self.file {
            _ if self.is_secret => "***".to_owned(),
            Some(file) => format!("the contents of `{}`", file.display()),
            None => text.to_owned(),
        });
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
    #[must_use]
    pub fn description(&self) -> Option<String> {
        let description = self.schema["description"].as_str()?;
        // A blank line precedes the list of an enum's documented values.
        let lines: Vec<_> = description
            .lines()
            .take_while(|line| !line.is_empty())
            .collect();
        (!lines.is_empty()).then(|| lines.join(" "))
    }

    /// Returns the default, unless the variable is secret.
    #[must_use]
    pub fn default(&self) -> Option<&Value> {
        let default = self.schema.get("default");
        default.filter(|default| !self.is_secret && !default.is_null())
    }

    /// Returns the JSON type of the value, or an empty string if it can have several types.
    #[must_use]
    pub fn kind(&self) -> &str {
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
#[derive(Clone, Debug, Default)]
pub struct ServerEnvironment {
    /// The variables, in the order of their declarations.
    pub variables: Vec<DeclaredVariable>,
    /// Variables that are set and whose names resemble a declared name, each paired with that declared name.
    pub misspelled: Vec<(String, String)>,
    /// The mistakes, one line for each.
    pub faults: Vec<String>,
}

impl ServerEnvironment {
    /// Logs the values of all variables, except for secrets, and warns of names that are probably misspelled.
    pub fn log_values(&self) {
        for variable in &self.variables {
            variable.log_value();
        }
        // The variable may be declared by another struct.
        let declared = |name: &str| {
            let mut variables = self.variables.iter();
            variables.any(|variable| variable.name == name || file_variable(&variable.name) == name)
        };
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
    #[must_use]
    pub fn help(&self) -> String {
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
            format!(
                "Environment:{lines}\n  Instead of a variable NAME, NAME_FILE can name a file that contains the value."
            )
        }
    }
}

/// The outcome of reading the variables of `T`.
pub struct EnvironmentReading<T> {
    /// Every variable, in the order of the fields.
    pub variables: Vec<DeclaredVariable>,
    /// Variables that are set and whose names resemble a declared name, each paired with that declared name.
    pub misspelled: Vec<(String, String)>,
    /// The value, or one line for each mistake.
    pub value: Result<T, Vec<String>>,
}

/// Reads a struct from variables whose names begin with `prefix`. `variables` contains the process's environment.
pub fn read<T: DeserializeOwned + JsonSchema>(
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
    let names: Vec<_> = declared.iter().map(|one| one.name.clone()).collect();
    for variable in &mut declared {
        let of_file = file_variable(&variable.name);
        // A variable of this name may be declared itself.
        let is_free = !names.contains(&of_file);
        let environment = |name: &str| {
            let mut found = present.iter().filter(|_| is_free || name != of_file);
            found
                .find(|(present, _)| present == name)
                .map(|(_, value)| value.clone())
        };
        let found = match value::find(&variable.name, environment) {
            Ok(found) => found,
            Err(fault) => {
                faults.push(fault);
                continue;
            }
        };
        match read_variable_value(variable, found, (&present, prefix), &validator) {
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
#[must_use]
pub fn counts_as_unset(value: &OsStr) -> bool {
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
    found: Option<FoundValue>,
    (present, prefix): (&[(String, OsString)], &str),
    validator: &Validator,
) -> Result<Option<Value>, Vec<String>> {
    let name = variable.name.clone();
    let Some(FoundValue { text: value, file }) = found else {
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
    variable.file = file;
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
    if let Some(file) = &variable.file {
        return Err(vec![format!(
            "{} do not have the expected form: {}",
            contents_of(&name, file),
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
    let names = declared.iter().map(|variable| variable.name.clone());
    let of_files = declared
        .iter()
        .map(|variable| file_variable(&variable.name));
    let names: Vec<String> = names.chain(of_files).collect();
    let suspects = present
        .iter()
        .filter(|(name, _)| is_candidate(name, prefix) && !names.contains(name));
    let meant = |name: &str| closest(name, names.iter().map(String::as_str)).map(str::to_owned);
    suspects
        .filter_map(|(name, _)| Some((name.clone(), meant(name)?)))
        .collect()
}

/// Names the contents of the file with the value of a variable.
fn contents_of(name: &str, file: &Path) -> String {
    format!(
        "the contents of `{}`, which the environment variable `{}` names,",
        file.display(),
        file_variable(name)
    )
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
            Some(DeclaredVariable {
                name,
                file: Some(file),
                ..
            }) => format!("{} are not valid", contents_of(name, file)),
            Some(variable) => format!("the environment variable `{}`: {error}", variable.name),
            None => format!("the environment variables are not valid settings: {error}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use expect_test::{Expect, expect};
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, de};

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Level {
        /// Nothing but errors
        Quiet,
        Loud,
    }

    /// A name with a rule that its `Deserialize` implementation checks but its schema does not show.
    #[derive(Debug, JsonSchema)]
    #[schemars(transparent)]
    struct Name(String);

    impl<'de> Deserialize<'de> for Name {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            if text.starts_with('-') {
                return Err(de::Error::custom(format!("`{text}` begins with a dash")));
            }
            Ok(Self(text))
        }
    }

    fn ten() -> u16 {
        10
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Settings {
        /// Connection string
        /// of the database
        database_url: Secret<String>,
        /// Most rows of a page
        #[serde(default = "ten")]
        #[schemars(range(min = 1))]
        max_rows: u16,
        #[serde(default)]
        read_only: bool,
        /// Loudness
        level: Option<Level>,
        hosts: Option<Vec<String>>,
        ports: Option<Vec<u16>>,
        ratio: Option<f64>,
        name: Option<Name>,
        pin: Option<Secret<u32>>,
        #[allow(dead_code, reason = "only its `Deserialize` is of interest")]
        token: Option<Secret<Name>>,
    }

    fn reading(variables: &[(&str, &str)]) -> EnvironmentReading<Settings> {
        let os = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        read("T_", os)
    }

    fn value(variables: &[(&str, &str)]) -> Settings {
        let with_url = [&[("T_DATABASE_URL", "postgres://u:hunter2@db")], variables].concat();
        reading(&with_url).value.unwrap()
    }

    fn check_faults(variables: &[(&str, &str)], expected: &Expect) {
        let faults = reading(variables).value.unwrap_err();
        expected.assert_eq(&(faults.join("\n") + "\n"));
    }

    #[test]
    fn each_field_has_a_variable_of_its_type() {
        let bare = value(&[]);
        assert_eq!(
            (bare.max_rows, bare.read_only, bare.level),
            (10, false, None)
        );
        assert_eq!(bare.database_url.expose_secret(), "postgres://u:hunter2@db");
        let full = value(&[
            ("T_MAX_ROWS", "65535"),
            ("T_READ_ONLY", "ON"),
            ("T_LEVEL", "loud"),
            ("T_HOSTS", "a.example, b.example"),
            ("T_PORTS", "1,2"),
            ("T_RATIO", "0.5"),
            ("T_NAME", "007"),
            ("T_PIN", "1234"),
            ("OTHER", "x"),
        ]);
        assert_eq!((full.max_rows, full.read_only), (65_535, true));
        assert_eq!(full.level, Some(Level::Loud));
        assert_eq!(full.hosts.unwrap(), ["a.example", "b.example"]);
        assert_eq!((full.ports.unwrap(), full.ratio), (vec![1, 2], Some(0.5)));
        assert_eq!(full.name.unwrap().0, "007");
        assert_eq!(full.pin.unwrap().expose_secret(), &1234);
        for (text, expected) in [
            ("yes", true),
            ("1", true),
            ("False", false),
            ("0", false),
            ("off", false),
        ] {
            assert_eq!(value(&[("T_READ_ONLY", text)]).read_only, expected);
        }
    }

    #[test]
    fn misspelled_variables_are_reported_only_with_a_prefix() {
        let typo = [
            ("T_DATABASE_URL", "x"),
            ("T_MAX_ROW", "5"),
            ("T_QUITE_ANOTHER", "x"),
        ];
        let found = reading(&typo).misspelled;
        assert_eq!(found, [("T_MAX_ROW".to_owned(), "T_MAX_ROWS".to_owned())]);
        let os = [("MAX_ROW", "5"), ("DATABASE_URL", "x")]
            .map(|(name, value)| (name.into(), value.into()));
        assert!(read::<Settings>("", os).misspelled.is_empty());
    }

    #[derive(Deserialize, JsonSchema)]
    struct Log {
        log: Option<String>,
        log_file: Option<String>,
    }

    #[test]
    fn values_are_read_from_files_and_no_message_shows_them() {
        let path = std::env::temp_dir().join(format!("mcp-settings-{}", std::process::id()));
        let with = |contents: &str, variable: &str| {
            std::fs::write(&path, contents).unwrap();
            reading(&[("T_DATABASE_URL", "x"), (variable, path.to_str().unwrap())])
        };
        let read = with("12\n", "T_MAX_ROWS_FILE");
        assert_eq!(read.value.unwrap().max_rows, 12);
        assert!(read.misspelled.is_empty());
        let shown = read.variables[1].shown.clone().unwrap();
        assert_eq!(shown, format!("the contents of `{}`", path.display()));
        let read = with("1234\n", "T_PIN_FILE");
        assert_eq!(read.variables[8].shown.as_deref(), Some("***"));
        assert_eq!(read.value.unwrap().pin.unwrap().expose_secret(), &1234);
        for (variable, end) in [
            (
                "T_MAX_ROWS_FILE",
                "do not have the expected form: integer 1 to 65535",
            ),
            ("T_NAME_FILE", "are not valid"),
            (
                "T_PIN_FILE",
                "which is secret, does not have the expected form: integer from 0",
            ),
        ] {
            let fault = with("-hunter2", variable).value.unwrap_err().join("\n");
            assert!(
                fault.ends_with(end) && !fault.contains("hunter2"),
                "{fault}"
            );
        }
        let typo = with("12", "T_MAX_ROW_FILE").misspelled;
        let meant = ("T_MAX_ROW_FILE".to_owned(), "T_MAX_ROWS_FILE".to_owned());
        assert_eq!(typo, [meant]);
        std::fs::remove_file(&path).unwrap();
        // A field may have such a name itself.
        let variables = [("T_LOG_FILE".into(), "/no/such".into())];
        let read = super::read::<Log>("T_", variables).value.unwrap();
        assert_eq!(
            (read.log, read.log_file.as_deref()),
            (None, Some("/no/such"))
        );
    }

    #[test]
    fn an_empty_variable_is_absent() {
        assert_eq!(value(&[("T_MAX_ROWS", ""), ("T_NAME", "")]).max_rows, 10);
        assert!(reading(&[("T_DATABASE_URL", "")]).value.is_err());
        // A host leaves such placeholders unchanged if the user of a bundle sets nothing.
        let unset = "${user_config.t_max_rows}";
        assert_eq!(value(&[("T_MAX_ROWS", unset)]).max_rows, 10);
        let name = "${user_config.x} and more";
        let read = value(&[("T_NAME", name)]).name;
        assert_eq!(read.map(|read| read.0).as_deref(), Some(name));
    }

    #[test]
    fn all_mistakes_are_found_at_once() {
        check_faults(
            &[
                ("T_MAX_ROWS", "0"),
                ("T_READ_ONLY", "perhaps"),
                ("T_LEVEL", "lound"),
                ("T_PORTS", "1,http"),
                ("T_RATIO", "half"),
            ],
            &expect![[r#"
            the environment variable `T_DATABASE_URL` is not set: Connection string of the database (string, required, secret)
            the environment variable `T_MAX_ROWS`: 0 is less than 1
            the environment variable `T_READ_ONLY`: expected boolean, received "perhaps"
            the environment variable `T_LEVEL`: unknown value "lound"; did you mean "loud"? (allowed: "loud", "quiet")
            the environment variable `T_PORTS`: /1: expected integer, received "http"
            the environment variable `T_RATIO`: expected number, received "half"
        "#]],
        );
        check_faults(
            &[("T_DATABSE_URL", "x")],
            &expect![[r"
        the environment variable `T_DATABASE_URL` is not set: Connection string of the database (string, required, secret); `T_DATABSE_URL` is set; is its name misspelled?
    "]],
        );
        check_faults(
            &[("T_DATABASE_URL", "x"), ("T_NAME", "-n")],
            &expect![[r"
        the environment variable `T_NAME`: `-n` begins with a dash
    "]],
        );
    }

    #[test]
    fn no_mistake_shows_a_secret() {
        for variables in [
            &[("T_DATABASE_URL", "x"), ("T_PIN", "hunter2")][..],
            &[("T_DATABASE_URL", "x"), ("T_TOKEN", "-hunter2")],
            &[("T_PIN", "[\"hunter2\"]")],
        ] {
            let reading = reading(variables);
            let faults = reading.value.unwrap_err().join("\n");
            assert!(
                !faults.contains("hunter2") && faults.contains("secret"),
                "{faults}"
            );
        }
        assert!(!format!("{:?}", value(&[])).contains("hunter2"));
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_not_utf_8_is_an_error_and_such_a_name_is_ignored() {
        use std::os::unix::ffi::OsStringExt as _;

        let not_text = || OsString::from_vec(b"a\xff".to_vec());
        let variables = [
            ("T_DATABASE_URL".into(), not_text()),
            (not_text(), "x".into()),
        ];
        let faults = read::<Settings>("T_", variables).value.unwrap_err();
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains("UTF-8"), "{faults:?}");
    }

    #[test]
    fn the_help_shows_every_variable_and_no_secret_default() {
        let lines: Vec<_> = reading(&[])
            .variables
            .iter()
            .map(|variable| format!("{} {variable}\n", variable.name))
            .collect();
        expect![[r"
        T_DATABASE_URL Connection string of the database (string, required, secret)
        T_MAX_ROWS Most rows of a page (integer 1 to 65535, default 10)
        T_READ_ONLY (true|false, default false)
        T_LEVEL Loudness (loud|quiet)
        T_HOSTS ([string])
        T_PORTS ([integer 0 to 65535])
        T_RATIO (number)
        T_NAME A name with a rule that its `Deserialize` implementation checks but its schema does not show. (string)
        T_PIN (integer from 0, secret)
        T_TOKEN A name with a rule that its `Deserialize` implementation checks but its schema does not show. (string, secret)
    "]]
    .assert_eq(&lines.concat());
    }

    #[test]
    fn only_structs_declare_variables() {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct Empty {}
        let none = std::iter::empty;
        for fault in [
            read::<String>("", none()).value.unwrap_err(),
            read::<Empty>("", none()).value.unwrap_err().clone(),
        ] {
            assert!(fault[0].contains("use a struct"), "{fault:?}");
        }
    }

    /// Settings with a rule that involves several fields.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(try_from = "Bounds")]
    #[schemars(with = "Bounds")]
    struct Range;

    #[derive(Deserialize, JsonSchema)]
    struct Bounds {
        least: u8,
        most: u8,
        /// The last field of all
        zone_token: Secret<String>,
    }

    impl TryFrom<Bounds> for Range {
        type Error = &'static str;

        fn try_from(bounds: Bounds) -> Result<Self, Self::Error> {
            drop(bounds.zone_token);
            if bounds.least > bounds.most {
                return Err("`least` exceeds `most`");
            }
            Ok(Self)
        }
    }

    #[test]
    fn an_error_about_several_variables_names_none_of_them() {
        let variables = [("T_LEAST", "2"), ("T_MOST", "1"), ("T_ZONE_TOKEN", "x")];
        let os = variables.map(|(name, value)| (name.into(), value.into()));
        let faults = read::<Range>("T_", os).value.unwrap_err();
        assert_eq!(
            faults,
            ["the environment variables are not valid settings: `least` exceeds `most`"]
        );
    }
}
