//! The front matter of `SKILL.md`: YAML between two lines of `---`, converted to JSON.

use serde_json::{Map, Value};

use crate::name::check_name;

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 1_024;
/// Maximum size of the front matter, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// Maximum number of values, after anchors have been expanded.
const MAX_VALUES: usize = 4_096;
/// Maximum number of anchors.
const MAX_ANCHORS: usize = 64;
/// Maximum depth of lists and mappings.
const MAX_DEPTH: usize = 32;

/// Reads the front matter of a file. The members are returned in the same order as in the file.
///
/// # Errors
///
/// Returns all mistakes if there is no front matter, if it is not a YAML mapping, or if its name or description is
/// missing or invalid.
pub fn read(text: &str) -> Result<Map<String, Value>, Vec<String>> {
    let members = parse(text).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    match string(&members, "name").map(check_name) {
        Ok(Ok(())) => {}
        Ok(Err(problem)) | Err(problem) => problems.push(problem),
    }
    match string(&members, "description") {
        Ok(text) if text.trim().is_empty() || text.chars().count() > MAX_DESCRIPTION => {
            problems.push(format!(
                "`description` must be 1 to {MAX_DESCRIPTION} characters long"
            ));
        }
        Ok(_) => {}
        Err(problem) => problems.push(problem),
    }
    if problems.is_empty() {
        Ok(members)
    } else {
        Err(problems)
    }
}

fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let yaml = between_markers(text)
        .ok_or("it does not start with front matter between two `---` lines")?;
    if yaml.len() > MAX_BYTES {
        return Err(format!("the front matter is longer than {MAX_BYTES} bytes"));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_anchors: MAX_ANCHORS,
            max_depth: MAX_DEPTH,
            max_nodes: MAX_VALUES,
        },
    };
    match serde_saphyr::from_str_with_options::<Value>(yaml, options) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("the front matter is not a mapping".to_owned()),
        Err(error) => Err(not_yaml(&error)),
    }
}

/// Describes an error on a single line.
fn not_yaml(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;

    let mut cause = error;
    while let Error::AliasError { error, .. } | Error::WithSnippet { error, .. } = cause {
        cause = error;
    }
    if matches!(cause, Error::Budget { .. }) {
        return format!(
            "the front matter contains more than {MAX_VALUES} values, {MAX_ANCHORS} anchors or {MAX_DEPTH} levels"
        );
    }
    let error = error.to_string();
    let first = error.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    format!("the front matter is not valid YAML: {first}")
}

/// Returns a member that must be a string.
fn string<'m>(members: &'m Map<String, Value>, name: &str) -> Result<&'m str, String> {
    match members.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{name}` must be a string; put it in quotes")),
        None => Err(format!("the front matter has no `{name}`")),
    }
}

/// Returns the text between the first line, which must be `---`, and the next such line. The returned text begins with
/// the line break after the first line so that its line numbers match those in the file.
fn between_markers(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---")?;
    let rest = rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix('\n'))?;
    let mut end = text.len() - rest.len();
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return text.get("---".len()..end);
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
        let names: Vec<_> = members.keys().collect();
        assert_eq!(names, ["name", "description", "metadata"]);
    }

    /// Returns YAML with nested aliases that expand to billions of values.
    fn bomb() -> String {
        (1..12).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
            let before = level - 1;
            let aliases = vec![format!("*a{before}"); 9].join(", ");
            format!("{text}a{level}: &a{level} [{aliases}]\n")
        })
    }

    #[test]
    fn errors_in_front_matter_name_the_field() {
        let bomb = bomb();
        let long = "x".repeat(1_025);
        let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
        for (yaml, expected) in [
            ("name: a", "no `description`"),
            ("description: a", "no `name`"),
            ("name: 1\ndescription: a", "`name` must be a string"),
            ("name: A\ndescription: a", "name `A`"),
            ("name: a\ndescription: ''", "must be 1 to 1024"),
            (
                &*format!("name: a\ndescription: {long}"),
                "must be 1 to 1024",
            ),
            ("- a", "not a mapping"),
            ("a: [", "not valid YAML: line 2 column 4: "),
            ("a: 1\na: 2", "not valid YAML"),
            (&*bomb, "more than 4096 values, 64 anchors"),
            (&*deep, "or 32 levels"),
            (
                &*format!("a: {}", "x".repeat(64 << 10)),
                "longer than 65536",
            ),
        ] {
            let problems = read(&format!("---\n{yaml}\n---\n")).unwrap_err();
            let [error] = &*problems else {
                panic!("{yaml}: {problems:?}");
            };
            assert!(
                error.contains(expected) && error.lines().count() == 1,
                "{yaml}: {error}"
            );
        }
        for text in ["", "name: a", "---\nname: a", "--- \nname: a\n---\n"] {
            let problems = read(text).unwrap_err();
            assert!(
                problems[0].contains("does not start with front matter"),
                "{text}"
            );
        }
    }

    #[test]
    fn all_mistakes_are_reported_together() {
        let problems = read("---\nname: A B\ndescription: [x]\n---\n").unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
    }
}
