//! Parses command-line arguments, written as `a=1 b=true`, as a single JSON object, or as `@file`. A string can be read
//! from a file, as in `text=@file`; bytes are read as Base64.

use std::fs;
use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use mcp_schema::format::{self, BASE64};
use mcp_schema::text::read_text;
use serde_json::{Map, Value};

/// Maximum size in bytes of a file for one argument. Servers accept messages of a few megabytes.
const MAX_FILE: u64 = 64 << 20;

/// Parses a call's arguments. The schema determines which values are strings and which are JSON.
pub(super) fn parse_arguments(words: &[String], schema: &Value) -> Result<Value, String> {
    if let [word] = words {
        if let Some(path) = word.strip_prefix('@') {
            let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            return parse_object(&text).map_err(|problem| format!("{path} {problem}"));
        }
        if word.trim_start().starts_with('{') {
            return parse_object(word).map_err(|problem| format!("`{word}` {problem}"));
        }
    }
    let mut arguments = Map::new();
    for word in words {
        let Some((name, text)) = word.split_once('=') else {
            return Err(format!(
                "`{word}` is not an argument: write `name=value`, one JSON object, or `@file`"
            ));
        };
        let schema = &schema["properties"][name];
        let value = match text.strip_prefix('@') {
            // `@@` stands for a text that begins with `@`.
            Some(rest) if rest.starts_with('@') && takes_text(schema) => Value::from(rest),
            Some(path) if takes_bytes(schema) => read_bytes(path, schema)?,
            Some(path) if takes_text(schema) => read_string(path, schema)?,
            _ => read_text(schema, text),
        };
        if arguments.insert(name.to_owned(), value).is_some() {
            return Err(format!("argument `{name}` is given twice"));
        }
    }
    Ok(Value::Object(arguments))
}

/// Returns `true` if the value is a Base64 string.
fn takes_bytes(schema: &Value) -> bool {
    format::of_schema(schema).is_some_and(|format| format.name == BASE64)
}

/// Returns `true` if the value may be any string, which is not Base64.
fn takes_text(schema: &Value) -> bool {
    let kind = &schema["type"];
    let mut kinds = kind.as_array().into_iter().flatten().chain([kind]);
    kinds.any(|kind| kind == "string") && schema.get("enum").is_none() && !takes_bytes(schema)
}

/// Reads a file as Base64, unless it is longer than the schema allows.
fn read_bytes(path: &str, schema: &Value) -> Result<Value, String> {
    let most = max_length(schema) / 4 * 3;
    Ok(Value::from(STANDARD.encode(read_file(path, most)?)))
}

/// Reads a file as UTF-8 text, unless it is longer than the schema allows.
fn read_string(path: &str, schema: &Value) -> Result<Value, String> {
    // A character has at most four bytes. The server counts them.
    let bytes = read_file(path, max_length(schema).saturating_mul(4))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text"))?;
    Ok(Value::from(text))
}

/// Returns the largest length of a string that the schema allows.
fn max_length(schema: &Value) -> u64 {
    schema["maxLength"].as_u64().unwrap_or(MAX_FILE)
}

/// Reads a file of at most this many bytes.
fn read_file(path: &str, most: u64) -> Result<Vec<u8>, String> {
    let most = most.min(MAX_FILE);
    let describe = |error: std::io::Error| format!("{path}: {error}");
    let file = fs::File::open(path).map_err(describe)?;
    let mut bytes = Vec::new();
    let read = file
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(describe)?;
    if read as u64 > most {
        return Err(format!("{path} is larger than {most} bytes"));
    }
    Ok(bytes)
}

fn parse_object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) => Err(format!("is not valid JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(words: &[&str]) -> Result<Value, String> {
        let schema = json!({"properties": {
            "count": {"type": "integer"}, "share": {"type": "number"}, "sure": {"type": "boolean"},
            "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "integer"}}, "place": {"type": "object"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "colour": {"enum": ["red", "1"]},
        }});
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        parse_arguments(&words, &schema)
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        for (word, expected) in [
            ("count=3", json!({"count": 3})),
            ("count=three", json!({"count": "three"})),
            ("share=1.5", json!({"share": 1.5})),
            ("sure=true", json!({"sure": true})),
            ("sure=yes", json!({"sure": true})),
            ("name=3", json!({"name": "3"})),
            ("name=a=b", json!({"name": "a=b"})),
            ("name=", json!({"name": ""})),
            ("tags=[\"a\"]", json!({"tags": ["a"]})),
            ("tags=a, b", json!({"tags": ["a", "b"]})),
            ("sizes=[1,2]", json!({"sizes": [1, 2]})),
            ("place={\"city\":\"x\"}", json!({"place": {"city": "x"}})),
            ("maybe=null", json!({"maybe": null})),
            ("colour=1", json!({"colour": "1"})),
            ("unknown=1", json!({"unknown": "1"})),
            ("{\"count\": 1}", json!({"count": 1})),
        ] {
            assert_eq!(read(&[word]), Ok(expected), "{word}");
        }
    }

    #[test]
    fn bytes_are_read_from_a_file() {
        let path = std::env::temp_dir().join(format!("mcp-bytes-{}", std::process::id()));
        fs::write(&path, [0xfb, 0xff]).unwrap();
        let word = |name: &str| vec![format!("{name}=@{}", path.display())];
        let photo = |length: u64| json!({"type": "string", "maxLength": length, "description": "Photo (bytes in Base64)"});
        let schema = json!({"properties": {"photo": photo(4), "small": photo(0), "name": {"type": "string"}}});
        let read = |words: &[String]| parse_arguments(words, &schema);
        assert_eq!(read(&word("photo")), Ok(json!({"photo": "+/8="})));
        assert!(
            read(&word("small"))
                .unwrap_err()
                .ends_with("is larger than 0 bytes")
        );
        assert!(read(&["photo=@/no/such/file".to_owned()]).is_err());
        assert_eq!(
            read(&["photo=AAAA".to_owned()]),
            Ok(json!({"photo": "AAAA"}))
        );
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn text_is_read_from_a_file() {
        let path = std::env::temp_dir().join(format!("mcp-text-{}", std::process::id()));
        let schema = json!({"properties": {
            "text": {"type": "string"}, "short": {"type": "string", "maxLength": 1}, "count": {"type": "integer"},
            "maybe": {"type": ["string", "null"]}, "colour": {"type": "string", "enum": ["@red"]},
        }});
        let read = |word: String| parse_arguments(&[word], &schema);
        let at = |name: &str| format!("{name}=@{}", path.display());
        fs::write(&path, "über\n").unwrap();
        assert_eq!(read(at("text")), Ok(json!({"text": "über\n"})));
        assert_eq!(read(at("maybe")), Ok(json!({"maybe": "über\n"})));
        assert!(
            read(at("short"))
                .unwrap_err()
                .ends_with("is larger than 4 bytes")
        );
        fs::write(&path, [0xff]).unwrap();
        assert!(read(at("text")).unwrap_err().ends_with("is not UTF-8 text"));
        fs::remove_file(&path).unwrap();
        assert!(
            read(at("text"))
                .unwrap_err()
                .starts_with(&path.display().to_string())
        );
        for (word, expected) in [
            ("text=@@home", json!({"text": "@home"})),
            ("text=a@b", json!({"text": "a@b"})),
            ("colour=@red", json!({"colour": "@red"})),
            ("count=@1", json!({"count": "@1"})),
            ("unknown=@1", json!({"unknown": "@1"})),
        ] {
            assert_eq!(read(word.to_owned()), Ok(expected), "{word}");
        }
    }

    #[test]
    fn malformed_command_line_arguments_are_refused() {
        for words in [
            &["count"][..],
            &["{\"a\""],
            &["a=1", "a=2"],
            &["@/no/such/file"],
            &["{}", "a=1"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
