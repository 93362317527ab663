//! `#[arg(…)]` means the same on a parameter, on a field of a `#[data]` type, and on a field of a form.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::{Field, Form};
use serde_json::{Map, Value};
use tests::{Answer, Client, Version};

use super::call;
use crate::support::{connect, raw};

/// What to measure in.
#[data]
#[derive(Elicit)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Kelvin,
}

/// Writes the same values as parameters, as fields and as fields of a variant.
macro_rules! spell {
    ($($(#[$option:meta])* $name:ident: $type:ty,)*) => {
        /// Takes parameters.
        #[tool(tags("one-spelling"))]
        fn parameters($($(#[$option])* $name: $type,)*) -> String {
            let values = [$(json!($name)),*];
            json!(values).to_string()
        }

        #[data]
        struct Fields {
            $($(#[$option])* $name: $type,)*
        }

        /// Takes the fields of a type.
        #[tool(tags("one-spelling"))]
        fn fields(it: Fields) -> String {
            let values = [$(json!(it.$name)),*];
            json!(values).to_string()
        }

        #[data(input)]
        #[serde(tag = "kind")]
        enum Choice {
            Only { $($(#[$option])* $name: $type,)* },
        }

        /// Takes the fields of a variant.
        #[tool(tags("one-spelling"))]
        fn variant(it: Choice) -> String {
            let Choice::Only { $($name,)* } = it;
            let values = [$(json!($name)),*];
            json!(values).to_string()
        }
    };
}

spell! {
    /// How many
    #[arg(range(1..=5), default = 3)]
    people: u8,
    #[arg(range(0..10))]
    below: Option<u32>,
    #[arg(exclusive_minimum = 0, range(..=9))]
    above: i64,
    #[arg(range(0.0..1.0))]
    share: f64,
    #[arg(exclusive_minimum = 0.0, range(..=200.0))]
    weight: Option<f32>,
    #[arg(length(2..=4), default = "ab")]
    code: String,
    #[arg(length(5))]
    exact: Option<String>,
    /// A country
    #[arg(pattern = "^[A-Z]{2}$", example = "FR")]
    country: String,
    /// Replaced
    #[arg(format = "date", description = "On which day")]
    day: Option<String>,
    #[arg(format = "uri")]
    site: Option<String>,
    #[arg(length(1..=3), items(range(0..=23)))]
    hours: Option<Vec<u8>>,
    #[arg(name = "maxResults", example = 5)]
    most: u16,
    #[arg(default = 1 + 1)]
    computed: u64,
    #[arg(default)]
    usual: bool,
    #[arg(default = "celsius")]
    unit: Unit,
    #[arg(default = 2)]
    factor: f64,
    #[arg(default = ["a"], length(..=2))]
    tags: Vec<String>,
}

/// The fields that forms have too.
#[derive(Elicit)]
struct Asked {
    /// How many
    #[arg(range(1..=5), default = 3)]
    people: u8,
    #[arg(range(0..10))]
    below: Option<u32>,
    #[arg(exclusive_minimum = 0, range(..=9))]
    above: i64,
    #[arg(length(2..=4), default = "ab")]
    code: String,
    #[arg(length(5))]
    exact: Option<String>,
    /// Replaced
    #[arg(format = "date", description = "On which day")]
    day: Option<String>,
    #[arg(name = "maxResults")]
    most: u16,
    #[arg(default = 1 + 1)]
    computed: u64,
    #[arg(default)]
    usual: bool,
    #[arg(default = "celsius")]
    unit: Unit,
    #[arg(default = 2)]
    factor: f64,
}

/// Asks for the values with a derived form.
#[tool(tags("one-spelling"))]
async fn form(ctx: &Context) -> Result<String> {
    let asked: Asked = ctx.elicit("Which?").await?;
    let Asked { people, below, .. } = asked;
    let rest = (
        &asked.above,
        &asked.code,
        &asked.exact,
        &asked.day,
        asked.most,
    );
    let defaults = (asked.computed, asked.usual, &asked.unit, asked.factor);
    Ok(json!([people, below, rest, defaults]).to_string())
}

/// Asks for some of the values with a form that is made at run time.
#[tool(tags("one-spelling"))]
async fn made_form(ctx: &Context) -> Result<String> {
    let people = Field::integer().description("How many");
    let form = Form::new()
        .field("people", people.range(1..=5).default(3))
        .optional("below", Field::integer().range(0..10_u32))
        .field("code", Field::text().length(2..=4).default("ab"))
        .optional("exact", Field::text().length(5..=5));
    let answer = ctx.elicit_form("Which?", form).await?;
    Ok(Value::Object(answer).to_string())
}

/// Asks with a range that a form cannot express.
#[tool(tags("one-spelling"))]
async fn open_form(ctx: &Context) -> Result<String> {
    let form = Form::new().field("share", Field::number().range(0.0..1.0));
    Ok(ctx.elicit_form("Which?", form).await?.len().to_string())
}

fn server() -> Server {
    Server::new("arguments", "1").only(Selected::tag("one-spelling"))
}

/// Returns the input schemas of the tools.
async fn schemas(client: &mut Client) -> Map<String, Value> {
    let (tools, _) = client.list("tools/list", "tools").await;
    let named = |tool: &Value| {
        (
            tool["name"].as_str().unwrap().to_owned(),
            tool["inputSchema"].clone(),
        )
    };
    tools.iter().map(named).collect()
}

#[tokio::test]
async fn parameters_and_fields_have_the_same_schema() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let schemas = schemas(&mut client).await;
        let parameters = &schemas["parameters"];
        assert_eq!(parameters["properties"].as_object().unwrap().len(), 17);
        let fields = &schemas["fields"]["properties"]["it"];
        let mut variant = schemas["variant"]["properties"]["it"].clone();
        if let Some(only) = variant.pointer("/anyOf/0") {
            variant = only.clone();
        }
        variant["properties"]
            .as_object_mut()
            .unwrap()
            .remove("kind");
        for (name, expected) in parameters["properties"].as_object().unwrap() {
            assert_eq!(fields["properties"][name], *expected, "{name} {version:?}");
            assert_eq!(variant["properties"][name], *expected, "{name} {version:?}");
        }
        assert_eq!(fields["required"], parameters["required"]);
    }
}

#[tokio::test]
async fn values_outside_are_refused_with_the_same_message() {
    let valid = json!({"above": 1, "share": 0.5, "country": "FR", "maxResults": 1});
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let plain = call(&mut client, "parameters", &valid.to_string()).await;
        let expected =
            r#"[3,null,1,0.5,null,"ab",null,"FR",null,null,null,1,2,false,"celsius",2.0,["a"]]"#;
        assert_eq!(plain.as_deref(), Ok(expected));
        let mut wrapped = json!({"it": valid});
        assert_eq!(
            call(&mut client, "fields", &wrapped.to_string()).await,
            plain
        );
        wrapped["it"]["kind"] = "Only".into();
        assert_eq!(
            call(&mut client, "variant", &wrapped.to_string()).await,
            plain
        );
        for (name, value, message) in [
            ("people", json!(6), "6 is more than 5"),
            ("below", json!(10), "10 is more than 9"),
            ("above", json!(0), "0 is less than 1"),
            ("share", json!(1.0), "1.0 is not less than 1"),
            ("weight", json!(0), "0 is not more than 0"),
            ("code", json!("a"), "has 1 character, but must have 2 to 4"),
            (
                "exact",
                json!("a"),
                "has 1 character, but must have exactly 5",
            ),
            (
                "country",
                json!("fr"),
                "\"fr\" does not match the pattern `^[A-Z]{2}$`",
            ),
            ("hours", json!([]), "has 0 items, but must have 1 to 3"),
            ("hours/0", json!([24]), "24 is more than 23"),
            (
                "maxResults",
                json!("many"),
                "expected integer, received \"many\"",
            ),
            (
                "unit",
                json!("miles"),
                "unknown value \"miles\"; allowed: \"celsius\", \"kelvin\"",
            ),
            (
                "tags",
                json!(["a", "b", "c"]),
                "has 3 items, but may have at most 2",
            ),
        ] {
            let mut arguments = valid.clone();
            arguments[name.trim_end_matches("/0")] = value;
            let refused = call(&mut client, "parameters", &arguments.to_string()).await;
            let text = refused.unwrap_err();
            assert_eq!(text, format!("/{name}: {message}"));
            let fields = json!({"it": arguments}).to_string();
            let refused = call(&mut client, "fields", &fields).await;
            assert_eq!(refused.unwrap_err(), format!("/it/{name}: {message}"));
            arguments["kind"] = "Only".into();
            let variant = json!({"it": arguments}).to_string();
            let refused = call(&mut client, "variant", &variant).await;
            assert_eq!(refused.unwrap_err(), format!("/it/{name}: {message}"));
        }
    }
}

/// Returns a client that can be asked.
async fn asked_client(version: Version) -> Client {
    let mut client = raw(server(), version);
    client.capabilities = json!({"elicitation": {}});
    client.connect().await
}

/// Calls a tool that asks; returns its result, or the reason for the refusal.
async fn ask(client: &mut Client, name: &str) -> Result<String, String> {
    let params = json!({"name": name, "arguments": {}});
    let result = client.ask("tools/call", params).await;
    let result = result.map_err(|failure| format!("{failure:?}"))?;
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    match result["isError"].as_bool() {
        Some(true) => Err(text),
        _ => Ok(text),
    }
}

#[tokio::test]
async fn forms_have_the_schema_of_parameters() {
    for version in Version::ERAS {
        let mut client = asked_client(version).await;
        let schemas = schemas(&mut client).await;
        let valid = json!({"above": 9, "maxResults": 1});
        client.answer(move |_| Answer::accept(valid.clone()));
        let answer = ask(&mut client, "form").await.unwrap();
        assert_eq!(
            answer,
            r#"[3,null,[9,"ab",null,null,1],[2,false,"celsius",2.0]]"#
        );
        let answer = ask(&mut client, "made_form").await.unwrap();
        assert_eq!(answer, r#"{"people":3,"code":"ab"}"#);
        for asked in &client.asked {
            let schema = &asked.params["requestedSchema"];
            for (name, property) in schema["properties"].as_object().unwrap() {
                let expected = &schemas["parameters"]["properties"][name];
                let mut property = property.clone();
                if name == "unit" {
                    // The protocol's forms have no description of a type.
                    property["description"] = expected["description"].clone();
                }
                if name == "maxResults" {
                    property["examples"] = expected["examples"].clone();
                }
                assert_eq!(property, *expected, "{name} {version:?}");
            }
        }
    }
}

#[tokio::test]
async fn answers_outside_are_refused() {
    for version in Version::ERAS {
        let mut client = asked_client(version).await;
        for (name, value) in [
            ("people", json!(6)),
            ("below", json!(10)),
            ("above", json!(0)),
            ("code", json!("a")),
            ("exact", json!("a")),
            ("unit", json!("miles")),
        ] {
            let mut answer = json!({"above": 9, "maxResults": 1});
            answer[name] = value;
            client.answer(move |_| Answer::accept(answer.clone()));
            let refused = ask(&mut client, "form").await.unwrap_err();
            assert!(refused.contains(&format!("`{name}` ")), "{refused}");
        }
        let asked = client.asked.len();
        let refused = ask(&mut client, "open_form").await.unwrap_err();
        let cause = "the field `share` of the form excludes the end of a range of decimal numbers";
        assert!(refused.contains(cause), "{refused}");
        assert_eq!(client.asked.len(), asked);
    }
}
