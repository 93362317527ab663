//! Edits JSON without comments. All text outside the path to a change is preserved.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;

use crate::install::change::{Change, NO_OBJECT};

pub(super) fn parse_json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text)
}

pub(super) fn edit_json(text: &str, changes: &[Change]) -> Result<String, String> {
    let style = FileStyle::detect(text);
    let mut edited = text.to_owned();
    for change in changes {
        let path: Vec<&str> = change.path.iter().map(String::as_str).collect();
        edited = style.make(&edited, &path, change.value.as_ref(), 0)?;
    }
    let end = &text[text.trim_end().len()..];
    let end = if end.is_empty() { style.line_end } else { end };
    Ok(format!("{edited}{end}"))
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

    /// Sets the member at this path, or removes it if there is no value.
    fn make(
        &self,
        text: &str,
        path: &[&str],
        value: Option<&Value>,
        depth: usize,
    ) -> Result<String, String> {
        let Some((name, rest)) = path.split_first() else {
            return Ok(self.format_value(value.unwrap_or(&Value::Null), depth));
        };
        let mut members: Members = serde_json::from_str(text).map_err(|_| NO_OBJECT.to_owned())?;
        let place = members.0.iter().position(|(other, _)| other == name);
        if let (None, []) = (value, rest) {
            members.0.retain(|(other, _)| other != name);
            return Ok(self.format_object(&members, depth));
        }
        let old = place.and_then(|index| members.0.get(index));
        let old = old.map_or("{}", |(_, old)| old.get());
        let new = self.make(old, rest, value, depth + 1)?;
        let new = RawValue::from_string(new).map_err(|error| error.to_string())?;
        match place.and_then(|index| members.0.get_mut(index)) {
            Some((_, old)) => *old = new,
            None => members.0.push(((*name).to_owned(), new)),
        }
        Ok(self.format_object(&members, depth))
    }

    fn format_object(&self, members: &Members, depth: usize) -> String {
        if members.0.is_empty() {
            return "{}".to_owned();
        }
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

    /// Formats a new value in the file's style.
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

    fn changed(text: &str, path: &[&str], value: Option<Value>) -> Result<String, String> {
        let path = path.iter().map(|&name| name.to_owned()).collect();
        edit_json(text, &[Change { path, value }])
    }

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
                "{\r\n  \"servers\": {\"a\": {\"args\": [1], \"on\": true}}\r\n}\r\n",
                "{\r\n  \"servers\": {\r\n    \"a\": {\r\n      \"args\": [],\r\n      \"on\": true\r\n    }\r\n  }\r\n}\r\n",
            ),
        ] {
            let path = ["servers", "a", "args"];
            let edited = changed(before, &path, Some(json!([]))).unwrap();
            assert_eq!(edited, after);
            assert_eq!(changed(&edited, &path, Some(json!([]))).unwrap(), after);
        }
    }

    #[test]
    fn new_values_are_indented_like_the_rest() {
        let edited = changed("{\n    \"a\": 1\n}\n", &["b"], Some(json!({"c": [1]}))).unwrap();
        assert_eq!(
            edited,
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": [\n            1\n        ]\n    }\n}\n"
        );
        let removed = changed(&edited, &["b", "c"], None).unwrap();
        assert_eq!(removed, "{\n    \"a\": 1,\n    \"b\": {}\n}\n");
    }

    #[test]
    fn json_with_comments_or_an_unexpected_structure_is_refused() {
        for text in ["// mine\n{}", "{\"servers\": {},}"] {
            parse_json(text).unwrap_err();
        }
        for text in ["[]", "{\"servers\": []}", "{\"servers\": {\"a\": null}}"] {
            let error = changed(text, &["servers", "a", "args"], Some(json!([]))).unwrap_err();
            assert_eq!(error, NO_OBJECT, "{text}");
        }
    }
}
