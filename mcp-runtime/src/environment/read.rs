//! Reads all variables that a struct declares and collects all mistakes.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use mcp_schema::check::Validator;
use mcp_schema::explain::Fault;
use mcp_schema::generate::{MakeSchema, Properties};
use mcp_schema::suggest::closest;
use mcp_schema::text::read_text;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value};

use crate::environment::variable::DeclaredVariable;

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
