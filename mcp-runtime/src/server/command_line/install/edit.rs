//! Sets one nested member in a JSON file while preserving the rest of the text.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;

/// Returns the text with the member at this path set. Missing members along the path are created.
///
/// # Errors
///
/// Fails if the text cannot be edited. The message continues a sentence that starts with the file name.
pub(super) fn set_member(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let style = FileStyle::detect(text);
    let edited = style.set_member(text, path, value, 0)?;
    let end = &text[text.trim_end().len()..];
    let end = if end.is_empty() { style.line_end } else { end };
    Ok(format!("{mark}{edited}{end}"))
}

/// Returns `true` if the text has a member at this path.
pub(super) fn has_member(text: &str, path: &[&str]) -> bool {
    let Some(root) = parse_json(text) else {
        return false;
    };
    let mut names = path.iter();
    let found = names.try_fold(&root, |object, name| object.get(*name));
    found.is_some()
}

/// Returns `true` if two texts are identical or contain the same JSON.
pub(super) fn are_same_json(a: &str, b: &str) -> bool {
    a == b || matches!((parse_json(a), parse_json(b)), (Some(a), Some(b)) if a == b)
}

fn parse_json(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

/// The formatting style used in a file.
struct FileStyle {
    /// The indentation for one level of nesting.
    indent: String,
    line_end: &'static str,
}

impl FileStyle {
    fn detect(text: &str) -> Self {
        let lines = text.lines().skip(1);
        let mut indents = lines.filter_map(|line| {
            let rest = line.trim_start();
            (!rest.is_empty()).then(|| &line[..line.len() - rest.len()])
        });
        let indent = indents.find(|indent| !indent.is_empty()).unwrap_or("  ");
        Self {
            indent: indent.to_owned(),
            line_end: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    fn set_member(
        &self,
        text: &str,
        path: &[&str],
        value: &Value,
        depth: usize,
    ) -> Result<String, String> {
        let Some((name, rest)) = path.split_first() else {
            return Ok(self.format_value(value, depth));
        };
        let mut members: Members = serde_json::from_str(text).map_err(|error| {
            if depth > 0 {
                "does not have an object where servers are configured".to_owned()
            } else {
                format!("is not plain JSON, perhaps because it has comments, and cannot be edited without losing them: {error}")
            }
        })?;
        let place = members.0.iter_mut().find(|(other, _)| other == name);
        let old = place.as_ref().map_or("{}", |(_, old)| old.get());
        let new = self.set_member(old, rest, value, depth + 1)?;
        let new = RawValue::from_string(new).map_err(|error| error.to_string())?;
        match place {
            Some((_, old)) => *old = new,
            None => members.0.push(((*name).to_owned(), new)),
        }
        Ok(self.format_object(&members, depth))
    }

    fn format_object(&self, members: &Members, depth: usize) -> String {
        let mut text = String::from("{");
        for (index, (name, value)) in members.0.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { "," });
            text.push_str(self.line_end);
            text.push_str(&self.indent.repeat(depth + 1));
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push_str(": ");
            text.push_str(value.get());
        }
        text.push_str(self.line_end);
        text.push_str(&self.indent.repeat(depth));
        text.push('}');
        text
    }

    /// Formats a new value in the style of the file.
    fn format_value(&self, value: &Value, depth: usize) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        // Writing a JSON value to memory cannot fail.
        let _ = value.serialize(&mut serializer);
        let text = String::from_utf8(bytes).unwrap_or_default();
        text.replace(
            '\n',
            &format!("{}{}", self.line_end, self.indent.repeat(depth)),
        )
    }
}

/// The members of an object, each with the original text of its value.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_keeps_everything_else_as_it_is_written() {
        for (before, after) in [
            (
                "{}",
                "{\n  \"servers\": {\n    \"a\": {\n      \"args\": []\n    }\n  }\n}\n",
            ),
            (
                "{\n\t\"z\": [1,  2.50],\n\t\"servers\": {\n\t\t\"b\": { \"x\" : 1e400 }\n\t},\n\t\"y\": \"\\u00e9\"\n}",
                "{\n\t\"z\": [1,  2.50],\n\t\"servers\": {\n\t\t\"b\": { \"x\" : 1e400 },\n\t\t\"a\": {\n\t\t\t\"args\": []\n\t\t}\n\t},\n\t\"y\": \"\\u00e9\"\n}\n",
            ),
            (
                "\u{feff}{\r\n  \"servers\": {\"a\": {\"args\": [1], \"on\": true}}\r\n}\r\n",
                "\u{feff}{\r\n  \"servers\": {\r\n    \"a\": {\r\n      \"args\": [],\r\n      \"on\": true\r\n    }\r\n  }\r\n}\r\n",
            ),
        ] {
            let path = ["servers", "a", "args"];
            let edited = set_member(before, &path, &json!([])).unwrap();
            assert_eq!(edited, after);
            assert_eq!(set_member(&edited, &path, &json!([])).unwrap(), after);
        }
    }

    #[test]
    fn new_values_are_indented_like_the_rest() {
        let edited = set_member("{\n    \"a\": 1\n}\n", &["b"], &json!({"c": [1]})).unwrap();
        assert_eq!(
            edited,
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": [\n            1\n        ]\n    }\n}\n"
        );
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        for (text, problem) in [
            ("// mine\n{}", "comments"),
            ("{\"servers\": {},}", "plain JSON"),
            ("[]", "plain JSON"),
            ("{\"servers\": []}", "does not have an object"),
            ("{\"servers\": {\"a\": null}}", "does not have an object"),
        ] {
            let error = set_member(text, &["servers", "a", "args"], &json!([])).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
