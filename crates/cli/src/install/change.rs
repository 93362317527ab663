//! The changes that add a server to a configuration, independent of the file's format.

use serde_json::{Map, Value};

use crate::install::entry::{EntryMembers, ServerEntry, TRANSPORT};

/// Members of entries for servers that the client starts.
const OF_LOCAL_SERVERS: &[&str] = &["command", "args", "env", "environment", "cwd"];

/// Members of entries for servers to which the client connects: the names of the URL, and other members.
const URLS: &[&str] = &["url", "serverUrl", "httpUrl"];
const OF_REMOTE_SERVERS: &[&str] = &["headers", "http_headers"];

/// Returns the members that do not belong beside new ones: those of the other kind of server, and other names of the URL,
/// which a client may have read before.
fn foreign_members(news: &EntryMembers) -> [&'static [&'static str]; 3] {
    if news.contains_key("command") {
        [URLS, OF_REMOTE_SERVERS, &[]]
    } else if news.contains_key(TRANSPORT) {
        [OF_LOCAL_SERVERS, URLS, OF_REMOTE_SERVERS]
    } else {
        [OF_LOCAL_SERVERS, URLS, &[]]
    }
}

/// A member to set or remove. Missing objects along the path are created.
#[derive(Debug, PartialEq)]
pub(super) struct Change {
    pub(super) path: Vec<String>,
    /// The new value, or `None` to remove the member.
    pub(super) value: Option<Value>,
}

impl Change {
    fn new(path: &[&str], value: Option<&Value>) -> Self {
        Self {
            path: path.iter().map(|&name| name.to_owned()).collect(),
            value: value.cloned(),
        }
    }

    /// Returns the changes that add a server. Members that the user added to an existing entry are kept, except those
    /// that would give the client two ways to reach the server.
    pub(super) fn to_enter(
        servers: &str,
        name: &str,
        entry: &ServerEntry,
        document: &Value,
    ) -> Vec<Self> {
        let Some(Value::Object(present)) = document.get(servers).and_then(|all| all.get(name))
        else {
            let whole = Value::Object(entry.members.clone());
            return vec![Self::new(&[servers, name], Some(&whole))];
        };
        let mut changes = Vec::new();
        let path = [servers, name];
        Self::to_merge(
            &path,
            (&entry.members, present),
            entry.keeps_arguments,
            &mut changes,
        );
        changes
    }

    /// Collects the changes that turn the members at a path into new ones.
    fn to_merge(
        path: &[&str],
        (news, present): (&EntryMembers, &EntryMembers),
        keeps_arguments: bool,
        changes: &mut Vec<Self>,
    ) {
        let at =
            |member: &str, value: Option<&Value>| Self::new(&[path, &[member]].concat(), value);
        for (member, value) in news {
            match (value, present.get(member)) {
                (_, Some(old)) if old == value => {}
                // The user may have allowed only some of the tools.
                (_, Some(_)) if member == "tools" => {}
                (_, Some(Value::Array(_))) if member == "args" && keeps_arguments => {}
                (Value::Array(new), Some(Value::Array(old)))
                    if member == "command" && keeps_arguments =>
                {
                    // The executable is the first word of the command, and the rest are its arguments.
                    let words = new.iter().take(1).chain(old.iter().skip(1));
                    let words: Value = words.cloned().collect();
                    if words != Value::Array(old.clone()) {
                        changes.push(at(member, Some(&words)));
                    }
                }
                (Value::Object(new), Some(Value::Object(old))) if member == TRANSPORT => {
                    let path = [path, &[member.as_str()]].concat();
                    Self::to_merge(&path, (new, old), keeps_arguments, changes);
                }
                (Value::Object(new), Some(Value::Object(old))) => {
                    let news = new
                        .iter()
                        .filter(|(key, value)| old.get(*key) != Some(*value));
                    changes.extend(news.map(|(key, value)| {
                        Self::new(&[path, &[member, key]].concat(), Some(value))
                    }));
                }
                _ => changes.push(at(member, Some(value))),
            }
        }
        let is_stale =
            |member: &&&str| present.contains_key(**member) && !news.contains_key(**member);
        let stale: Vec<_> = foreign_members(news)
            .into_iter()
            .flatten()
            .filter(is_stale)
            .collect();
        if !stale.is_empty() && !news.contains_key("type") && present.contains_key("type") {
            changes.push(at("type", None));
        }
        changes.extend(stale.into_iter().map(|member| at(member, None)));
    }

    /// Describes the parts of an existing entry with this name that do not come from `entry` and are kept. Environment
    /// variables and headers are described only by name, because their values may be secret.
    pub(super) fn kept(
        servers: &str,
        name: &str,
        entry: &ServerEntry,
        document: &Value,
        changes: &[Self],
    ) -> Result<Vec<String>, String> {
        let mut after = document.clone();
        for change in changes {
            change.apply(&mut after)?;
        }
        let before = document[servers][name].as_object();
        let mut kept = Vec::new();
        for (member, old) in before.into_iter().flatten() {
            let new = &after[servers][name][member];
            if new.is_null() || entry.members.get(member) == Some(old) {
                continue;
            }
            match (old, new) {
                (Value::Object(old), Value::Object(new)) => {
                    let own = entry.members.get(member).and_then(Value::as_object);
                    let others = old.keys().filter(|key| {
                        new.contains_key(*key) && own.is_none_or(|own| !own.contains_key(*key))
                    });
                    let others: Vec<_> = others.map(String::as_str).collect();
                    if !others.is_empty() {
                        kept.push(format!("{member} {}", others.join(" ")));
                    }
                }
                (Value::Array(words), _) if member == "command" => {
                    if let Some(arguments) = words.get(1..).filter(|words| !words.is_empty()) {
                        kept.push(format!("arguments {}", Value::from(arguments)));
                    }
                }
                _ if old == new => kept.push(format!("{member} {old}")),
                _ => {}
            }
        }
        Ok(kept)
    }

    /// Returns the change that removes a server.
    pub(super) fn to_remove(servers: &str, name: &str) -> Self {
        Self::new(&[servers, name], None)
    }

    /// Applies the change to a parsed document.
    pub(super) fn apply(&self, document: &mut Value) -> Result<(), String> {
        let Some((last, parents)) = self.path.split_last() else {
            return Ok(());
        };
        let mut object = object_in(document)?;
        for name in parents {
            let child = object
                .entry(name.as_str())
                .or_insert_with(|| Map::new().into());
            object = object_in(child)?;
        }
        match &self.value {
            Some(value) => drop(object.insert(last.clone(), value.clone())),
            None => drop(object.shift_remove(last)),
        }
        Ok(())
    }
}

fn object_in(value: &mut Value) -> Result<&mut Map<String, Value>, String> {
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(NO_OBJECT.to_owned()),
    }
}

/// Continues a sentence that starts with the file name.
pub(super) const NO_OBJECT: &str = "does not have an object in which servers are configured";
