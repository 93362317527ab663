use super::*;
use ProtocolVersion as V;

fn form() -> Form {
    Form::new()
        .field(
            "email",
            Field::text().format(FieldFormat::Email).length(3..),
        )
        .field("days", Field::integer().range(1..=14).default(3))
        .field("sure", Field::boolean().default(true))
        .optional(
            "units",
            Field::one_of([("c", "Celsius"), ("f", "Fahrenheit")]),
        )
        .optional("tags", Field::many_of(["a", "b"]).length(1..=2))
}

// Covers: ELIC-03, ELIC-12
#[test]
fn a_form_is_encoded_for_its_protocol_version() {
    let new = form_schema(&form(), V::V2026_07_28);
    assert_eq!(new, form_schema(&form(), V::V2025_11_25));
    expect_test::expect![[r#"{"type":"object","properties":{"email":{"type":"string","minLength":3,"format":"email"},"days":{"type":"integer","minimum":1,"maximum":14,"default":3},"sure":{"type":"boolean","default":true},"units":{"type":"string","oneOf":[{"const":"c","title":"Celsius"},{"const":"f","title":"Fahrenheit"}]},"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2}},"required":["email"]}"#]]
    .assert_eq(&new.to_string());
    expect_test::expect![[r#"{"type":"object","properties":{"email":{"type":"string","minLength":3,"format":"email"},"days":{"type":"integer","minimum":1,"maximum":14},"sure":{"type":"boolean","default":true},"units":{"type":"string","enum":["c","f"],"enumNames":["Celsius","Fahrenheit"]},"tags":{"type":"string","description":"any of a, b, separated by commas"}},"required":["email"]}"#]]
    .assert_eq(&form_schema(&form(), V::V2025_06_18).to_string());
}

// Covers: ELIC-06
#[test]
fn an_elicitation_url_must_be_https_or_loopback() {
    for (url, is_fine) in [
        ("https://example.com/pay?id=1", true),
        ("HTTPS://example.com", true),
        ("http://localhost:8000/x", true),
        ("http://[::1]:8000/x", true),
        ("http://example.com", false),
        ("https://user:secret@example.com", false),
        ("https://", false),
        ("javascript:alert(1)", false),
        ("https://example.com/a b", false),
        ("", false),
    ] {
        assert_eq!(check_url(url).is_ok(), is_fine, "{url}");
    }
}

// Covers: SAMP-04
#[test]
fn each_tool_use_in_a_sampling_request_needs_its_tool_result() {
    let use_of = |id: &str| SamplingContent::ToolUse {
        id: id.into(),
        name: "t".into(),
        input: Map::new(),
    };
    let result_of = |id: &str| SamplingContent::ToolResult {
        tool_use_id: id.into(),
        content: Vec::new(),
        is_error: false,
    };
    let start = SamplingRequest::user("go").message(Role::Assistant, use_of("1"));
    assert!(check_conversation(&start).is_err());
    let paired = start.clone().message(Role::User, result_of("1"));
    assert!(check_conversation(&paired).is_ok());
    let foreign = start.clone().message(Role::User, result_of("2"));
    assert!(check_conversation(&foreign).is_err());
    let unused = SamplingRequest::user("go").message(Role::User, result_of("1"));
    assert!(check_conversation(&unused).is_err());
    let unanswered = start.clone().message(Role::User, "no");
    let answered_late = unanswered.message(Role::User, result_of("1"));
    assert!(check_conversation(&answered_late).is_err());
    assert!(check_conversation(&start.message(Role::User, "no")).is_err());
    assert_eq!(
        required_features(&InputRequest::Sample(Box::new(paired))),
        [ClientFeature::SamplingTools]
    );
}

#[test]
fn an_input_request_that_is_nested_too_deeply_is_refused() {
    let nested = |depth| {
        let value = (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        let mut sample = SamplingRequest::user("go");
        sample.tools = vec![value];
        check(&InputRequest::Sample(Box::new(sample)))
    };
    nested(100).unwrap();
    nested(200).unwrap_err();
}

// Covers: SAMP-03
#[test]
fn older_versions_get_one_content_block_per_message_and_no_audio() {
    let mut sample = SamplingRequest::user("look");
    sample.messages = vec![
        SamplingMessage::new(Role::User, "look")
            .and(crate::types::AudioContent::new(b"x", "audio/wav")),
    ];
    let old = sampling_params(&sample, V::V2024_11_05);
    assert_eq!(
        old["messages"][1]["content"]["text"],
        "[audio, audio/wav, which cannot be sent]"
    );
    let new = sampling_params(&sample, V::V2025_11_25);
    assert_eq!(new["messages"][0]["content"][1]["type"], "audio");
}

#[test]
fn meta_of_sampling_content_is_left_out_for_versions_without_it() {
    let mut text = crate::types::TextContent::new("go");
    text.meta = Some(serde_json::Map::from_iter([(
        "com.example/a".to_owned(),
        1.into(),
    )]));
    let request = SamplingRequest::user(SamplingContent::Text(text));
    for (version, has_meta) in [(V::V2025_03_26, false), (V::V2025_06_18, true)] {
        let params = sampling_params(&request, version).to_string();
        assert_eq!(params.contains("com.example/a"), has_meta, "{params}");
    }
}
