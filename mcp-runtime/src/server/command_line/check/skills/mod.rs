//! Rules for skills. The rules are applied to skills as clients read them, so they also cover changes made by
//! middleware.
//!
//! A server does not start if a skill breaks a rule of the extension, but a function can return any skill, and a
//! sanitizer can change the text of any file.

mod links;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Failure, InProcessClient};
use crate::extension::skills::ID;
use crate::server::command_line::check::lint::{Findings, Lint};
use rules::lint_skill;

/// A skill as a client reads it.
struct ReadSkill {
    /// The entry in `skills/list`.
    entry: Value,
    /// The files, keyed by URI, each with its contents or the reason why it cannot be read.
    files: BTreeMap<String, Result<Vec<u8>, String>>,
}

/// Returns all findings about a server's skills, in the order in which the skills are listed.
pub(super) async fn lint(client: &InProcessClient) -> Result<Vec<Lint>, Failure> {
    let mut found = Findings::default();
    if !client.extensions().contains_key(ID) {
        return Ok(found.all);
    }
    let entries = client.fetch_all_pages("skills/list", "skills").await?;
    let known: BTreeSet<String> = entries.iter().flat_map(uris).collect();
    for entry in &entries {
        let skill = read(client, entry).await;
        lint_skill(&skill, &known, &mut found);
    }
    rules::lint_names(&entries, &mut found);
    Ok(found.all)
}

/// Returns the URIs of all files in an entry, starting with `SKILL.md`.
fn uris(entry: &Value) -> Vec<String> {
    let resources = entry["resources"].as_array();
    let resources = resources.into_iter().flatten();
    let all = std::iter::once(&entry["uri"]).chain(resources.map(|file| &file["uri"]));
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

async fn read(client: &InProcessClient, entry: &Value) -> ReadSkill {
    let mut files = BTreeMap::new();
    for uri in uris(entry) {
        if files.contains_key(&uri) {
            continue;
        }
        let result = client.request("resources/read", json!({"uri": uri})).await;
        let contents = match result {
            Ok(result) => bytes(&result["contents"][0]).ok_or_else(|| "it has no contents".into()),
            Err(error) => Err(error.to_string()),
        };
        files.insert(uri, contents);
    }
    ReadSkill {
        entry: entry.clone(),
        files,
    }
}

/// Returns the bytes of a resource's contents.
fn bytes(contents: &Value) -> Option<Vec<u8>> {
    match contents["text"].as_str() {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => STANDARD.decode(contents["blob"].as_str()?).ok(),
    }
}
