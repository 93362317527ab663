//! Checks messages over HTTP against the schema of their protocol version.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{Version, schema};

/// The facts about a response by which its messages are judged.
#[derive(Debug)]
pub(crate) struct Judge {
    version: Version,
    status: u16,
    /// The method that the response answers.
    method: Option<String>,
    /// The methods of the requests in the request body, by the JSON of their ids.
    methods: HashMap<String, String>,
}

impl Judge {
    pub(crate) fn of(version: Version, status: u16, method: Option<String>, body: &[u8]) -> Self {
        Self {
            version,
            status,
            method,
            methods: methods(body),
        }
    }

    /// Returns `true` if the response answers a known method.
    pub(crate) fn knows_method(&self) -> bool {
        self.method.is_some() || !self.methods.is_empty()
    }

    /// Checks a message, or each message of an array.
    ///
    /// # Panics
    ///
    /// Panics if a message does not match the schema.
    pub(crate) fn check(&self, message: &Value) {
        let messages = message
            .as_array()
            .map_or_else(|| std::slice::from_ref(message), Vec::as_slice);
        for message in messages {
            // Refusals that are sent before the body is read, and refusals of notifications, have no id.
            if self.status >= 400 && message.get("id").is_none() {
                let mut whole = message.clone();
                whole["id"] = json!(0);
                if let Err(faults) = schema::against(self.version, "JSONRPCMessage", &whole) {
                    panic!("{faults}");
                }
                assert!(message["error"]["code"].is_i64(), "{message}");
                continue;
            }
            let id = message
                .get("id")
                .filter(|_| message.get("method").is_none());
            let asked = id.and_then(|id| self.methods.get(&id.to_string()));
            assert!(
                id.is_none_or(|id| asked.is_some() || id.is_null() || self.methods.is_empty()),
                "an answer to no request: {message}"
            );
            let method = asked.or(self.method.as_ref()).map(String::as_str);
            if let Err(faults) = schema::check(self.version, message, method) {
                panic!("{faults}");
            }
        }
    }
}

/// Returns the methods of the requests in a body, by the JSON of their ids.
fn methods(body: &[u8]) -> HashMap<String, String> {
    let body = serde_json::from_slice(body).unwrap_or(Value::Null);
    let messages = match &body {
        Value::Array(messages) => messages.as_slice(),
        message => std::slice::from_ref(message),
    };
    messages
        .iter()
        .filter_map(|message| {
            let method = message["method"].as_str()?;
            Some((message.get("id")?.to_string(), method.to_owned()))
        })
        .collect()
}
