//! An operation, and the request that it becomes with the arguments of a call.

use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::{Map, Value};
use mcp_runtime::values::percent_encode;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::document::is_json;

/// An operation that is a tool.
#[derive(Debug)]
pub struct Operation {
    pub tool: String,
    pub title: Option<String>,
    pub description: String,
    pub method: Method,
    pub path: String,
    pub inputs: Vec<Input>,
    /// The schema of the arguments.
    pub schema: Value,
}

/// The use of one argument.
#[derive(Debug)]
pub struct Input {
    pub argument: String,
    /// The name in the request.
    pub name: String,
    pub location: Location,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Location {
    Path,
    Query,
    Header,
    Body,
}

impl Location {
    pub fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Body => "body",
        }
    }
}

/// The way in which a value is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Style {
    /// Items of an array and members of an object become parameters of their own.
    Exploded,
    /// The separator of items.
    Joined(char),
    /// Members of an object: `name[member]=value`.
    Deep,
    Json,
}

impl Style {
    /// Returns the style and the schema of a parameter.
    pub fn of(location: Location, parameter: &Value) -> Result<(Self, &Value), String> {
        if let Some(contents) = parameter["content"].as_object() {
            let content = contents.iter().find(|(media_type, _)| is_json(media_type));
            let content = content.and_then(|(_, content)| content.get("schema"));
            let schema = content.ok_or("its content is not JSON")?;
            return Ok((Self::Json, schema));
        }
        let is_query = location == Location::Query;
        let usual = if is_query { "form" } else { "simple" };
        let style = parameter["style"].as_str().unwrap_or(usual);
        let explodes = parameter["explode"].as_bool().unwrap_or(style == "form");
        let style = match style {
            "form" | "spaceDelimited" | "pipeDelimited" if is_query && explodes => Self::Exploded,
            "form" if is_query => Self::Joined(','),
            "spaceDelimited" if is_query => Self::Joined(' '),
            "pipeDelimited" if is_query => Self::Joined('|'),
            "deepObject" if is_query => Self::Deep,
            "simple" if !is_query => Self::Joined(','),
            _ => return Err(format!("the style `{style}` is not supported")),
        };
        Ok((style, parameter.get("schema").unwrap_or(&Value::Bool(true))))
    }
}

/// The parts of a request.
#[derive(Debug, Default)]
pub struct Parts {
    /// The path, encoded.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: HeaderMap,
    pub body: Option<Value>,
}

impl Operation {
    /// Distributes the arguments. They match the schema already.
    pub fn request(&self, arguments: &Map<String, Value>) -> Result<Parts> {
        let mut parts = Parts {
            path: self.path.clone(),
            ..Parts::default()
        };
        for input in &self.inputs {
            let Some(value) = arguments.get(&input.argument) else {
                continue;
            };
            let name = &input.argument;
            match input.location {
                Location::Path => {
                    let segment = path_segment(name, input.style, value)?;
                    let variable = format!("{{{}}}", input.name);
                    parts.path = parts.path.replace(&variable, &segment);
                }
                Location::Query => parts.query.extend(query(input, value)?),
                Location::Header => {
                    let text = joined(name, input.style, value, str::to_owned)?;
                    let (Ok(key), Ok(value)) = (
                        HeaderName::try_from(&input.name),
                        HeaderValue::try_from(text),
                    ) else {
                        bail!("`{name}` cannot be a header: it has a line break or the like");
                    };
                    parts.headers.insert(key, value);
                }
                Location::Body => parts.body = Some(value.clone()),
            }
        }
        Ok(parts)
    }
}

/// Encodes a value so that it stays one segment of the path.
fn path_segment(name: &str, style: Style, value: &Value) -> Result<String> {
    let plain = joined(name, style, value, str::to_owned)?;
    if matches!(plain.as_str(), "" | "." | "..") {
        bail!("`{name}` cannot be `{plain}`, which would lead to another path");
    }
    joined(name, style, value, percent_encode)
}

fn query(input: &Input, value: &Value) -> Result<Vec<(String, String)>> {
    let name = &input.argument;
    let pair = |key: &str, value: &Value| Ok((key.to_owned(), scalar(name, value)?));
    match (input.style, value) {
        (Style::Exploded, Value::Array(items)) => {
            let pairs = items.iter().map(|item| pair(&input.name, item));
            pairs.collect()
        }
        (Style::Exploded, Value::Object(members)) => {
            let pairs = members.iter().map(|(key, value)| pair(key, value));
            pairs.collect()
        }
        (Style::Deep, Value::Object(members)) => {
            let key = |member: &str| format!("{}[{member}]", input.name);
            let pairs = members.iter();
            let pairs = pairs.map(|(member, value)| pair(&key(member), value));
            pairs.collect()
        }
        (style, value) => {
            let text = joined(name, style, value, str::to_owned)?;
            Ok(vec![(input.name.clone(), text)])
        }
    }
}

/// Writes a scalar, or an array with its separator.
fn joined(
    name: &str,
    style: Style,
    value: &Value,
    encode: impl Fn(&str) -> String,
) -> Result<String> {
    match (style, value) {
        (Style::Json, value) => Ok(encode(&value.to_string())),
        (Style::Joined(separator), Value::Array(items)) => {
            let items = items.iter().map(|item| Ok(encode(&scalar(name, item)?)));
            let items = items.collect::<Result<Vec<_>>>()?;
            Ok(items.join(&separator.to_string()))
        }
        (_, value) => Ok(encode(&scalar(name, value)?)),
    }
}

fn scalar(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => {
            bail!("`{name}` cannot have arrays or objects within it here")
        }
    }
}
