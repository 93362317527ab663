//! A server's surface, which is everything that the server declares. Its text form changes only when the declarations
//! change.

mod schema;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use mcp_schema::template::UriTemplate;
use serde_json::{Map, Value};

use crate::client::InProcessClient;
use crate::client::connection::Failure;
use crate::client::surface::schema::{ValueDirection, narrowings};
use crate::context::Capability;

/// Everything that a server declares: instructions, extensions, tools, prompts, resources and resource templates, each
/// list sorted by name. Includes disabled definitions, because a server can enable them at any time.
///
/// Excludes details that can change while the program remains the same: the server's version, the order of definitions,
/// and the resources returned by the listing functions of templates. Such resources are data, possibly belonging to a
/// single user, and listing them may require a database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Surface(Map<String, Value>);

impl Surface {
    pub(crate) fn of(client: &InProcessClient) -> Result<Self, Failure> {
        let mut members = Map::new();
        if let Some(text) = &client.server.instructions {
            members.insert("instructions".into(), text.as_str().into());
        }
        let extensions = client.extensions();
        if !extensions.is_empty() {
            members.insert("extensions".into(), extensions.into());
        }
        for list in Capability::ALL {
            let mut items = client.definitions(list)?;
            items.sort_by(|a, b| {
                a[list.item_key()]
                    .as_str()
                    .cmp(&b[list.item_key()].as_str())
            });
            members.insert(list.member().into(), items.into());
        }
        Ok(Self(members))
    }

    /// Parses the output of [`to_text`](Self::to_text).
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    pub(crate) fn to_text(&self) -> String {
        format!("{:#}\n", Value::Object(self.0.clone()))
    }

    pub(crate) fn instructions(&self) -> Option<&str> {
        self.0.get("instructions").and_then(Value::as_str)
    }

    /// Returns the extensions, keyed by identifier, each with its settings and the names of its methods.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = (&str, &Value)> {
        let extensions = self.0.get("extensions").and_then(Value::as_object);
        let members = extensions.into_iter().flatten();
        members.map(|(id, extension)| (id.as_str(), extension))
    }

    pub(crate) fn items(&self, list: Capability) -> &[Value] {
        let items = self.0.get(list.member()).and_then(Value::as_array);
        items.map_or(&[], Vec::as_slice)
    }
}

// --- Compares two surfaces and determines which changes break clients.

/// A single change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SurfaceChange {
    /// `true` if a client that worked before may now fail.
    pub(crate) is_breaking: bool,
    pub(crate) text: String,
}

impl fmt::Display for SurfaceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_breaking {
            "breaking"
        } else {
            "changed"
        };
        write!(f, "{kind}: {}", self.text)
    }
}

/// Returns all changes from one surface to another, breaking changes first.
pub(crate) fn compare_surfaces(old: &Surface, new: &Surface) -> Vec<SurfaceChange> {
    let mut changes = SurfaceChanges::default();
    if old.instructions() != new.instructions() {
        changes.push_compatible("the instructions are different");
    }
    changes.compare_extensions(old, new);
    for list in Capability::ALL {
        changes.compare_lists(list, old.items(list), new.items(list));
    }
    changes.0.sort_by_key(|change| !change.is_breaking);
    changes.0
}

#[derive(Default)]
pub(super) struct SurfaceChanges(Vec<SurfaceChange>);

impl SurfaceChanges {
    fn push_compatible(&mut self, text: impl Into<String>) {
        self.push(false, text.into());
    }

    fn push_breaking(&mut self, text: impl Into<String>) {
        self.push(true, text.into());
    }

    fn push(&mut self, is_breaking: bool, text: String) {
        self.0.push(SurfaceChange { is_breaking, text });
    }

    fn compare_lists(&mut self, list: Capability, old: &[Value], new: &[Value]) {
        let (before, mut after) = (items_by_key(list, old), items_by_key(list, new));
        let mut gone = Vec::new();
        for (key, was) in before {
            match after.remove(key) {
                Some(is) => self.compare_items(list, &kind_and_name(list, key), was, is),
                None => gone.push((key, was)),
            }
        }
        for (key, was) in gone {
            // If a template with the same name still exists, it was changed rather than removed.
            let moved = after.iter().find(|(_, is)| is["name"] == was["name"]);
            match moved.map(|(key, is)| (*key, *is)) {
                Some((now, is)) if list == Capability::Templates => {
                    after.remove(now);
                    self.push_breaking(describe_moved_template(key, now));
                    self.compare_items(list, &kind_and_name(list, now), was, is);
                }
                _ => self.push_breaking(format!("{} was removed", kind_and_name(list, key))),
            }
        }
        for key in after.keys() {
            self.push_compatible(format!("{} was added", kind_and_name(list, key)));
        }
    }

    fn compare_items(&mut self, list: Capability, name: &str, was: &Value, is: &Value) {
        match list {
            Capability::Tools => self.compare_tool_schemas(name, was, is),
            Capability::Prompts => self.compare_prompt_arguments(name, was, is),
            Capability::Resources | Capability::Templates => {}
        }
        for (member, said) in [
            ("title", "a different title"),
            ("description", "a different description"),
            ("mimeType", "a different media type"),
            ("annotations", "different annotations"),
            ("icons", "different icons"),
            ("_meta", "a different `_meta`"),
        ] {
            if was[member] != is[member] {
                self.push_compatible(format!("{name} has {said}"));
            }
        }
    }

    fn compare_tool_schemas(&mut self, name: &str, was: &Value, is: &Value) {
        let (old, new) = (&was["inputSchema"], &is["inputSchema"]);
        let taken = narrowings(old, new, ValueDirection::Input);
        if taken.is_empty() && old != new {
            self.push_compatible(format!(
                "{name} accepts more, or describes its arguments differently"
            ));
        }
        for text in taken {
            self.push_breaking(format!("{name}: {text}"));
        }
        match (was.get("outputSchema"), is.get("outputSchema")) {
            (Some(_), None) => {
                self.push_breaking(format!("{name} no longer returns structured output"));
            }
            (None, Some(_)) => {
                self.push_compatible(format!("{name} now returns structured output"));
            }
            (Some(old), Some(new)) => {
                let given = narrowings(new, old, ValueDirection::Output);
                if given.is_empty() && old != new {
                    self.push_compatible(format!(
                        "{name} returns more, or describes its output differently"
                    ));
                }
                for text in given {
                    self.push_breaking(format!("{name}, output: {text}"));
                }
            }
            (None, None) => {}
        }
    }

    fn compare_prompt_arguments(&mut self, name: &str, was: &Value, is: &Value) {
        let (before, mut after) = (arguments_by_name(was), arguments_by_name(is));
        for (argument, was) in before {
            let Some(is) = after.remove(argument) else {
                self.push_breaking(format!("{name}: argument `{argument}` was removed"));
                continue;
            };
            if is["required"] == true && was["required"] != true {
                self.push_breaking(format!("{name}: argument `{argument}` is now required"));
            } else if was != is {
                self.push_compatible(format!(
                    "{name}: argument `{argument}` is described differently"
                ));
            }
        }
        for (argument, is) in after {
            if is["required"] == true {
                self.push_breaking(format!(
                    "{name}: argument `{argument}` was added and is required"
                ));
            } else {
                self.push_compatible(format!("{name}: argument `{argument}` was added"));
            }
        }
    }
}

fn items_by_key(list: Capability, items: &[Value]) -> BTreeMap<&str, &Value> {
    let items = items.iter();
    items
        .filter_map(|item| Some((item[list.item_key()].as_str()?, item)))
        .collect()
}

fn arguments_by_name(prompt: &Value) -> BTreeMap<&str, &Value> {
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    arguments
        .filter_map(|argument| Some((argument["name"].as_str()?, argument)))
        .collect()
}

/// Returns the kind and name of an item for use in messages.
fn kind_and_name(list: Capability, key: &str) -> String {
    match list {
        Capability::Tools => format!("tool `{key}`"),
        Capability::Prompts => format!("prompt `{key}`"),
        Capability::Resources => format!("resource `{key}`"),
        Capability::Templates => format!("template `{key}`"),
    }
}

/// Describes a template whose URI changed. This breaks clients, because they complete variables by name and store URIs.
fn describe_moved_template(was: &str, is: &str) -> String {
    let mut text = format!("template `{was}` is now `{is}`");
    if let (Ok(was), Ok(is)) = (UriTemplate::parse(was), UriTemplate::parse(is))
        && was.variables().len() == is.variables().len()
    {
        for (was, is) in was.variables().iter().zip(is.variables()) {
            if was != is {
                let _ = write!(text, "; variable `{was}` is now `{is}`");
            }
        }
    }
    text
}

// --- Compares the extensions of two surfaces.

impl SurfaceChanges {
    fn compare_extensions(&mut self, old: &Surface, new: &Surface) {
        let mut after: BTreeMap<_, _> = new.extensions().collect();
        for (id, was) in old.extensions() {
            let Some(is) = after.remove(id) else {
                self.push_breaking(format!("extension `{id}` was removed"));
                continue;
            };
            let (had, has) = (extension_methods(was), extension_methods(is));
            for method in had.iter().filter(|method| !has.contains(method)) {
                self.push_breaking(format!("method `{method}` of extension `{id}` was removed"));
            }
            for method in has.iter().filter(|method| !had.contains(method)) {
                self.push_compatible(format!("method `{method}` of extension `{id}` was added"));
            }
            if was["settings"] != is["settings"] {
                self.push_compatible(format!("extension `{id}` has different settings"));
            }
        }
        for id in after.keys() {
            self.push_compatible(format!("extension `{id}` was added"));
        }
    }
}

fn extension_methods(extension: &Value) -> Vec<&str> {
    let methods = extension["methods"].as_array();
    methods
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
