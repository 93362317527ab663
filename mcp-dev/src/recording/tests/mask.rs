use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::recording::mask::RecordingMasker;
use crate::recording::secrets::{KnownSecrets, MASK, in_environment};
use crate::session::Era;

fn mask(masker: &mut RecordingMasker, sent: bool, message: Value) -> Value {
    masker.mask(Era::Legacy, sent, message)
}

fn knows_login() -> RecordingMasker {
    let mut masker = RecordingMasker::default();
    let schema = json!({"properties": {
        "user": {"type": "string"},
        "key": {"$ref": "#/$defs/key"},
        "more": {"type": "array", "items": {"anyOf": [{"type": "null"}, {"type": "string", "writeOnly": true}]}},
    }, "$defs": {"key": {"type": "string", "format": "password"}}});
    mask(&mut masker, true, json!({"id": 1, "method": "tools/list"}));
    let tools = json!({"id": 1, "result": {"tools": [{"name": "login", "inputSchema": schema}]}});
    assert_eq!(mask(&mut masker, false, tools.clone()), tools);
    masker
}

#[test]
fn values_that_a_schema_marks_as_secret_are_hidden_everywhere() {
    let mut masker = knows_login();
    let arguments = json!({"user": "ada", "key": "open \"sesame\"", "more": ["pin 1234"]});
    let call = json!({"id": 2, "method": "tools/call", "params": {"name": "login", "arguments": arguments}});
    let hidden = mask(&mut masker, true, call);
    let expected = json!({"user": "ada", "key": MASK, "more": [MASK]});
    assert_eq!(hidden["params"]["arguments"], expected);
    let echo = json!({"key": "open \"sesame\""}).to_string();
    let result = json!({"id": 2, "result": {"content": [{"type": "text", "text": format!("{echo} and pin 1234")}]}});
    let hidden = mask(&mut masker, false, result).to_string();
    assert!(
        !hidden.contains("sesame") && !hidden.contains("1234"),
        "{hidden}"
    );
}

#[test]
fn answers_to_forms_are_hidden_in_both_eras() {
    let schema = json!({"properties": {"code": {"type": "string", "format": "password"}}});
    let answer = json!({"action": "accept", "content": {"code": "swordfish"}});
    let mut masker = RecordingMasker::default();
    let params = json!({"requestedSchema": schema});
    mask(
        &mut masker,
        false,
        json!({"id": "q", "method": "elicitation/create", "params": params}),
    );
    let hidden = mask(&mut masker, true, json!({"id": "q", "result": answer}));
    assert_eq!(hidden["result"]["content"]["code"], MASK);

    let mut masker = RecordingMasker::default();
    let asked = json!({"id": 1, "result": {"inputRequests": {"k": {"method": "elicitation/create", "params": params}}}});
    mask(&mut masker, false, asked);
    let params = json!({"name": "login", "inputResponses": {"k": answer}});
    let hidden = mask(
        &mut masker,
        true,
        json!({"id": 2, "method": "tools/call", "params": params}),
    );
    assert_eq!(
        hidden["params"]["inputResponses"]["k"]["content"]["code"],
        MASK
    );
}

#[test]
fn arguments_without_a_known_schema_and_results_marked_secret_are_hidden() {
    let mut masker = knows_login();
    let call = |name: &str, arguments: Value| json!({"id": 5, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let hidden = mask(
        &mut masker,
        true,
        call("other", json!({"a": {"b": [1, "c"]}, "d": null})),
    );
    assert_eq!(
        hidden["params"]["arguments"],
        json!({"a": {"b": [MASK, MASK]}, "d": null})
    );
    // Tools listed in one era are known in the other.
    let arguments = json!({"user": "ada", "key": "k"});
    let hidden = masker.mask(Era::Modern, true, call("login", arguments));
    assert_eq!(
        hidden["params"]["arguments"],
        json!({"user": "ada", "key": MASK})
    );

    let secret = json!({"type": "integer", "description": "A pin (format `password`)"});
    let schema = json!({"properties": {"all": {"prefixItems": [true, secret], "patternProperties": {"^p": secret}, "then": {"properties": {"x": secret}}}}});
    let tools = json!({"id": 6, "result": {"tools": [{"name": "pin", "inputSchema": {}, "outputSchema": schema}]}});
    mask(&mut masker, true, json!({"id": 6, "method": "tools/list"}));
    mask(&mut masker, false, tools);
    mask(&mut masker, true, call("pin", json!({})));
    let result = |all: Value| json!({"id": 5, "result": {"structuredContent": {"all": all}, "content": [{"type": "text", "text": "it is 471142"}]}});
    let hidden = mask(&mut masker, false, result(json!([12345, 471_142])));
    assert_eq!(
        hidden["result"]["structuredContent"]["all"],
        json!([12345, MASK])
    );
    assert_eq!(
        hidden["result"]["content"][0]["text"],
        format!("it is {MASK}")
    );
    mask(&mut masker, true, call("pin", json!({})));
    let hidden = mask(&mut masker, false, result(json!({"p1": 1, "x": 2})));
    assert_eq!(
        hidden["result"]["structuredContent"]["all"],
        json!({"p1": MASK, "x": MASK})
    );
}

#[test]
fn the_result_of_a_task_is_masked_like_the_result_of_its_tool() {
    let mut masker = RecordingMasker::default();
    let schema = json!({"properties": {"key": {"writeOnly": true}}});
    mask(&mut masker, true, json!({"id": 1, "method": "tools/list"}));
    let tools = json!({"id": 1, "result": {"tools": [{"name": "make", "inputSchema": {}, "outputSchema": schema}]}});
    mask(&mut masker, false, tools);
    mask(
        &mut masker,
        true,
        json!({"id": 2, "method": "tools/call", "params": {"name": "make"}}),
    );
    mask(
        &mut masker,
        false,
        json!({"id": 2, "result": {"task": {"taskId": "t"}}}),
    );
    mask(
        &mut masker,
        true,
        json!({"id": 3, "method": "tasks/result", "params": {"taskId": "t"}}),
    );
    let result =
        json!({"id": 3, "result": {"structuredContent": {"key": "abracadabra"}, "content": []}});
    let hidden = mask(&mut masker, false, result);
    assert_eq!(hidden["result"]["structuredContent"]["key"], MASK);
}

/// Returns the secrets in variables.
fn secrets_in(variables: &[(&str, &str)]) -> Vec<String> {
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let found = in_environment(variables).into_iter();
    found.map(|(_, value)| value).collect()
}

#[test]
fn variables_with_telling_names_and_passwords_in_urls_are_secrets() {
    let values = secrets_in(&[
        ("GITHUB_TOKEN", "abcdef"),
        ("my_api_key", "ghijkl"),
        ("DATABASE_URL", "postgres://ada:s3cr:et@host/db"),
        ("HOME", "/home/ada"),
        ("PROXY", "http://host:3128/"),
        ("SHORT_SECRET", "abc"),
    ]);
    assert_eq!(values, ["abcdef", "ghijkl", "s3cr:et"]);
    let mut masker = RecordingMasker::default();
    for value in &values {
        masker.learn(value);
    }
    let echo =
        json!({"method": "notifications/message", "params": {"data": {"abcdef": "xghijklx"}}});
    let hidden = mask(&mut masker, false, echo);
    assert_eq!(hidden["params"]["data"], json!({MASK: format!("x{MASK}x")}));
}

#[test]
fn names_of_variables_are_matched_by_whole_words() {
    let folder = std::env::temp_dir();
    let folder = folder.to_str().unwrap();
    for (name, value, secrets) in [
        ("OPENAI_KEY", "sk-12345678", &["sk-12345678"][..]),
        ("GITHUB_PAT", "ghp_1234", &["ghp_1234"]),
        ("DB_PASS", "hunter2", &["hunter2"]),
        ("db-pwd", "pass", &["pass"]),
        ("AUTH", "Bearer 12345678", &["12345678"]),
        ("GOOGLE_CREDENTIALS", folder, &[folder]),
        ("SESSION_COOKIE", "sid=123456", &["sid=123456"]),
        (
            "SENTRY_DSN",
            "https://u:hunter2@host/1",
            &["https://u:hunter2@host/1", "hunter2"],
        ),
        (
            "REMOTE",
            "https://ghp_1234567890abcdef@host/x.git",
            &["ghp_1234567890abcdef"],
        ),
        // Words that only contain such a word, short values, sentences and paths.
        ("KEYBOARD", "qwertz-de", &[]),
        ("PATH_COMPASS", "north-west", &[]),
        ("KEY", "1234567", &[]),
        ("KEY_NOTE", "we met at the sea", &[]),
        ("PWD", folder, &[]),
        ("SSH_AUTH_SOCK", folder, &[]),
    ] {
        assert_eq!(secrets_in(&[(name, value)]), secrets, "{name}");
    }
}

#[test]
fn values_that_look_random_are_secrets_whatever_their_variables_are_called() {
    for (value, is_secret) in [
        ("aB3-567890123456789+", true),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x", true),
        ("0123456789abcdef0123456789abcdef", true),
        ("aB3-56789012345678+", false),
        ("0123456789abcdef0123456789abcde", false),
        ("aB3 5678901234567890", false),
        ("1.97.1-x86_64-unknown-linux-gnu", false),
        ("00000000000000000000000000000000", false),
    ] {
        let found = secrets_in(&[("X", value)]);
        assert_eq!(!found.is_empty(), is_secret, "{value}");
    }
}

#[test]
fn secrets_are_hidden_in_base64_and_percent_encoding() {
    let mut known = KnownSecrets::default();
    known.learn("p@ss wörd/1\"");
    known.learn("swordfish");
    // From a URL, so percent-encoded itself.
    known.learn("s%40fe");
    let hide = |text: &str| known.hide(text.to_owned());
    for text in [
        "swordfish",
        // The whole, with the padding that its length needs, and the form in URLs.
        "c3dvcmRmaXNo",
        "cEBzcyB3w7ZyZC8xIg",
        // Each part of it, each in part, in both cases of digits; in forms, a space is a plus.
        "p%40ss%20w%C3%B6rd%2F1%22",
        "p%40ss%20w%c3%b6rd%2f1%22",
        "p@ss wörd/1%22",
        "p%40ss+w%C3%B6rd%2F1%22",
        "%73wordf%69sh",
        "p@ss wörd/1\\\"",
        "s@fe",
        "s%40fe",
    ] {
        assert_eq!(hide(text), MASK, "{text}");
        assert_eq!(hide(&format!("a {text}, b")), format!("a {MASK}, b"));
    }
    // In a longer Base64 text, wherever the secret begins. What is left of it is less than a byte.
    for before in ["ada:", "bob::", "eve:::"] {
        let encoded = BASE64_STANDARD.encode(format!("{before}swordfish and more"));
        let hidden = hide(&encoded);
        let (left, right) = hidden.split_once(MASK).expect(&encoded);
        assert!(
            encoded.starts_with(left) && encoded.ends_with(right),
            "{hidden}"
        );
        assert!(encoded.len() - left.len() - right.len() >= 11, "{hidden}");
    }
    let twice = "%73wordfish and swordfish, c3dvcmRmaXNo%";
    assert_eq!(hide(twice), format!("{MASK} and {MASK}, {MASK}%"));
    for text in ["", "100 % of it", "%", "%4", "swordfis", "ö%zz"] {
        assert_eq!(hide(text), text);
    }
}
