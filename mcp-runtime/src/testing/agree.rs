//! Compares the results from the two eras.

use serde_json::Value;

use crate::jsonrpc::ErrorObject;
use crate::protocol::shape::structured::MEMBER;
use crate::testing::script::ScriptedClient;

/// The results of a single request from the sides compared so far.
pub(super) struct OutcomeComparison<'t> {
    what: &'t str,
    /// The first side's protocol version, and its result in a form that does not depend on the version.
    first: Option<(&'static str, String)>,
    last: Result<Value, ErrorObject>,
}

impl<'t> OutcomeComparison<'t> {
    pub(super) fn new(what: &'t str) -> Self {
        Self {
            what,
            first: None,
            last: Ok(Value::Null),
        }
    }

    /// # Panics
    ///
    /// Panics if the result differs from the previous side's result.
    pub(super) fn add(&mut self, side: &ScriptedClient, outcome: Result<Value, ErrorObject>) {
        let neutral = version_independent_text(&outcome);
        match &self.first {
            Some((revision, other)) => assert!(
                *other == neutral,
                "different results for {}:\n{revision}: {other}\n{}: {neutral}\nBoth clients send every request, \
                 one after the other: if the first one affects the result of the second, use `TestClient::each`; \
                 if results contain random ids or times, use `TestClient::legacy` and `TestClient::modern`",
                self.what,
                side.version(),
            ),
            None => self.first = Some((side.version(), neutral)),
        }
        self.last = outcome;
    }

    pub(super) fn outcome(self) -> Result<Value, ErrorObject> {
        self.last
    }
}

/// Returns the part of a result that must be the same in every protocol version. Error codes, members that exist only
/// in some versions, and references to the log are omitted.
fn version_independent_text(outcome: &Result<Value, ErrorObject>) -> String {
    let text = match outcome {
        Err(error) => format!("error: {}", error.message),
        // A missing client capability is a protocol error in one era and a tool error in the other.
        Ok(result) if result["isError"] == true => {
            let texts = result["content"].as_array().into_iter().flatten();
            let texts = texts.map(|block| block["text"].as_str().unwrap_or_default());
            format!("error: {}", texts.collect::<Vec<_>>().join("\n"))
        }
        Ok(Value::Object(members)) => {
            let mut members = members.clone();
            // These members exist only in 2026-07-28.
            for name in ["_meta", "resultType", "ttlMs", "cacheScope"] {
                members.shift_remove(name);
            }
            // The other versions wrap structured content that is not an object.
            if let Some(content) = members.get_mut("structuredContent")
                && let Some(inside) = content.as_object_mut().filter(|object| object.len() == 1)
                && let Some(inside) = inside.shift_remove(MEMBER)
            {
                *content = inside;
            }
            Value::Object(members).to_string()
        }
        Ok(value) => match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        },
    };
    without_log_references(&text)
}

fn without_log_references(text: &str) -> String {
    let mut parts = text.split("(reference ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str("(reference");
        kept.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    kept
}
