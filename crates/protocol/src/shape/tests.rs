//! One table per type, listing the members that are sent in each protocol version.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::ProtocolVersion::V2024_11_05;

/// Shapes `whole` for each protocol version, oldest first. All members must be present except those in `gone`.
fn check<T: ShapeForVersion + Serialize + DeserializeOwned>(whole: &Value, gone: [&[&str]; 5]) {
    for (version, gone) in ProtocolVersion::ALL.into_iter().zip(gone) {
        let mut expected = whole.clone();
        for pointer in gone {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            expected
                .pointer_mut(parent)
                .and_then(Value::as_object_mut)
                .and_then(|parent| parent.shift_remove(name))
                .unwrap_or_else(|| panic!("{pointer} is not in {whole}"));
        }
        assert_eq!(shaped::<T>(whole, version), expected, "{version:?}");
    }
}

fn shaped<T: ShapeForVersion + Serialize + DeserializeOwned>(
    whole: &Value,
    version: ProtocolVersion,
) -> Value {
    let mut value: T = serde_json::from_str(&whole.to_string()).unwrap();
    value.shape(version);
    serde_json::to_value(value).unwrap()
}

fn icons() -> Value {
    json!([{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}])
}

fn annotations() -> Value {
    json!({"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"})
}

#[test]
fn implementation_members_are_removed_for_versions_without_them() {
    check::<Implementation>(
        &json!({"name": "n", "version": "1", "title": "t", "description": "d", "websiteUrl": "https://example.com", "icons": icons()}),
        [
            &["/title", "/description", "/websiteUrl", "/icons"],
            &["/title", "/description", "/websiteUrl", "/icons"],
            &["/description", "/websiteUrl", "/icons"],
            &[],
            &[],
        ],
    );
}

#[test]
fn server_capabilities_are_removed_for_versions_without_them() {
    check::<ServerCapabilities>(
        &json!({
            "completions": {}, "logging": {}, "experimental": {"x": {}}, "extensions": {"com.example/y": {}},
            "prompts": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true}, "tools": {},
        }),
        [&["/completions"], &[], &[], &[], &[]],
    );
}

#[test]
fn prompt_members_are_removed_for_versions_without_them() {
    check::<Prompt>(
        &json!({
            "name": "n", "title": "t", "description": "d", "icons": icons(), "_meta": {"k": 1},
            "arguments": [{"name": "a", "title": "A", "description": "d", "required": true}],
        }),
        [
            &["/title", "/icons", "/_meta", "/arguments/0/title"],
            &["/title", "/icons", "/_meta", "/arguments/0/title"],
            &["/icons"],
            &[],
            &[],
        ],
    );
}

#[test]
fn resource_and_template_members_are_removed_for_versions_without_them() {
    let old: &[&str] = &["/title", "/icons", "/_meta", "/annotations/lastModified"];
    check::<Resource>(
        &json!({
            "uri": "notes:///1", "name": "n", "title": "t", "description": "d", "mimeType": "text/plain", "size": 3,
            "annotations": annotations(), "icons": icons(), "_meta": {"k": 1},
        }),
        [old, old, &["/icons"], &[], &[]],
    );
    check::<ResourceTemplate>(
        &json!({
            "uriTemplate": "notes:///{id}", "name": "n", "title": "t", "description": "d", "mimeType": "text/plain",
            "annotations": annotations(), "icons": icons(), "_meta": {"k": 1},
        }),
        [old, old, &["/icons"], &[], &[]],
    );
}

#[test]
fn resource_content_members_are_removed_for_versions_without_them() {
    check::<ReadResourceResult>(
        &json!({"contents": [{"uri": "notes:///1", "mimeType": "text/plain", "text": "x", "_meta": {"k": 1}}], "_meta": {"k": 1}}),
        [
            &["/contents/0/_meta"],
            &["/contents/0/_meta"],
            &[],
            &[],
            &[],
        ],
    );
}

#[test]
fn tool_members_are_removed_for_versions_without_them() {
    let whole = json!({
        "name": "n", "title": "t", "description": "d", "icons": icons(),
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false},
        "outputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
        "annotations": {"readOnlyHint": true}, "_meta": {"com.example/team": "a"},
    });
    for (version, gone) in [
        (
            V2024_11_05,
            &["title", "icons", "outputSchema", "annotations", "_meta"][..],
        ),
        (V2025_06_18, &["icons"]),
        (V2025_11_25, &[]),
        (V2026_07_28, &[]),
    ] {
        let mut expected = whole.clone();
        for name in gone {
            expected.as_object_mut().unwrap().shift_remove(*name);
        }
        assert_eq!(shaped::<Tool>(&whole, version), expected, "{version:?}");
    }
    // The title has moved to the annotations.
    let seen = shaped::<Tool>(&whole, V2025_03_26);
    assert_eq!(
        seen,
        json!({
            "name": "n", "description": "d",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false},
            "annotations": {"title": "t", "readOnlyHint": true},
        })
    );
}

#[test]
fn ui_meta_of_tools_is_kept_in_every_version() {
    let tool = |meta: Value| json!({"name": "n", "inputSchema": {"type": "object"}, "_meta": meta});
    let whole = tool(json!({"com.example/team": "a", "ui": {"resourceUri": "ui://a/b"}}));
    for version in ProtocolVersion::ALL {
        let expected = if version < V2025_06_18 {
            tool(json!({"ui": {"resourceUri": "ui://a/b"}}))
        } else {
            whole.clone()
        };
        assert_eq!(shaped::<Tool>(&whole, version), expected, "{version:?}");
    }
}

#[test]
fn boolean_property_schemas_are_replaced_for_older_versions() {
    let whole = json!({
        "name": "n",
        "inputSchema": {"type": "object", "properties": {"a": true}},
        "outputSchema": {"type": "object", "properties": {"b": false}},
    });
    for version in ProtocolVersion::ALL {
        let seen = shaped::<Tool>(&whole, version);
        if version == V2026_07_28 {
            assert_eq!(seen, whole);
        } else {
            assert_eq!(seen["inputSchema"]["properties"]["a"], json!({}));
            let output = seen.get("outputSchema");
            assert_eq!(output.is_some(), version >= V2025_06_18);
            if let Some(output) = output {
                assert_eq!(output["properties"]["b"], json!({"not": {}}));
            }
        }
    }
}

#[test]
fn content_block_members_are_removed_for_versions_without_them() {
    let old: &[&str] = &[
        "/content/0/_meta",
        "/content/0/annotations/lastModified",
        "/content/1/_meta",
        "/content/1/annotations/lastModified",
        "/content/2/_meta",
        "/content/2/annotations/lastModified",
        "/content/2/resource/_meta",
    ];
    check::<CallToolResult>(
        &json!({
            "content": [
                {"type": "text", "text": "x", "annotations": annotations(), "_meta": {"k": 1}},
                {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": annotations(), "_meta": {"k": 1}},
                {"type": "resource", "annotations": annotations(), "_meta": {"k": 1},
                 "resource": {"uri": "notes:///1", "blob": "AA==", "_meta": {"k": 1}}},
            ],
            "isError": true, "_meta": {"k": 1},
        }),
        [old, old, &[], &[], &[]],
    );
}

#[test]
fn audio_and_resource_links_become_text_for_versions_without_them() {
    let audio = json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav", "annotations": annotations(), "_meta": {"k": 1}});
    let link = json!({
        "type": "resource_link", "uri": "notes:///1", "name": "n", "title": "Note", "mimeType": "text/plain",
        "description": "One note.", "annotations": annotations(), "icons": icons(), "_meta": {"k": 1},
    });
    let old_annotations = json!({"audience": ["user"], "priority": 0.5});
    let as_resource = json!({
        "type": "resource", "annotations": old_annotations,
        "resource": {"uri": "audio:///0", "mimeType": "audio/wav", "blob": "AA=="},
    });
    let as_text = json!({"type": "text", "text": "Note (text/plain): notes:///1\nOne note.", "annotations": old_annotations});
    let mut old_audio = audio.clone();
    old_audio.as_object_mut().unwrap().shift_remove("_meta");
    old_audio["annotations"] = old_annotations.clone();
    let mut no_icons = link.clone();
    no_icons.as_object_mut().unwrap().shift_remove("icons");
    let expected = [
        [&as_resource, &as_text],
        [&old_audio, &as_text],
        [&audio, &no_icons],
        [&audio, &link],
        [&audio, &link],
    ];
    for (version, [first, second]) in ProtocolVersion::ALL.into_iter().zip(expected) {
        let seen = shaped::<CallToolResult>(&json!({"content": [audio, link]}), version);
        assert_eq!(seen, json!({"content": [first, second]}), "{version:?}");
        let seen = shaped::<GetPromptResult>(
            &json!({"messages": [{"role": "user", "content": audio}, {"role": "user", "content": link}]}),
            version,
        );
        assert_eq!(seen["messages"][0]["content"], *first, "{version:?}");
        assert_eq!(seen["messages"][1]["content"], *second, "{version:?}");
    }
}

#[test]
fn structured_content_needs_its_version_and_text_is_always_sent() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    for (structured, content) in [
        (json!({"a": 1}), json!([])),
        (json!([1]), json!([])),
        (json!(null), json!([])),
        (json!("x"), json!([text("said")])),
        (json!({"a": 1}), json!([image])),
    ] {
        for version in ProtocolVersion::ALL {
            let seen = shaped::<CallToolResult>(
                &json!({"content": content, "structuredContent": structured}),
                version,
            );
            let expected = (version >= V2025_06_18).then_some(&structured);
            assert_eq!(
                seen.get("structuredContent"),
                expected,
                "{version:?} {structured}"
            );
            let last = seen["content"].as_array().unwrap().last().unwrap();
            let said = if content[0]["type"] == "text" {
                "said".to_owned()
            } else {
                structured.to_string()
            };
            assert_eq!(*last, text(&said), "{version:?} {structured}");
        }
    }
}

#[test]
fn invalid_annotations_and_contents_are_corrected() {
    let mut annotations = Some(Annotations {
        priority: Some(f64::NAN),
        ..Annotations::default()
    });
    annotations.shape(V2026_07_28);
    assert_eq!(annotations, None);
    let mut annotations = Some(Annotations {
        priority: Some(7.0),
        ..Annotations::default()
    });
    annotations.shape(V2026_07_28);
    assert_eq!(annotations.unwrap().priority, Some(1.0));
    let mut contents = ResourceContents::default();
    contents.shape(V2026_07_28);
    assert_eq!(
        (contents.text.as_deref(), contents.blob.as_deref()),
        (Some(""), None)
    );
    let mut contents = ResourceContents::text("a:b", "x");
    contents.blob = Some("AA==".to_owned());
    contents.shape(V2026_07_28);
    assert_eq!(
        (contents.text.as_deref(), contents.blob.as_deref()),
        (None, Some("AA=="))
    );
}
