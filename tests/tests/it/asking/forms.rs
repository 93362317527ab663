//! What a form can hold, in every revision that has forms.

use serde_json::json;
use tests::{Answer, Revision};

use super::{client, text};

// Covers: ELIC-03, ELIC-12
#[tokio::test]
async fn a_form_holds_every_kind_of_field() {
    for revision in [Revision::C, Revision::D, Revision::E] {
        let (mut client, _) = client(revision).await;
        // The schema of the revision has judged the question already.
        client.answer(move |_| {
            let hues = match revision {
                Revision::C => json!("Red, Blue"),
                _ => json!(["Red", "Blue"]),
            };
            Answer::accept(json!({"colour": "Blue", "hues": hues, "age": 31, "extra": 1}))
        });
        assert_eq!(
            text(&mut client, "everything").await,
            "John Doe 31 95.5 Active true None Some(Blue) [Red, Blue]"
        );
        let properties = &client.asked[0].params["requestedSchema"]["properties"];
        let new = revision > Revision::C;
        assert_eq!(properties["verified"]["default"], true);
        assert_eq!(
            properties["score"]["default"],
            if new { json!(95.5) } else { json!(null) }
        );
        assert_eq!(properties["colour"].get("oneOf").is_some(), new);
        assert_eq!(properties["colour"].get("enumNames").is_some(), !new);
    }
}

#[tokio::test]
async fn a_form_may_be_made_at_run_time() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
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
async fn people_are_sent_to_addresses() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let params = json!({"name": "somewhere", "arguments": {"url": "https://pay.example/1"}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(result["content"][0]["text"], "paid");
        assert_eq!(client.asked[0].params["mode"], "url");
        let id = client.asked[0].params.get("elicitationId");
        assert_eq!(id.is_some(), !revision.is_modern());
        let params = json!({"name": "somewhere", "arguments": {"url": "http://pay.example/1"}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(result["isError"], true);
    }
}
