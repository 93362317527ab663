//! Checks that decoding and encoding the specification's own examples leaves them unchanged.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;

/// Returns the paths and contents of a type's examples.
fn examples(of: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/wire/2026-07-28"
    ))
    .join(of);
    let examples: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| {
            let path = entry.unwrap().path();
            (
                path.display().to_string(),
                fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    assert!(!examples.is_empty(), "{of} has no examples");
    examples
}

fn identity<T: DeserializeOwned + Serialize>(of: &str) {
    for (name, text) in examples(of) {
        check::<T>(&name, &serde_json::from_str(&text).unwrap());
    }
}

fn check<T: DeserializeOwned + Serialize>(name: &str, value: &Value) {
    let decoded: T =
        serde_json::from_str(&value.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(&serde_json::to_value(decoded).unwrap(), value, "{name}");
}

#[test]
fn definitions_and_contents_are_unchanged() {
    identity::<ContentBlock>("AudioContent");
    identity::<ContentBlock>("EmbeddedResource");
    identity::<ContentBlock>("ImageContent");
    identity::<ContentBlock>("ResourceLink");
    identity::<ContentBlock>("TextContent");
    identity::<ResourceContents>("BlobResourceContents");
    identity::<ResourceContents>("TextResourceContents");
    identity::<Resource>("Resource");
    identity::<Tool>("Tool");
    identity::<ClientCapabilities>("ClientCapabilities");
    identity::<ServerCapabilities>("ServerCapabilities");
}

#[test]
fn results_round_trip_except_for_members_that_the_encoder_adds() {
    fn identity<T: DeserializeOwned + Serialize>(of: &str) {
        for (name, text) in examples(of) {
            let mut value: Value = serde_json::from_str(&text).unwrap();
            for added in ["resultType", "ttlMs", "cacheScope"] {
                value.as_object_mut().unwrap().shift_remove(added);
            }
            // Omitting the member has the same meaning.
            if value.get("isError") == Some(&Value::Bool(false)) {
                value.as_object_mut().unwrap().shift_remove("isError");
            }
            check::<T>(&name, &value);
        }
    }
    identity::<CallToolResult>("CallToolResult");
    identity::<GetPromptResult>("GetPromptResult");
    identity::<ReadResourceResult>("ReadResourceResult");
}

#[test]
fn members_of_lists_are_unchanged() {
    fn identity<T: DeserializeOwned + Serialize>(of: &str, list: &str) {
        for (name, text) in examples(of) {
            let value: Value = serde_json::from_str(&text).unwrap();
            for item in value[list].as_array().unwrap() {
                check::<T>(&name, item);
            }
        }
    }
    identity::<Tool>("ListToolsResult", "tools");
    identity::<Prompt>("ListPromptsResult", "prompts");
    identity::<Resource>("ListResourcesResult", "resources");
    identity::<ResourceTemplate>("ListResourceTemplatesResult", "resourceTemplates");
}

#[test]
fn completions_are_unchanged() {
    for (name, text) in examples("CompleteResult") {
        let value: Value = serde_json::from_str(&text).unwrap();
        check::<Completion>(&name, &value["completion"]);
    }
}

#[test]
fn structured_content_may_be_null() {
    let result: CallToolResult =
        serde_json::from_str(r#"{"content":[],"structuredContent":null}"#).unwrap();
    assert_eq!(result.structured_content.unwrap().get(), "null");
}

#[test]
fn every_kind_of_content_takes_annotations() {
    let annotations = || Annotations::new().with_audience(Role::User);
    let blocks: [ContentBlock; 6] = [
        TextContent::new("a").with_annotations(annotations()).into(),
        ImageContent::new("a", "image/png")
            .with_annotations(annotations())
            .into(),
        AudioContent::new("a", "audio/wav")
            .with_annotations(annotations())
            .into(),
        ResourceLink::new("a:b", "a")
            .with_annotations(annotations())
            .into(),
        EmbeddedResource::new(ResourceContents::text("a:b", "a"))
            .with_annotations(annotations())
            .into(),
        ContentBlock::text("a"),
    ];
    for block in blocks {
        let again = block.clone().with_annotations(annotations());
        let json = serde_json::to_value(&again).unwrap();
        assert_eq!(json["annotations"]["audience"][0], "user", "{json}");
        assert!(block == again || block == ContentBlock::text("a"));
    }
}
