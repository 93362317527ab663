//! Whether the eras came to the same.

use serde_json::Value;

use crate::jsonrpc::ErrorObject;
use crate::protocol::structured::MEMBER;
use crate::testing::script::Side;

/// What one thing came to on each side so far.
pub(super) struct Settled<'t> {
    what: &'t str,
    /// The revision, what it came to, and that in words that do not depend on the revision.
    first: Option<(&'static str, String)>,
    last: Result<Value, ErrorObject>,
}

impl<'t> Settled<'t> {
    pub(super) fn new(what: &'t str) -> Self {
        Self {
            what,
            first: None,
            last: Ok(Value::Null),
        }
    }

    /// # Panics
    ///
    /// If it is not what it was on the side before.
    pub(super) fn add(&mut self, side: &Side, outcome: Result<Value, ErrorObject>) {
        let neutral = neutral(&outcome);
        match &self.first {
            Some((revision, other)) => assert!(
                *other == neutral,
                "{} came to different things:\n{revision}: {other}\n{}: {neutral}\nEvery request is made by both clients, \
                 one after the other: if the first one changed what the second one came to, use `TestClient::each`",
                self.what,
                side.revision(),
            ),
            None => self.first = Some((side.revision(), neutral)),
        }
        self.last = outcome;
    }

    pub(super) fn outcome(self) -> Result<Value, ErrorObject> {
        self.last
    }
}

/// What must be the same in every revision: no codes, no members that only some have, no references into the log.
fn neutral(outcome: &Result<Value, ErrorObject>) -> String {
    let text = match outcome {
        Err(error) => format!("error: {}", error.message),
        // What a client cannot be asked is an error of the protocol in one era, and of the tool in the other.
        Ok(result) if result["isError"] == true => {
            let texts = result["content"].as_array().into_iter().flatten();
            let texts = texts.map(|block| block["text"].as_str().unwrap_or_default());
            format!("error: {}", texts.collect::<Vec<_>>().join("\n"))
        }
        Ok(Value::Object(members)) => {
            let mut members = members.clone();
            // 2026-07-28 alone has these.
            for name in ["_meta", "resultType", "ttlMs", "cacheScope"] {
                members.shift_remove(name);
            }
            // The others wrap structured content that is no object.
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
    without_references(&text)
}

fn without_references(text: &str) -> String {
    let mut parts = text.split("(reference ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str("(reference");
        kept.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    kept
}
