//! Checks structured content against the output schema of its tool, as any client may do.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::Version;
use crate::client::{Client, Pending};

/// The output schemas of tools, and the results that have not been checked yet.
#[derive(Default)]
pub(super) struct Outputs {
    /// The output schemas of the tools listed so far.
    schemas: HashMap<(Version, String), Value>,
    /// The protocol versions in which all pages of tools have been listed.
    listed: HashSet<Version>,
    /// Results of tools whose schemas are not known yet.
    open: Vec<(Version, String, Value)>,
}

impl Outputs {
    /// Checks a new result, or keeps it until the schema of its tool is known.
    pub(super) fn judge(&mut self, request: &Pending, result: &Value) {
        let version = request.version;
        if request.method == "tools/list" {
            for tool in result["tools"].as_array().into_iter().flatten() {
                let name = tool["name"].as_str().unwrap_or_default().to_owned();
                self.schemas
                    .insert((version, name), tool["outputSchema"].clone());
            }
        }
        let Some(tool) = &request.tool else { return };
        let is_question = result["resultType"] == "input_required";
        if is_question || result["isError"] == true {
            return;
        }
        match self.schemas.get(&(version, tool.clone())) {
            Some(schema) => check(tool, schema, result),
            None if result.get("structuredContent").is_none() => {}
            None => self.open.push((version, tool.clone(), result.clone())),
        }
    }
}

/// Checks a result against the output schema of its tool.
///
/// # Panics
///
/// Panics if the result does not match.
fn check(tool: &str, schema: &Value, result: &Value) {
    if schema.is_null() {
        return;
    }
    let structured = result.get("structuredContent");
    let structured =
        structured.unwrap_or_else(|| panic!("`{tool}` returned no structured content: {result}"));
    let validator = jsonschema::validator_for(schema);
    let validator = validator.unwrap_or_else(|error| panic!("`{tool}`: {error}: {schema}"));
    let faults = validator.iter_errors(structured);
    let faults: Vec<_> = faults.map(|fault| fault.to_string()).collect();
    assert!(
        faults.is_empty(),
        "`{tool}` has the output schema {schema} and returned {structured}: {faults:?}"
    );
}

impl Client {
    /// Checks the results kept so far. If a schema is not known yet, lists the tools first.
    pub(super) async fn judge_outputs(&mut self) {
        for (version, tool, result) in std::mem::take(&mut self.outputs.open) {
            // The client has switched to another protocol version.
            if version != self.version {
                continue;
            }
            if self.outputs.listed.insert(version) {
                self.list_tools().await;
            }
            if let Some(schema) = self.outputs.schemas.get(&(version, tool.clone())) {
                check(&tool, schema, &result);
            }
        }
    }

    async fn list_tools(&mut self) {
        let mut params = json!({});
        loop {
            let id = self.start("tools/list", params).await;
            let Ok(page) = self.response(&id).await else {
                return;
            };
            match page.get("nextCursor") {
                Some(next) => params = json!({ "cursor": next }),
                None => return,
            }
        }
    }
}
