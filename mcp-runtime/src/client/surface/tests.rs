#![allow(
    clippy::needless_pass_by_value,
    reason = "cases are written where they are used"
)]

use serde_json::{Value, json};

use crate::client::surface::{Surface, compare_surfaces};

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
fn nothing_changed_is_no_change() {
    let surface = json!({
        "instructions": "x",
        "tools": [{"name": "t", "inputSchema": object(json!({"a": {"$ref": "#/$defs/A"}}), json!([]))}],
        "prompts": [{"name": "p"}], "resources": [{"uri": "a:b"}], "resourceTemplates": [{"uriTemplate": "a:{b}"}],
    });
    assert_eq!(changes(surface.clone(), surface), [""; 0]);
}

#[test]
fn what_is_gone_breaks_and_what_is_new_does_not() {
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
fn arguments_that_are_gone_or_required_break() {
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
fn an_argument_that_takes_less_breaks() {
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
fn an_output_that_may_be_more_breaks() {
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
fn a_template_with_other_variables_breaks() {
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
fn what_only_says_something_else_does_not_break() {
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
fn extensions_and_their_methods_must_stay() {
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
