//! Every kind of form field, in every protocol version that has forms.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::{Answer, Version};

use super::{able, client, client_of, refusal, text};

/// A reason to stop keeping an animal.
#[data]
#[derive(Elicit, Debug)]
#[serde(rename_all = "snake_case")]
enum Reason {
    Died,
    GivenAway,
    #[serde(rename = "lost!")]
    RanAway,
}

#[derive(Elicit, Debug)]
#[serde(rename_all = "camelCase")]
struct Farewell {
    last_seen: String,
    #[serde(rename = "why")]
    reason: Reason,
    #[arg(name = "said")]
    #[serde(rename = "unused")]
    last_words: Option<String>,
}

/// Asks why.
#[tool(tags("renamed"))]
async fn farewell(ctx: &Context, expected: Reason) -> Result<String> {
    let farewell: Farewell = ctx.elicit("Why?").key("why").await?;
    Ok(format!("{expected:?} {farewell:?}"))
}

#[tokio::test]
async fn form_fields_have_their_serde_names() {
    for version in Version::ERAS {
        let server = new_server!().only(Selected::tag("renamed"));
        let mut client = client_of(server, version, able()).await;
        client.answer(|_| {
            Answer::accept(json!({"lastSeen": "May", "why": "given_away", "said": "moo"}))
        });
        let (tools, _) = client.list("tools/list", "tools").await;
        let schema = &tools[0]["inputSchema"];
        let reasons = json!(["died", "given_away", "lost!"]);
        assert!(
            schema.to_string().contains(&reasons.to_string()),
            "{schema}"
        );
        let params = json!({"name": "farewell", "arguments": {"expected": "lost!"}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(
            result["content"][0]["text"],
            "RanAway Farewell { last_seen: \"May\", reason: GivenAway, last_words: Some(\"moo\") }",
        );
        let properties = &client.asked[0].params["requestedSchema"]["properties"];
        let names: Vec<_> = properties.as_object().unwrap().keys().collect();
        assert_eq!(names, ["lastSeen", "why", "said"]);
        assert_eq!(properties["why"]["enum"], reasons);
    }
}

// Covers: ELIC-02, ELIC-03, ELIC-12
#[tokio::test]
async fn a_form_holds_every_kind_of_field() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let (mut client, _) = client(version).await;
        // The question has already been checked against the schema of the protocol version.
        client.answer(move |_| {
            let hues = match version {
                Version::V2025_06_18 => json!("Red, Blue"),
                _ => json!(["Red", "Blue"]),
            };
            Answer::accept(json!({"colour": "Blue", "hues": hues, "age": 31, "extra": 1}))
        });
        assert_eq!(
            text(&mut client, "everything").await,
            "John Doe 31 95.5 Active true None Some(Blue) [Red, Blue]"
        );
        let new = version > Version::V2025_06_18;
        let params = &client.asked[0].params;
        assert_eq!(params["message"], "Everything, please");
        // Modes were added later, so in this version a capability without modes means forms.
        let mode = params.get("mode").cloned();
        assert!(
            mode.is_none() || (new && mode == Some(json!("form"))),
            "{mode:?}"
        );
        let schema = &params["requestedSchema"];
        assert_eq!(schema["type"], "object");
        let properties = &schema["properties"];
        assert_eq!(properties["verified"]["default"], true);
        for (field, default) in [
            ("name", json!("John Doe")),
            ("age", json!(30)),
            ("score", json!(95.5)),
            ("status", json!("active")),
        ] {
            let expected = new.then_some(&default);
            assert_eq!(properties[field].get("default"), expected, "{field}");
        }
        assert_eq!(properties["status"]["enum"], json!(["active", "inactive"]));
        assert_eq!(properties["email"]["format"], "email");
        assert_eq!(properties["colour"].get("oneOf").is_some(), new);
        assert_eq!(properties["colour"].get("enumNames").is_some(), !new);
        let (hues, kind) = (&properties["hues"], if new { "array" } else { "string" });
        assert_eq!(hues["type"], kind);
        assert_eq!(hues["items"].get("anyOf").is_some(), new);
        assert_eq!(hues.get("maxItems").is_some(), new);
    }
}

// Covers: ELIC-12
#[tokio::test]
async fn a_form_may_be_made_at_run_time() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        client.answer(|_| Answer::accept(json!({"legacy": "o2", "many": ["m1"]})));
        let answer = text(&mut client, "made_form").await;
        assert_eq!(answer, r#"{"legacy":"o2","many":["m1"]}"#);
        let properties = &client.asked[0].params["requestedSchema"]["properties"];
        assert_eq!(properties["legacy"]["enumNames"], json!(["One", "Two"]));
        assert_eq!(properties["many"]["items"]["anyOf"][0]["const"], "m1");
    }
}

// Covers: ELIC-06, ELIC-10
#[tokio::test]
async fn url_elicitations_send_the_url_to_the_user() {
    for version in Version::ERAS {
        let (mut client, _) = client(version).await;
        let params = json!({"name": "somewhere", "arguments": {"url": "https://pay.example/1"}});
        let result = client.ask("tools/call", params.clone()).await.unwrap();
        assert_eq!(result["content"][0]["text"], "paid");
        assert_eq!(client.asked[0].params["mode"], "url");
        assert_eq!(client.asked[0].params["url"], "https://pay.example/1");
        assert!(client.asked[0].params["message"].is_string());
        client.ask("tools/call", params).await.unwrap();
        let ids: Vec<_> = client
            .asked
            .iter()
            .filter_map(|asked| asked.params.get("elicitationId"))
            .collect();
        if version.is_modern() {
            assert_eq!(ids, [&json!(null); 0]);
        } else {
            assert_eq!(ids.len(), 2);
            assert_ne!(ids[0], ids[1]);
        }
        let params = json!({"name": "somewhere", "arguments": {"url": "http://pay.example/1"}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(result["isError"], true);
    }
}

#[derive(Elicit, Debug)]
struct Stay {
    /// Which room?
    #[arg(title = "Room")]
    room: String,
    #[arg(range(1..))]
    nights: u32,
    #[arg(length(..=1))]
    extras: Vec<String>,
}

/// Books a room that is free.
#[tool(tags("changed-fields"))]
async fn stay(ctx: &Context, free: Vec<String>, most: u32) -> Result<String> {
    let stay: Stay = ctx
        .elicit("Which room?")
        .field("room", |field| field.choices(free))
        .field("nights", |field| field.range(1..=most))
        .field("extras", |field| {
            field.choices([("cot", "A cot"), ("park", "Parking")])
        })
        .await?;
    Ok(format!("{stay:?}"))
}

/// Asks twice with the same key.
#[tool(tags("changed-fields"))]
async fn stay_longer(ctx: &Context) -> Result<String> {
    let ask = |most: u32| {
        let ask = ctx.elicit::<Stay>("How long?").key("stay");
        let ask = ask.field("extras", |field| field.choices(["cot"]));
        let ask = ask.field("room", |field| field.choices(["any"]));
        ask.field("nights", |field| field.range(1..=most))
    };
    let (first, second) = (ask(3).await?, ask(5).await?);
    Ok(format!("{} {}", first.nights, second.nights))
}

#[derive(Elicit, Debug)]
struct Why {
    reasons: Vec<Reason>,
}

/// Offers some of the reasons.
#[tool(tags("changed-fields"))]
async fn why(ctx: &Context) -> Result<String> {
    let ask = ctx.elicit::<Why>("Why?");
    let ask = ask.field("reasons", |field| field.keep_choices(|it| it != "died"));
    Ok(format!("{:?}", ask.await?.reasons))
}

/// Asks with a bound that changes between the first run and all later ones.
#[tool(tags("growing-bound"))]
async fn growing(ctx: &Context, runs: &State<AtomicU32>) -> Result<String> {
    let most = if runs.fetch_add(1, SeqCst) == 0 { 3 } else { 5 };
    let ask = ctx.elicit::<Nights>("How long?").key("stay");
    let Nights { nights } = ask.field("nights", |field| field.range(1..=most)).await?;
    Ok(nights.to_string())
}

#[derive(Elicit)]
struct Nights {
    nights: u32,
}

/// Asks for a choice although there is nothing to choose from.
#[tool(tags("changed-fields"))]
async fn nothing_free(ctx: &Context) -> Result<String> {
    let stay = ctx.elicit::<Stay>("Which room?").await?;
    Ok(format!("{stay:?}"))
}

/// Changes a field that the form does not have.
#[tool(tags("changed-fields"))]
async fn misspelled(ctx: &Context) -> Result<String> {
    let ask = ctx.elicit::<Stay>("How long?");
    let stay = ask.field("night", |field| field.range(1..=2)).await?;
    Ok(format!("{stay:?}"))
}

// Covers: ELIC-02
#[tokio::test]
async fn form_fields_can_be_changed_for_one_elicitation() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let server = new_server!().only(Selected::tag("changed-fields"));
        let mut client = client_of(server, version, able()).await;
        // This version has no lists in forms.
        let list = move |extra: &str| match version {
            Version::V2025_06_18 => json!(extra),
            _ => json!([extra]),
        };
        let mut answers = vec![
            json!({"room": "blue", "nights": 3, "extras": list("park")}),
            json!({"room": "red", "nights": 3, "extras": list("park")}),
            json!({"room": "blue", "nights": 4, "extras": list("bike")}),
        ];
        client.answer(move |_| Answer::accept(answers.pop().unwrap()));
        let arguments = json!({"free": ["blue", "green"], "most": 3});
        let params = json!({"name": "stay", "arguments": arguments});
        let result = client.ask("tools/call", params).await.unwrap();
        let stay = &result["content"][0]["text"];
        assert_eq!(
            stay,
            r#"Stay { room: "blue", nights: 3, extras: ["park"] }"#
        );
        assert_eq!(client.asked.len(), 3);
        let schema = &client.asked[0].params["requestedSchema"];
        let (room, nights) = (
            &schema["properties"]["room"],
            &schema["properties"]["nights"],
        );
        assert_eq!(
            *room,
            json!({"type": "string", "title": "Room", "description": "Which room?", "enum": ["blue", "green"]})
        );
        assert_eq!(
            *nights,
            json!({"type": "integer", "minimum": 1, "maximum": 3})
        );
        let extras = schema["properties"]["extras"].to_string();
        assert!(extras.contains("park"), "{extras}");
        let has_titles = version > Version::V2025_06_18;
        assert_eq!(extras.contains("Parking"), has_titles, "{extras}");
        assert_eq!(schema["required"], json!(["room", "nights", "extras"]));

        client.answer(move |asked| {
            let most = &asked.params["requestedSchema"]["properties"]["nights"]["maximum"];
            Answer::accept(json!({"room": "any", "nights": most, "extras": list("cot")}))
        });
        assert_eq!(text(&mut client, "stay_longer").await, "3 5");

        client.answer(move |asked| {
            let reasons = asked.params["requestedSchema"]["properties"]["reasons"].to_string();
            assert!(reasons.contains("given_away") && !reasons.contains("died"));
            Answer::accept(json!({"reasons": list("lost!")}))
        });
        assert_eq!(text(&mut client, "why").await, "[RanAway]");

        let failed = client
            .ask("tools/call", json!({"name": "misspelled"}))
            .await;
        assert_eq!(failed.unwrap_err().code, -32603);
        let asked = client.asked.len();
        let text = refusal(&mut client, "nothing_free").await;
        let cause = "the field `extras` of the form offers no choices";
        assert!(text.contains(cause), "{text}");
        assert_eq!(client.asked.len(), asked);
    }
}

// Covers: MRTR-10
#[tokio::test]
async fn a_field_that_changes_between_rounds_is_asked_for_again_under_the_same_key() {
    let server = new_server!()
        .only(Selected::tag("growing-bound"))
        .state(AtomicU32::new(0));
    let mut client = client_of(server, Version::V2026_07_28, able()).await;
    client.answer(|asked| {
        let most = &asked.params["requestedSchema"]["properties"]["nights"]["maximum"];
        Answer::accept(json!({"nights": most}))
    });
    assert_eq!(text(&mut client, "growing").await, "5");
    assert_eq!(client.asked.len(), 2);
}
