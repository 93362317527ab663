//! Edits a configuration file's text in its format, and ensures that the rest of the file does not change.

use serde_json::Value;

use crate::install::change::Change;
use crate::install::editor::{EditedFile, TextEditor};
use crate::install::entry::EntryMembers;
use crate::install::plain_json::{edit_json, parse_json};

/// The format of a configuration file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    /// JSON. Another program edits files with comments and trailing commas.
    Json,
    /// TOML, which another program edits.
    Toml,
    /// YAML with an object of servers. A file is created, but never edited, because no library preserves its comments.
    YamlMap,
    /// YAML with a list of servers that have a `name`.
    YamlList,
}

impl ConfigFormat {
    /// Returns the reason why files in this format cannot be read, or `None` if they can.
    pub(super) fn unreadable(self, editor: TextEditor<'_>) -> Option<&'static str> {
        match self {
            Self::Toml if !editor.is_given() => {
                Some("this program cannot read TOML; `mcp-dev installed` can")
            }
            Self::YamlMap | Self::YamlList => Some("this program cannot read YAML"),
            _ => None,
        }
    }

    /// Returns `true` if a file can be created in this format, but not edited.
    pub(super) fn is_only_created(self) -> bool {
        matches!(self, Self::YamlMap | Self::YamlList)
    }

    /// Parses the text of a file. An empty file has no members.
    ///
    /// # Errors
    ///
    /// As in the other functions, the message continues a sentence that starts with the file name.
    pub(super) fn parse(self, text: &str, editor: TextEditor<'_>) -> Result<Value, String> {
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        match self {
            Self::Json | Self::YamlMap | Self::YamlList if text.trim().is_empty() => {
                Ok(Value::Object(EntryMembers::new()))
            }
            Self::Json => parse_json(text).or_else(|error| {
                let edited = editor.edit("json", text, &[]);
                edited
                    .unwrap_or_else(|| Err(not_plain(&error)))
                    .map(|file| file.value)
            }),
            Self::Toml => edit_toml(text, &[], editor).map(|file| file.value),
            Self::YamlMap | Self::YamlList => {
                Err("is YAML, which this program cannot edit without losing comments".to_owned())
            }
        }
    }

    /// Returns the text with these changes. Everything else is preserved, including the byte order mark and the line
    /// endings.
    pub(super) fn edit(
        self,
        text: &str,
        changes: &[Change],
        editor: TextEditor<'_>,
    ) -> Result<String, String> {
        let (mark, plain) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (BYTE_ORDER_MARK, rest),
            None => ("", text),
        };
        let mut expected = self.parse(plain, editor)?;
        for change in changes {
            change.apply(&mut expected)?;
        }
        let edited = match self {
            Self::Json if plain.trim().is_empty() => edit_json("{}\n", changes)?,
            Self::Json => match parse_json(plain) {
                Ok(_) => edit_json(plain, changes)?,
                Err(error) => {
                    let edited = editor.edit("json", plain, changes);
                    edited.unwrap_or_else(|| Err(not_plain(&error)))?.text
                }
            },
            Self::Toml => edit_toml(plain, changes, editor)?.text,
            // `parse` has already rejected these formats.
            _ => return Err("cannot be edited".to_owned()),
        };
        // A name that occurs twice or contains escapes could cause the wrong member to be edited.
        if without_empty(self.parse(&edited, editor)?) != without_empty(expected) {
            return Err("cannot be edited without changing something else".to_owned());
        }
        Ok(format!("{mark}{edited}"))
    }

    /// Returns the entry as text to paste into the file.
    pub(super) fn snippet(self, servers: &str, name: &str, entry: &EntryMembers) -> String {
        let lines = |between: &str| {
            let lines = entry.iter().map(|(member, value)| match value {
                Value::Object(members) if self == Self::Toml => {
                    let members = members
                        .iter()
                        .map(|(key, value)| format!("{} = {value}", Value::from(key.as_str())));
                    let members: Vec<_> = members.collect();
                    format!("{member} = {{ {} }}", members.join(", "))
                }
                value => format!("{member}{between}{value}"),
            });
            lines.collect::<Vec<_>>()
        };
        match self {
            Self::Json => format!("{:#}", serde_json::json!({ servers: { name: entry } })),
            Self::Toml => {
                let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                let quoted = Value::from(name).to_string();
                let key = if name.chars().all(is_bare) {
                    name
                } else {
                    &quoted
                };
                format!("[{servers}.{key}]\n{}", lines(" = ").join("\n"))
            }
            // JSON is also valid YAML.
            Self::YamlMap | Self::YamlList => {
                let key = Value::from(name);
                let name = std::iter::once(format!("name: {key}"));
                let lines: Vec<_> = name.chain(lines(": ")).collect();
                match self {
                    Self::YamlList => format!("{servers}:\n  - {}", lines.join("\n    ")),
                    _ => format!("{servers}:\n  {key}:\n    {}", lines.join("\n    ")),
                }
            }
        }
    }
}

/// Returns the message about a file that is not plain JSON, for a reason of the parser.
fn not_plain(error: &serde_json::Error) -> String {
    format!(
        "is not plain JSON, perhaps because it has comments: {error}. `mcp-dev install` and `mcp-dev uninstall` edit files with comments"
    )
}

fn edit_toml(text: &str, changes: &[Change], editor: TextEditor<'_>) -> Result<EditedFile, String> {
    editor.edit("toml", text, changes).unwrap_or_else(|| {
        Err("is TOML, which only `mcp-dev install` and `mcp-dev uninstall` can edit".to_owned())
    })
}

/// Removes empty members, because a TOML table disappears when its last nested table is removed.
fn without_empty(mut document: Value) -> Value {
    if let Value::Object(members) = &mut document {
        members.retain(|_, value| value.as_object().is_none_or(|inner| !inner.is_empty()));
    }
    document
}

const BYTE_ORDER_MARK: &str = "\u{feff}";
