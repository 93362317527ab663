use serde_json::{Value, json};

use crate::recording::compare::{Change, Comparison};
use crate::recording::read::Outcome;
use crate::recording::secrets::MASK;

const RECORDED: u64 = 1_767_225_600; // 2026-01-01
const NOW: u64 = 1_770_076_800; // 2026-02-03

fn result(value: Value) -> Outcome {
    Outcome {
        kind: "result",
        value,
    }
}

fn changes_of(
    method: &str,
    across_eras: bool,
    ignored: &[String],
    old: Outcome,
    new: Outcome,
) -> Vec<String> {
    let comparison = Comparison {
        recorded: RECORDED,
        now: NOW,
        across_eras,
        ignored,
    };
    let changes = comparison.changes(method, old, new);
    changes.iter().map(Change::to_string).collect()
}

fn changes(old: Value, new: Value) -> Vec<String> {
    changes_of("tools/call", false, &[], result(old), result(new))
}

#[test]
fn times_ids_and_secrets_do_not_count_as_differences() {
    let old = json!({"a": "at 2026-01-01T10:00:00.5Z, 01234567-89ab-cdef-0123-456789abcdef", "b": format!("key {MASK}!"),
        "_meta": 1, "resultType": "complete", "ms": 1_767_225_700_123_u64, "s": 1_767_225_700, "c": MASK, "zone": "2025-12-31 23:59:59+02:00"});
    let new = json!({"a": "at 2026-02-03T11:12:13Z, ffffffff-89ab-cdef-0123-456789abcdef", "b": "key sesame!",
        "_meta": 2, "ttlMs": 5, "ms": 1_770_076_900_000_u64, "s": 1_770_076_900, "c": 5, "zone": "2026-02-03 01:02:03"});
    assert_eq!(changes(old, new), [""; 0]);
    // Times unrelated to the runs are data.
    let [old, new] =
        ["2024-05-01T00:00:00Z", "2024-05-02T00:00:00Z"].map(|due| json!({"due": due}));
    assert_eq!(
        changes(old, new),
        ["/result/due: \"2024-05-01T00:00:00Z\" is now \"2024-05-02T00:00:00Z\""]
    );
    let [old, new] = [1_767_225_600, 5].map(|at| json!({"at": at}));
    assert_eq!(changes(old, new).len(), 1);
    let [old, new] = [format!("key {MASK}!"), "key".to_owned()].map(|text| json!({"b": text}));
    assert_eq!(changes(old, new).len(), 1);
}

#[test]
fn equivalent_json_values_compare_as_equal() {
    let old = json!({"a": 1, "b": 1.0, "c": [1, 2], "text": "{\"n\": 1, \"m\": [2]}"});
    let new = json!({"b": 1, "c": [1, 2], "a": 1, "text": "{\"m\":[2.0],\"n\":1}"});
    assert_eq!(changes(old, new), [""; 0]);
    let [old, new] = ["9007199254740993", "9007199254740992"]
        .map(|n| serde_json::from_str(&format!("{{\"n\": {n}}}")).unwrap());
    assert_eq!(changes(old, new).len(), 1);
    let old = json!({"a": [1, 2, 3], "b": "x", "c": {"d/e": 1}});
    let new = json!({"a": [1, 3], "c": {"d/e": 2}, "f": 5});
    let expected = [
        "/result/a/1: 2 is now 3",
        "/result/a/2: 3 is gone",
        "/result/b: \"x\" is gone",
        "/result/c/d~1e: 1 is now 2",
        "/result/f: 5 is new",
    ];
    assert_eq!(changes(old.clone(), new.clone()), expected);
    let ignored = [
        "/result/a".to_owned(),
        "/*/c/d~1e".to_owned(),
        "/result/f/g".to_owned(),
    ];
    let rest = changes_of("tools/call", false, &ignored, result(old), result(new));
    assert_eq!(rest, ["/result/b: \"x\" is gone", "/result/f: 5 is new"]);
}

#[test]
fn lists_are_compared_by_name_and_each_difference_is_reported_once() {
    let tool = |name: &str, required: [&str; 2]| json!({"name": name, "inputSchema": {"required": required}});
    let old = json!({"tools": [tool("a", ["x", "y"]), tool("b", ["x", "y"])]});
    let new =
        json!({"tools": [tool("c", ["x", "y"]), tool("b", ["y", "x"]), tool("a", ["x", "z"])]});
    let found = changes_of("tools/list", false, &[], result(old), result(new));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        found[0],
        "/result/tools/a/inputSchema/required/1: \"y\" is now \"z\""
    );
    assert!(found[1].starts_with("/result/tools/c: ") && found[1].ends_with(" is new"));

    let [old, new] = [80, 90].map(|price| {
        let data = json!({"nights": [{"price": price}]});
        json!({"structuredContent": data, "content": [{"type": "text", "text": data.to_string()}]})
    });
    assert_eq!(
        changes(old, new),
        ["/result/structuredContent/nights/0/price: 80 is now 90"]
    );
}

#[test]
fn equivalent_results_of_both_eras_compare_as_equal() {
    let error = |code: i32| Outcome {
        kind: "error",
        value: json!({"code": code, "message": "no such resource"}),
    };
    assert_eq!(
        changes_of("resources/read", true, &[], error(-32002), error(-32602)),
        [""; 0]
    );
    assert_eq!(
        changes_of("resources/read", false, &[], error(-32002), error(-32602)).len(),
        1
    );
    let [old, new] = [json!({"result": [1]}), json!([1])]
        .map(|value| result(json!({"structuredContent": value})));
    assert_eq!(changes_of("tools/call", true, &[], old, new), [""; 0]);
    let found = changes_of(
        "tools/call",
        false,
        &[],
        result(json!({"content": []})),
        error(-32602),
    );
    assert_eq!(
        found,
        [
            "the response: result {\"content\":[]} is now error {\"code\":-32602,\"message\":\"no such resource\"}"
        ]
    );
}

#[test]
fn control_characters_in_differences_are_escaped() {
    let long = "x".repeat(500);
    let old = json!({"text": format!("{long}\u{1b}[31m\u{202e}\u{9b}")});
    let found = changes(old, json!({"text": long})).concat();
    assert!(
        found.starts_with("/result/text: \"…xxx")
            && found.contains("\\u001b")
            && found.contains("\\u{202e}"),
        "{found}"
    );
    assert!(
        !found
            .chars()
            .any(|one| one.is_control() || one == '\u{202e}'),
        "{found}"
    );
}
