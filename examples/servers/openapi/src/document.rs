//! The operations of an OpenAPI document, each with the schema of its arguments. All problems are reported at once.

use std::collections::BTreeMap;

use mcp_runtime::prelude::json;
use mcp_runtime::serde_json::{Map, Value};
use mcp_runtime::values::{did_you_mean, strip_invisible};
use reqwest::Method;

use crate::operation::{Input, Location, Operation, Style};
use crate::schema::{Converter, follow};
use crate::settings::{Settings, SetupError};

const METHODS: [(&str, Method); 5] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("patch", Method::PATCH),
];
/// Names that the large model APIs accept have at most this many characters.
const MAX_NAME: usize = 64;
/// Characters of a description.
const MAX_DESCRIPTION: usize = 1_000;
/// Headers that are part of HTTP, or that OpenAPI describes elsewhere.
const OTHER_HEADERS: [&str; 9] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "te",
    "transfer-encoding",
];

/// Finds the operations that the settings select.
pub fn operations(document: &Value, settings: &Settings) -> Result<Vec<Operation>, SetupError> {
    check_version(document)?;
    let Some(paths) = document["paths"].as_object() else {
        return Err(SetupError::new("the document has no `paths`"));
    };
    let (mut operations, mut problems) = (Vec::new(), Vec::new());
    let (mut ids, mut tags) = (Vec::new(), Vec::new());
    let mut first_uses: BTreeMap<String, String> = BTreeMap::new();
    for (path, item) in paths {
        let item = match follow(document, item) {
            Ok(item) => item,
            Err(problem) => {
                problems.push(format!("path `{path}`: {problem}"));
                continue;
            }
        };
        for (word, method) in METHODS {
            let Some(operation) = item.get(word).filter(|found| found.is_object()) else {
                continue;
            };
            let id = operation["operationId"].as_str();
            let id = id.map_or_else(|| format!("{word} {path}"), str::to_owned);
            let its_tags = operation["tags"].as_array().into_iter().flatten();
            let its_tags: Vec<&str> = its_tags.filter_map(Value::as_str).collect();
            let is_selected = settings.selects(&id, &its_tags);
            ids.push(id.clone());
            tags.extend(its_tags);
            if !is_selected {
                continue;
            }
            let tool = valid_name(&id);
            let place = format!("{word} {path}");
            if let Some(other) = first_uses.insert(tool.clone(), place.clone()) {
                problems.push(format!(
                    "`{other}` and `{place}` would both be the tool `{tool}`; give one of them another `operationId`"
                ));
                continue;
            }
            let source = Source {
                document,
                path,
                item,
                operation,
            };
            match source.operation(tool, method) {
                Ok(operation) => operations.push(operation),
                Err(problem) => problems.push(format!(
                    "operation `{id}`: {problem}; `OPENAPI_WITHOUT={id}` leaves it out"
                )),
            }
        }
    }
    problems.extend(unknown(
        "operation",
        "OPERATIONS",
        &settings.operations,
        &ids,
    ));
    problems.extend(unknown("operation", "WITHOUT", &settings.without, &ids));
    problems.extend(unknown("tag", "TAGS", &settings.tags, &tags));
    SetupError::check(problems)?;
    if operations.is_empty() {
        return Err(SetupError::new("the settings select no operation"));
    }
    Ok(operations)
}

fn check_version(document: &Value) -> Result<(), SetupError> {
    let version = document["openapi"].as_str().unwrap_or_default();
    if ["3.0", "3.1"]
        .iter()
        .any(|known| version.starts_with(known))
    {
        return Ok(());
    }
    Err(SetupError::new(match document["swagger"].as_str() {
        Some(swagger) => {
            format!("Swagger {swagger} is not supported; convert the document to OpenAPI 3")
        }
        None if version.is_empty() => {
            "this is not an OpenAPI document: it has no `openapi`".to_owned()
        }
        None => format!("OpenAPI {version} is not supported; 3.0 and 3.1 are"),
    }))
}

/// Finds names in the settings that nothing in the document has.
fn unknown(noun: &str, variable: &str, names: &[String], known: &[impl AsRef<str>]) -> Vec<String> {
    let missing = |name: &&String| known.iter().all(|known| known.as_ref() != **name);
    let missing = names.iter().filter(missing);
    let problem = |name: &String| {
        let known = known.iter().map(AsRef::as_ref);
        let meant = did_you_mean(name, known).map(|meant| format!("; did you mean `{meant}`?"));
        let meant = meant.unwrap_or_default();
        format!("OPENAPI_{variable}: the document has no {noun} `{name}`{meant}")
    };
    missing.map(problem).collect()
}

/// Replaces the characters that names of tools cannot have.
fn valid_name(id: &str) -> String {
    let is_valid = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let mut name = if id.chars().all(is_valid) {
        id.to_owned()
    } else {
        let words = id.split(|letter| !is_valid(letter));
        let words = words.filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("_")
    };
    name.truncate(MAX_NAME);
    name
}

impl Settings {
    fn selects(&self, id: &str, tags: &[&str]) -> bool {
        let is_named = self.operations.iter().any(|name| name == id);
        let is_tagged = self.tags.iter().any(|tag| tags.contains(&tag.as_str()));
        let selects_all = self.operations.is_empty() && self.tags.is_empty();
        (is_named || is_tagged || selects_all) && !self.without.iter().any(|name| name == id)
    }
}

/// An operation in the document, and what is around it.
struct Source<'d> {
    document: &'d Value,
    path: &'d str,
    item: &'d Value,
    operation: &'d Value,
}

impl<'d> Source<'d> {
    fn operation(&self, tool: String, method: Method) -> Result<Operation, String> {
        let mut schemas = Converter::new(self.document);
        let (mut inputs, mut properties, mut required) = (Vec::new(), Map::new(), Vec::new());
        for (location, parameter) in self.parameters()? {
            let name = parameter["name"].as_str().unwrap_or_default();
            let of_parameter = |problem| format!("parameter `{name}`: {problem}");
            let is_required = location == Location::Path || parameter["required"] == true;
            let (style, schema) = Style::of(location, parameter).map_err(of_parameter)?;
            let mut schema = schemas.convert(schema).map_err(of_parameter)?;
            describe(&mut schema, parameter);
            // A name may occur in the path and in the query.
            let mut argument = valid_name(name);
            if argument.is_empty() || properties.contains_key(&argument) {
                argument = valid_name(&format!("{} {name}", location.word()));
            }
            inputs.push(Input {
                argument: argument.clone(),
                name: name.to_owned(),
                location,
                style,
            });
            add(
                &mut properties,
                &mut required,
                argument,
                schema,
                is_required,
            )?;
        }
        if let Some((body, is_required)) = self.body()? {
            let mut schema = schemas
                .convert(body)
                .map_err(|problem| format!("body: {problem}"))?;
            describe(&mut schema, &self.operation["requestBody"]);
            let name = if properties.contains_key("body") {
                "request_body"
            } else {
                "body"
            };
            inputs.push(Input {
                argument: name.to_owned(),
                name: name.to_owned(),
                location: Location::Body,
                style: Style::Json,
            });
            add(
                &mut properties,
                &mut required,
                name.to_owned(),
                schema,
                is_required,
            )?;
        }
        self.check_variables(&inputs)?;
        if [self.item, self.operation]
            .iter()
            .any(|part| part["servers"].is_array())
        {
            return Err("it has `servers` of its own, which are not followed".to_owned());
        }
        let text = |keyword: &str| {
            self.operation[keyword]
                .as_str()
                .filter(|text| !text.is_empty())
        };
        let description = text("description").or(text("summary")).unwrap_or(&tool);
        Ok(Operation {
            description: shortened(description),
            title: text("summary").map(shortened),
            tool,
            method,
            path: self.path.to_owned(),
            inputs,
            schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        })
    }

    /// Returns the parameters of the path and of the operation, which replace those of the path.
    fn parameters(&self) -> Result<Vec<(Location, &'d Value)>, String> {
        let mut parameters: Vec<(Location, &Value)> = Vec::new();
        for list in [&self.item["parameters"], &self.operation["parameters"]] {
            for parameter in list.as_array().into_iter().flatten() {
                let parameter = follow(self.document, parameter)?;
                let name = parameter["name"]
                    .as_str()
                    .ok_or("a parameter has no name")?;
                let location = match parameter["in"].as_str() {
                    Some("path") => Location::Path,
                    Some("query") => Location::Query,
                    Some("header") if is_other_header(name) => continue,
                    Some("header") => Location::Header,
                    Some("cookie") if parameter["required"] != true => continue,
                    Some("cookie") => return Err(format!("it requires the cookie `{name}`")),
                    _ => {
                        return Err(format!(
                            "parameter `{name}`: `in` is none of path, query, header, cookie"
                        ));
                    }
                };
                let same =
                    |(at, other): &(Location, &Value)| *at == location && other["name"] == name;
                parameters.retain(|other| !same(other));
                parameters.push((location, parameter));
            }
        }
        Ok(parameters)
    }

    /// Returns the schema of the JSON body, and `true` if it is required.
    fn body(&self) -> Result<Option<(&'d Value, bool)>, String> {
        let Some(body) = self.operation.get("requestBody") else {
            return Ok(None);
        };
        let body = follow(self.document, body)?;
        let is_required = body["required"] == true;
        let contents = body["content"].as_object().into_iter().flatten();
        let mut contents = contents.filter(|(media_type, _)| is_json(media_type));
        match contents.next() {
            Some((_, content)) => Ok(Some((
                content.get("schema").unwrap_or(&Value::Bool(true)),
                is_required,
            ))),
            None if is_required => Err("its body is not JSON".to_owned()),
            None => Ok(None),
        }
    }

    /// Checks that each variable of the path has a parameter, and each parameter a variable.
    fn check_variables(&self, inputs: &[Input]) -> Result<(), String> {
        let mut path = self.path.to_owned();
        for input in inputs
            .iter()
            .filter(|input| input.location == Location::Path)
        {
            let variable = format!("{{{}}}", input.name);
            if !path.contains(&variable) {
                return Err(format!("its path has no variable `{variable}`"));
            }
            path = path.replace(&variable, "");
        }
        if path.contains(['{', '}']) || !path.starts_with('/') {
            return Err(
                "its path does not begin with `/`, or has a variable without a parameter"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

fn add(
    properties: &mut Map<String, Value>,
    required: &mut Vec<String>,
    argument: String,
    schema: Value,
    is_required: bool,
) -> Result<(), String> {
    if is_required {
        required.push(argument.clone());
    }
    match properties.insert(argument.clone(), schema) {
        None => Ok(()),
        Some(_) => Err(format!(
            "two of its parameters would be the argument `{argument}`"
        )),
    }
}

/// Takes the description of a parameter or a body.
fn describe(schema: &mut Value, from: &Value) {
    let described = from["description"].as_str();
    if let (Value::Object(members), Some(text)) = (schema, described) {
        members.insert("description".to_owned(), Value::String(shortened(text)));
    }
}

fn is_other_header(name: &str) -> bool {
    OTHER_HEADERS
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}

pub fn is_json(media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    media_type == "application/json" || media_type.ends_with("+json")
}

/// Descriptions are written by others and read by a model, so characters that people cannot see are left out.
fn shortened(text: &str) -> String {
    strip_invisible(text)
        .chars()
        .take(MAX_DESCRIPTION)
        .collect()
}
