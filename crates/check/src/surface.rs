//! A server's surface, which is everything that the server declares. Its text form changes only when the declarations
//! change.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use mcp_schema::template::UriTemplate;
use serde_json::{Map, Value};

use crate::narrowing::{ValueDirection, narrowings};

/// A list that a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceList {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl SurfaceList {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the method that lists the items.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// Returns the member of the server's capabilities without which there is no list.
    #[must_use]
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// Returns the member of results that has the items.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the name of the member that identifies an item.
    #[must_use]
    pub const fn item_key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Returns the word for an item.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Prompts => "prompt",
            Self::Resources => "resource",
            Self::Templates => "template",
        }
    }
}

/// Everything that a server declares: instructions, extensions, tools, prompts, resources and resource templates, each
/// list sorted by name. Includes disabled definitions, because a server can enable them at any time.
///
/// Excludes details that can change while the program remains the same: the server's version, the order of definitions,
/// and the resources returned by the listing functions of templates. Such resources are data, possibly belonging to a
/// single user, and listing them may require a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface(Map<String, Value>);

impl Surface {
    /// Returns the surface with these members: `instructions` and `extensions`, and the lists, each of which is sorted
    /// here. Members of other names are left out.
    #[must_use]
    pub fn new(mut members: Map<String, Value>) -> Self {
        let mut surface = Map::new();
        for name in ["instructions", "extensions"] {
            if let Some(value) = members.remove(name) {
                surface.insert(name.into(), value);
            }
        }
        for list in SurfaceList::ALL {
            let mut items = match members.remove(list.member()) {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            let key = |item: &Value| item[list.item_key()].as_str().map(str::to_owned);
            items.sort_by_cached_key(key);
            surface.insert(list.member().into(), items.into());
        }
        Self(surface)
    }

    /// Parses the output of [`to_text`](Self::to_text).
    ///
    /// # Errors
    ///
    /// Fails if the text is not a JSON object.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// Returns the text to keep in a file.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{:#}\n", Value::Object(self.0.clone()))
    }

    /// Returns the instructions for models.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.0.get("instructions").and_then(Value::as_str)
    }

    /// Returns the extensions, keyed by identifier, each with its settings and the names of its methods.
    pub fn extensions(&self) -> impl Iterator<Item = (&str, &Value)> {
        let extensions = self.0.get("extensions").and_then(Value::as_object);
        let members = extensions.into_iter().flatten();
        members.map(|(id, extension)| (id.as_str(), extension))
    }

    /// Returns the items of a list.
    #[must_use]
    pub fn items(&self, list: SurfaceList) -> &[Value] {
        let items = self.0.get(list.member()).and_then(Value::as_array);
        items.map_or(&[], Vec::as_slice)
    }
}

// --- Compares two surfaces and determines which changes break clients.

/// A single change.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceChange {
    /// `true` if a client that worked before may now fail.
    pub is_breaking: bool,
    /// What has changed.
    pub text: String,
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
#[must_use]
pub fn compare_surfaces(old: &Surface, new: &Surface) -> Vec<SurfaceChange> {
    let mut changes = SurfaceChanges::default();
    if old.instructions() != new.instructions() {
        changes.push_compatible("the instructions are different");
    }
    changes.compare_extensions(old, new);
    for list in SurfaceList::ALL {
        changes.compare_lists(list, old.items(list), new.items(list));
    }
    changes.0.sort_by_key(|change| !change.is_breaking);
    changes.0
}

#[derive(Default)]
pub(crate) struct SurfaceChanges(Vec<SurfaceChange>);

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

    fn compare_lists(&mut self, list: SurfaceList, old: &[Value], new: &[Value]) {
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
                Some((now, is)) if list == SurfaceList::Templates => {
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

    fn compare_items(&mut self, list: SurfaceList, name: &str, was: &Value, is: &Value) {
        match list {
            SurfaceList::Tools => self.compare_tool_schemas(name, was, is),
            SurfaceList::Prompts => self.compare_prompt_arguments(name, was, is),
            SurfaceList::Resources | SurfaceList::Templates => {}
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

fn items_by_key(list: SurfaceList, items: &[Value]) -> BTreeMap<&str, &Value> {
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
fn kind_and_name(list: SurfaceList, key: &str) -> String {
    format!("{} `{key}`", list.word())
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

#[cfg(test)]
mod tests {
    #![allow(
        clippy::needless_pass_by_value,
        reason = "cases are written where they are used"
    )]

    use serde_json::{Value, json};

    use crate::surface::{Surface, compare_surfaces};

    /// Returns the changes between two surfaces.
    fn changes(old: Value, new: Value) -> Vec<String> {
        let read = |value: Value| Surface::parse(&value.to_string()).unwrap();
        let changes = compare_surfaces(&read(old), &read(new));
        changes.iter().map(ToString::to_string).collect()
    }

    /// Returns the changes reported when a tool's input schema changes.
    fn input(old: Value, new: Value) -> Vec<String> {
        let tool = |schema| json!({"tools": [{"name": "t", "inputSchema": schema}]});
        changes(tool(old), tool(new))
    }

    /// Returns the changes reported when the schema of one argument changes.
    fn argument(old: Value, new: Value) -> Vec<String> {
        let schema = |property| json!({"type": "object", "properties": {"a": property}, "additionalProperties": false});
        input(schema(old), schema(new))
    }

    /// Returns the changes reported when a tool's output schema changes.
    fn output(old: Value, new: Value) -> Vec<String> {
        let tool =
            |schema| json!({"tools": [{"name": "t", "inputSchema": {}, "outputSchema": schema}]});
        changes(tool(old), tool(new))
    }

    fn object(properties: Value, required: Value) -> Value {
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    const WIDER: &str = "changed: tool `t` accepts more, or describes its arguments differently";

    #[test]
    fn equal_surfaces_have_no_changes() {
        let surface = json!({
            "instructions": "x",
            "tools": [{"name": "t", "inputSchema": object(json!({"a": {"$ref": "#/$defs/A"}}), json!([]))}],
            "prompts": [{"name": "p"}], "resources": [{"uri": "a:b"}], "resourceTemplates": [{"uriTemplate": "a:{b}"}],
        });
        assert_eq!(changes(surface.clone(), surface), [""; 0]);
    }

    #[test]
    fn removing_a_definition_is_a_breaking_change_and_adding_one_is_not() {
        for (list, key, word) in [
            ("tools", "name", "tool"),
            ("prompts", "name", "prompt"),
            ("resources", "uri", "resource"),
            ("resourceTemplates", "uriTemplate", "template"),
        ] {
            let one = json!({list: [{key: "x", "name": "x"}]});
            assert_eq!(
                changes(one.clone(), json!({})),
                [format!("breaking: {word} `x` was removed")]
            );
            assert_eq!(
                changes(json!({}), one),
                [format!("changed: {word} `x` was added")]
            );
        }
    }

    #[test]
    fn removing_or_requiring_an_argument_is_a_breaking_change() {
        let text = json!({"type": "string"});
        let one = object(json!({"a": text}), json!([]));
        let two = object(json!({"a": text, "b": text}), json!([]));
        let strict = object(json!({"a": text, "b": text}), json!(["b"]));
        assert_eq!(
            input(two.clone(), one.clone()),
            ["breaking: tool `t`: `b` was removed"]
        );
        assert_eq!(input(one.clone(), two.clone()), [WIDER]);
        assert_eq!(
            input(one, strict.clone()),
            ["breaking: tool `t`: `b` was added and is required"]
        );
        assert_eq!(
            input(two.clone(), strict.clone()),
            ["breaking: tool `t`: `b` is now required"]
        );
        assert_eq!(input(strict, two), [WIDER]);
        assert_eq!(
            input(
                json!({"type": "object"}),
                json!({"type": "object", "additionalProperties": false})
            ),
            ["breaking: tool `t`: unknown members are now refused"]
        );
    }

    #[test]
    fn narrowing_an_argument_is_a_breaking_change() {
        for (wide, narrow, text) in [
            (
                json!({"type": "number"}),
                json!({"type": "integer"}),
                "/a: `type` is now `\"integer\"`, was `\"number\"`",
            ),
            (
                json!({}),
                json!({"type": "string"}),
                "/a: `type` is now `\"string\"`, was absent",
            ),
            (
                json!({"type": ["string", "null"]}),
                json!({"type": "string"}),
                "/a: `type` is now `\"string\"`, was `[\"string\",\"null\"]`",
            ),
            (
                json!({"type": ["string", "integer", "null"]}),
                json!({"type": ["string", "integer"]}),
                "/a: `type` is now `[\"string\",\"integer\"]`, was `[\"string\",\"integer\",\"null\"]`",
            ),
            (
                json!({"type": "string", "enum": ["x", "y"]}),
                json!({"type": "string", "enum": ["x"]}),
                "/a: `\"y\"` is no longer accepted",
            ),
            (
                json!({"type": "string"}),
                json!({"type": "string", "enum": ["x", "y"]}),
                "/a: string is no longer accepted",
            ),
            (
                json!({"oneOf": [{"const": "x"}, {"const": "y"}]}),
                json!({"oneOf": [{"const": "x", "title": "X"}]}),
                "/a: `\"y\"` is no longer accepted",
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
                json!({"type": "string"}),
                "/a: null is no longer accepted",
            ),
            (
                json!({"type": "integer", "minimum": 1}),
                json!({"type": "integer", "minimum": 2}),
                "/a: `minimum` is now `2`, was `1`",
            ),
            (
                json!({"type": "integer", "maximum": 2}),
                json!({"type": "integer", "maximum": 1}),
                "/a: `maximum` is now `1`, was `2`",
            ),
            (
                json!({"type": "integer"}),
                json!({"type": "integer", "minimum": 0}),
                "/a: `minimum` is now `0`, was absent",
            ),
            (
                json!({"type": "number"}),
                json!({"type": "number", "exclusiveMaximum": 1.5}),
                "/a: `exclusiveMaximum` is now `1.5`, was absent",
            ),
            (
                json!({"type": "string", "maxLength": 9}),
                json!({"type": "string", "maxLength": 5}),
                "/a: `maxLength` is now `5`, was `9`",
            ),
            (
                json!({"type": "string", "minLength": 0}),
                json!({"type": "string", "minLength": 1}),
                "/a: `minLength` is now `1`, was `0`",
            ),
            (
                json!({"type": "array"}),
                json!({"type": "array", "minItems": 1}),
                "/a: `minItems` is now `1`, was absent",
            ),
            (
                json!({"type": "array"}),
                json!({"type": "array", "items": {"type": "string"}}),
                "/a: `items` is now `{\"type\":\"string\"}`, was absent",
            ),
            (
                json!({"type": "array", "items": {"type": "number"}}),
                json!({"type": "array", "items": {"type": "integer"}}),
                "/a/items: `type` is now `\"integer\"`, was `\"number\"`",
            ),
            (
                json!({"type": "string"}),
                json!({"type": "string", "pattern": "^x"}),
                "/a: `pattern` is now `\"^x\"`, was absent",
            ),
            (
                json!({"type": "string"}),
                json!({"type": "string", "format": "uri"}),
                "/a: `format` is now `\"uri\"`, was absent",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "number"}}),
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
                "/a/*: `type` is now `\"integer\"`, was `\"number\"`",
            ),
            (
                json!({"type": "object", "properties": {"b": {"type": "string"}}}),
                json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}),
                "/a: `b` is now required",
            ),
        ] {
            assert_eq!(
                argument(wide.clone(), narrow.clone()),
                [format!("breaking: tool `t`: {text}")]
            );
            assert_eq!(argument(narrow, wide), [WIDER], "{text}");
        }
        // Neither schema accepts every value that the other accepts.
        assert_eq!(
            argument(json!({"const": "x"}), json!({"const": "y"})),
            ["breaking: tool `t`: /a: only `\"y\"` is accepted now; previously, it was `\"x\"`"]
        );
        // Descriptions and defaults do not affect which values are accepted.
        let described = json!({"type": "string", "description": "new", "default": "x"});
        assert_eq!(argument(json!({"type": "string"}), described), [WIDER]);
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_compared() {
        let tree = |kind: &str| {
            json!({
                "type": "object", "properties": {"a": {"$ref": "#/$defs/T"}},
                "$defs": {"T": {"type": "object", "properties": {"size": {"type": kind}, "more": {"$ref": "#/$defs/T"}}}},
            })
        };
        assert_eq!(input(tree("integer"), tree("number")), [WIDER]);
        let found = input(tree("number"), tree("integer"));
        assert_eq!(
            found[0],
            "breaking: tool `t`: /a/size: `type` is now `\"integer\"`, was `\"number\"`"
        );
    }

    #[test]
    fn widening_an_output_is_a_breaking_change() {
        let number = json!({"type": "number"});
        let one = object(json!({"a": number}), json!(["a"]));
        let two = object(json!({"a": number, "b": number}), json!(["a", "b"]));
        let more = "changed: tool `t` returns more, or describes its output differently";
        assert_eq!(output(one.clone(), two.clone()), [more]);
        assert_eq!(
            output(two.clone(), one.clone()),
            ["breaking: tool `t`, output: `b` may now be missing"]
        );
        let maybe = object(json!({"a": number}), json!([]));
        assert_eq!(
            output(one.clone(), maybe),
            ["breaking: tool `t`, output: `a` may now be missing"]
        );
        let nullable = object(
            json!({"a": {"anyOf": [number, {"type": "null"}]}}),
            json!(["a"]),
        );
        assert_eq!(
            output(one.clone(), nullable),
            ["breaking: tool `t`, output: /a: may now be null"]
        );
        let integer = object(json!({"a": {"type": "integer"}}), json!(["a"]));
        assert_eq!(output(one.clone(), integer.clone()), [more]);
        assert_eq!(
            output(integer, one.clone()),
            ["breaking: tool `t`, output: /a: `type` is now `\"number\"`, was `\"integer\"`"]
        );
        assert_eq!(
            output(
                json!({"type": "string", "enum": ["x"]}),
                json!({"type": "string", "enum": ["x", "y"]})
            ),
            ["breaking: tool `t`, output: may now be `\"y\"`"]
        );
        let with = json!({"tools": [{"name": "t", "inputSchema": {}, "outputSchema": one}]});
        let without = json!({"tools": [{"name": "t", "inputSchema": {}}]});
        assert_eq!(
            changes(with.clone(), without.clone()),
            ["breaking: tool `t` no longer returns structured output"]
        );
        assert_eq!(
            changes(without, with),
            ["changed: tool `t` now returns structured output"]
        );
    }

    #[test]
    fn arguments_of_prompts_are_compared() {
        let prompt = |arguments: Value| json!({"prompts": [{"name": "p", "arguments": arguments}]});
        let optional = prompt(json!([{"name": "a"}]));
        let required = prompt(json!([{"name": "a", "required": true}]));
        let none = prompt(json!([]));
        for (old, new, text) in [
            (
                &optional,
                &none,
                "breaking: prompt `p`: argument `a` was removed",
            ),
            (
                &optional,
                &required,
                "breaking: prompt `p`: argument `a` is now required",
            ),
            (
                &none,
                &required,
                "breaking: prompt `p`: argument `a` was added and is required",
            ),
            (
                &none,
                &optional,
                "changed: prompt `p`: argument `a` was added",
            ),
            (
                &required,
                &optional,
                "changed: prompt `p`: argument `a` is described differently",
            ),
        ] {
            assert_eq!(changes(old.clone(), new.clone()), [text]);
        }
    }

    #[test]
    fn changing_the_variables_of_a_template_is_a_breaking_change() {
        let template =
            |text: &str| json!({"resourceTemplates": [{"uriTemplate": text, "name": "note"}]});
        assert_eq!(
            changes(template("n:///{id}"), template("n:///{key}")),
            ["breaking: template `n:///{id}` is now `n:///{key}`; variable `id` is now `key`"]
        );
        assert_eq!(
            changes(template("n:///{id}"), template("m:///{id}{?x}")),
            ["breaking: template `n:///{id}` is now `m:///{id}{?x}`"]
        );
    }

    #[test]
    fn changing_titles_and_descriptions_is_not_a_breaking_change() {
        let tool = |member: &str, value: Value| {
            let mut tool = json!({"name": "t", "inputSchema": {}});
            tool[member] = value;
            json!({ "tools": [tool] })
        };
        for (member, text) in [
            ("title", "a different title"),
            ("description", "a different description"),
            ("annotations", "different annotations"),
            ("icons", "different icons"),
            ("_meta", "a different `_meta`"),
        ] {
            assert_eq!(
                changes(tool(member, json!("x")), tool(member, json!("y"))),
                [format!("changed: tool `t` has {text}")]
            );
        }
        assert_eq!(
            changes(json!({"instructions": "x"}), json!({})),
            ["changed: the instructions are different"]
        );
    }

    #[test]
    fn breaking_changes_come_first() {
        let found = changes(
            json!({"instructions": "x", "tools": [{"name": "a"}]}),
            json!({"tools": [{"name": "b"}]}),
        );
        assert_eq!(
            found,
            [
                "breaking: tool `a` was removed",
                "changed: the instructions are different",
                "changed: tool `b` was added"
            ]
        );
    }

    #[test]
    fn removing_an_extension_or_a_method_is_a_breaking_change() {
        let garden = |methods| json!({"extensions": {"e/g": {"settings": {}, "methods": methods}}});
        let before = || garden(json!(["garden/a"]));
        assert_eq!(
            changes(before(), garden(json!(["garden/b"]))),
            [
                "breaking: method `garden/a` of extension `e/g` was removed",
                "changed: method `garden/b` of extension `e/g` was added",
            ]
        );
        let removed = changes(before(), json!({}));
        assert_eq!(removed, ["breaking: extension `e/g` was removed"]);
        let added = changes(json!({}), before());
        assert_eq!(added, ["changed: extension `e/g` was added"]);
    }
}
