//! The rules of the large model APIs for tools, which the tools of the examples keep as they are served.
//!
//! Hosts hand the schemas on to a model. One that its API refuses makes the whole server useless there.
//!
//! One rule is left out because no schema can keep it everywhere: with `strict: true`, `OpenAI` wants every argument to be
//! required, and one that may be left out has `null` among its types, which Gemini does not take. Hosts that want strict
//! checks say it in that way themselves, and `null` is taken for "left out" here.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::Version;

use crate::examples::{Directory, start};

/// Something an API demands.
struct Rule {
    /// The API with this rule, and its public page.
    source: &'static str,
    demand: Demand,
}

enum Demand {
    /// The name of a tool is no longer than this, and of letters, digits and these.
    Name(usize, &'static str),
    /// The name of an argument: as above, and it begins with a letter or `_`.
    Argument(usize, &'static str),
    /// The schema is that of an object, and at its root stands none of these.
    Root(&'static [&'static str]),
    /// Schemas are made of these keywords.
    Keywords(&'static [&'static str]),
    /// Every schema names one type.
    Type,
    /// Every object is closed.
    Closed,
    /// Every array says what its items are.
    Items,
    /// `enum` lists texts.
    Texts,
    /// `format` is one of these.
    Formats(&'static [&'static str]),
    /// At most so many levels of objects, and arguments in all.
    Size(usize, usize),
}

const RULES: &[Rule] = &[
    Rule {
        source: "OpenAI, API reference, function tools: https://platform.openai.com/docs/api-reference/chat/create",
        demand: Demand::Name(64, "_-"),
    },
    Rule {
        source: "Anthropic, define tools: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools",
        demand: Demand::Name(64, "_-"),
    },
    Rule {
        source: "Google, FunctionDeclaration: https://ai.google.dev/api/caching#FunctionDeclaration",
        demand: Demand::Argument(64, "_"),
    },
    Rule {
        source: "OpenAI, supported schemas: https://developers.openai.com/api/docs/guides/structured-outputs",
        demand: Demand::Root(&["anyOf"]),
    },
    Rule {
        source: "Anthropic, as its API answers: https://github.com/anthropics/claude-code/issues/5319",
        demand: Demand::Root(&["anyOf", "oneOf", "allOf"]),
    },
    Rule {
        source: "OpenAI, supported schemas: https://developers.openai.com/api/docs/guides/structured-outputs",
        demand: Demand::Keywords(&[
            "type",
            "title",
            "description",
            "default",
            "enum",
            "const",
            "anyOf",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "multipleOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ]),
    },
    Rule {
        source: "Google, Schema: https://ai.google.dev/api/caching#Schema",
        demand: Demand::Keywords(&[
            "type",
            "title",
            "description",
            "default",
            "example",
            "enum",
            "anyOf",
            "nullable",
            "properties",
            "propertyOrdering",
            "required",
            "additionalProperties",
            "minProperties",
            "maxProperties",
            "items",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "minimum",
            "maximum",
        ]),
    },
    Rule {
        source: "Google, Schema, `type`: https://ai.google.dev/api/caching#Schema",
        demand: Demand::Type,
    },
    Rule {
        source: "Google, Schema, `items`: https://ai.google.dev/api/caching#Schema",
        demand: Demand::Items,
    },
    Rule {
        source: "Google, Schema, `enum`: https://ai.google.dev/api/caching#Schema",
        demand: Demand::Texts,
    },
    Rule {
        source: "OpenAI, supported schemas: https://developers.openai.com/api/docs/guides/structured-outputs",
        demand: Demand::Closed,
    },
    Rule {
        source: "OpenAI, supported schemas: https://developers.openai.com/api/docs/guides/structured-outputs",
        demand: Demand::Formats(&[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
        ]),
    },
    Rule {
        source: "OpenAI, supported schemas: https://developers.openai.com/api/docs/guides/structured-outputs",
        demand: Demand::Size(10, 5_000),
    },
];

/// A schema and all that stand inside of it, each with how many objects it stands in.
fn schemas(schema: &Value, depth: usize) -> Vec<(&Value, usize)> {
    let inner = depth + usize::from(schema["type"] == "object");
    let mut all = vec![(schema, depth)];
    let properties = schema["properties"].as_object().into_iter().flatten();
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    for schema in properties
        .map(|(_, schema)| schema)
        .chain(choices)
        .chain(schema.get("items"))
    {
        all.extend(schemas(schema, inner));
    }
    all
}

fn named(name: &str, longest: usize, beside: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || beside.contains(letter);
    (1..=longest).contains(&name.len()) && name.chars().all(allowed)
}

impl Demand {
    fn is_met(&self, tool: &Value) -> bool {
        let root = &tool["inputSchema"];
        let schemas = schemas(root, 0);
        let each = |holds: &dyn Fn(&Value) -> bool| schemas.iter().all(|(schema, _)| holds(schema));
        let names = |schema: &Value| -> Vec<String> {
            let properties = schema["properties"].as_object();
            properties
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect()
        };
        match *self {
            Self::Name(longest, beside) => named(tool["name"].as_str().unwrap(), longest, beside),
            Self::Argument(longest, beside) => each(&|schema| {
                names(schema).iter().all(|name| {
                    named(name, longest, beside)
                        && !name.starts_with(|first: char| first.is_ascii_digit())
                })
            }),
            Self::Root(refused) => {
                root["type"] == "object"
                    && refused.iter().all(|keyword| root.get(keyword).is_none())
            }
            Self::Keywords(known) => each(&|schema| {
                let keywords = schema.as_object().unwrap();
                keywords
                    .keys()
                    .all(|keyword| known.contains(&keyword.as_str()))
            }),
            Self::Type => each(&|schema| schema["type"].is_string() || schema["anyOf"].is_array()),
            Self::Closed => each(&|schema| {
                schema["type"] != "object" || schema["additionalProperties"] == false
            }),
            Self::Items => each(&|schema| schema["type"] != "array" || schema["items"].is_object()),
            Self::Texts => each(&|schema| {
                let values = schema["enum"].as_array();
                values.into_iter().flatten().all(Value::is_string)
            }),
            Self::Formats(known) => each(&|schema| {
                let format = schema["format"].as_str();
                format.is_none_or(|format| known.contains(&format))
            }),
            Self::Size(levels, arguments) => {
                let deepest = schemas.iter().map(|(_, depth)| *depth).max();
                let count: usize = schemas.iter().map(|(schema, _)| names(schema).len()).sum();
                deepest < Some(levels + 1) && count <= arguments
            }
        }
    }
}

/// Examples whose tools are not looked at here.
const LEFT_OUT: [&str; 7] = [
    "call_hello", // is a client
    "protected",  // needs an authorization server
    // Serve what others serve, over something else.
    "tcp",
    "unix_socket",
    "axum_app",
    "metrics",
    "tls",
];

fn examples() -> BTreeSet<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/src/bin");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    names
        .filter(|name| !LEFT_OUT.contains(&name.as_str()))
        // The other fixtures hold schemas that some hosts refuse, on purpose.
        .chain(["everything".to_owned()])
        .collect()
}

#[tokio::test]
async fn the_tools_of_the_examples_are_taken_everywhere() {
    let directory = Directory::new("model-apis", Version::V2026_07_28);
    let tools = r#"[{"name": "greet", "description": "Greets", "arguments": {"name": "Who"}, "answer": "Hello"}]"#;
    std::fs::write(directory.join("tools.json"), tools).unwrap();
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (tools, database) = (path("tools.json"), path("notes.db"));
    let variables = [
        ("DYNAMIC_TOOLS", tools.as_str()),
        ("NOTES_DB", &database),
        ("FILES_ROOT", &path("")),
    ];
    let mut faults = Vec::new();
    let mut judged = 0;
    for example in examples() {
        for version in Version::ERAS {
            let mut process = start(&example, &variables, version).await;
            if example == "files" {
                break; // has none
            }
            let (tools, _) = process.client.list("tools/list", "tools").await;
            assert!(!tools.is_empty(), "{example}");
            judged += tools.len();
            for (tool, rule) in tools
                .iter()
                .flat_map(|tool| RULES.iter().map(move |rule| (tool, rule)))
            {
                if !rule.demand.is_met(tool) {
                    faults.push(format!("{example}: {}: {tool}", rule.source));
                }
            }
        }
    }
    assert!(judged > 50, "{judged} tools");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_an_api_refuses_is_noticed() {
    let schema = |schema: Value| json!({"name": "a", "inputSchema": schema});
    let argument = |argument: Value| {
        let properties = json!({"a": argument});
        schema(json!({"type": "object", "properties": properties, "additionalProperties": false}))
    };
    let named = |name: &str| {
        let properties = json!({name: {"type": "string"}});
        schema(json!({"type": "object", "properties": properties, "additionalProperties": false}))
    };
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = json!({"type": "object", "properties": {"a": deep}, "additionalProperties": false});
    }
    let refused = [
        json!({"name": "a.b", "inputSchema": {"type": "object"}}),
        json!({"name": "a".repeat(65), "inputSchema": {"type": "object"}}),
        named("a-b"),
        named("1"),
        schema(json!({"type": "string"})),
        schema(json!({"type": "object", "anyOf": []})),
        schema(json!({"type": "object", "oneOf": []})),
        schema(json!({"type": "object"})),
        schema(deep),
        argument(json!({"$ref": "#/$defs/a"})),
        argument(json!({"type": ["string", "null"]})),
        argument(json!({"type": "string", "format": "uint8"})),
        argument(json!({"type": "integer", "enum": [1]})),
        argument(json!({"type": "array"})),
        argument(json!({"type": "array", "items": {"const": 1}})),
        argument(json!({})),
    ];
    let mut broken = BTreeSet::new();
    for tool in &refused {
        let faults: Vec<_> = (0..RULES.len())
            .filter(|rule| !RULES[*rule].demand.is_met(tool))
            .collect();
        assert!(!faults.is_empty(), "{tool}");
        broken.extend(faults);
    }
    assert_eq!(broken.len(), RULES.len(), "every rule can be broken");
    let taken = argument(json!({"type": "integer", "minimum": 1, "default": 3}));
    assert!(RULES.iter().all(|rule| rule.demand.is_met(&taken)));
}
