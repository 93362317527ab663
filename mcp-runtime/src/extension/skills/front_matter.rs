//! The front matter of `SKILL.md`: YAML between two lines of `---`, converted to JSON.

use serde_json::{Map, Value};

/// Maximum length of a name.
const MAX_NAME: usize = 64;
/// Maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 1_024;
/// Maximum size of the front matter, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Reads the front matter of a file.
///
/// # Errors
///
/// Returns the reason if there is none, it is not a mapping in YAML, or its name or description is missing or invalid.
/// Anchors that expand to more than a few thousand values are refused.
pub(super) fn read(text: &str) -> Result<Map<String, Value>, String> {
    let yaml = between_markers(text)
        .ok_or("it does not start with front matter between two lines of `---`")?;
    if yaml.len() > MAX_BYTES {
        return Err(format!("the front matter is longer than {MAX_BYTES} bytes"));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_anchors: 64,
            max_depth: 32,
            max_nodes: 4_096,
        },
    };
    let value = serde_saphyr::from_str_with_options::<Value>(yaml, options);
    let value = value.map_err(|error| {
        let error = error.to_string();
        let first = error.lines().next().unwrap_or_default();
        format!("the front matter is not valid YAML: {first}")
    })?;
    let Value::Object(members) = value else {
        return Err("the front matter is not a mapping".to_owned());
    };
    let text = |member: &str| members.get(member).and_then(Value::as_str);
    let name = text("name").ok_or("the front matter has no `name`")?;
    check_name(name)?;
    let description = text("description").ok_or("the front matter has no `description`")?;
    if description.trim().is_empty() || description.chars().count() > MAX_DESCRIPTION {
        return Err(format!(
            "`description` must have 1 to {MAX_DESCRIPTION} characters"
        ));
    }
    Ok(members)
}

/// Checks the name of a skill, which is also the name of its directory.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_fine = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(is_inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if is_fine {
        return Ok(());
    }
    Err(format!(
        "name `{name}`: use 1 to {MAX_NAME} of a-z 0-9 -, with `-` only between other characters and never twice in a row"
    ))
}

/// Returns the text between the first line, which must be `---`, and the next such line.
fn between_markers(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---")?;
    let rest = rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix('\n'))?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return rest.get(..end);
        }
        end += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn front_matter_is_converted_to_json() {
        let text = "---\r\nname: pdf\r\ndescription: |\r\n  Reads\r\nmetadata: {a: [1, 2.5, ~, true]}\r\n---\r\n# Body\n---\n";
        let members = read(text).unwrap();
        assert_eq!(members["metadata"], json!({"a": [1, 2.5, null, true]}));
        assert_eq!(members["name"], "pdf");
    }

    #[test]
    fn mistakes_are_named() {
        let bomb = (1..12).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
            let before = level - 1;
            format!(
                "{text}a{level}: &a{level} [{}]\n",
                vec![format!("*a{before}"); 9].join(", ")
            )
        });
        let long = "x".repeat(1_025);
        for (yaml, expected) in [
            ("name: a", "no `description`"),
            ("description: a", "no `name`"),
            ("name: 1\ndescription: a", "no `name`"),
            ("name: A\ndescription: a", "name `A`"),
            ("name: a--b\ndescription: a", "name `a--b`"),
            ("name: -a\ndescription: a", "name `-a`"),
            ("name: a\ndescription: ''", "must have 1 to 1024"),
            (
                &*format!("name: a\ndescription: {long}"),
                "must have 1 to 1024",
            ),
            ("- a", "not a mapping"),
            ("a: [", "not valid YAML"),
            ("a: 1\na: 2", "not valid YAML"),
            (&*bomb, "not valid YAML"),
        ] {
            let error = read(&format!("---\n{yaml}\n---\n")).unwrap_err();
            assert!(
                error.contains(expected) && error.lines().count() == 1,
                "{yaml}: {error}"
            );
        }
        for text in ["", "name: a", "---\nname: a", "--- \nname: a\n---\n"] {
            assert!(
                read(text)
                    .unwrap_err()
                    .contains("does not start with front matter"),
                "{text}"
            );
        }
    }
}
