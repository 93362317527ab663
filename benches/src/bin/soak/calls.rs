//! The clients' requests, and checks of the answers.

use std::io::Error;

use benches::client::Era;
use serde_json::{Value, json};

/// Generates pseudo-random numbers, which are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number less than `sides`.
    pub(crate) fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Add,
    Echo(usize),
    Slow,
    Panics,
    Fails,
    Reports,
    Touch,
    List,
}

impl Call {
    pub(crate) fn any(dice: &mut Dice) -> Self {
        match dice.throw(100) {
            0..50 => Self::Add,
            50..65 => Self::Echo(usize::try_from(dice.throw(40_000)).unwrap_or(0)),
            65..75 => Self::Slow,
            75..78 => Self::Panics,
            78..83 => Self::Fails,
            83..90 => Self::Reports,
            90..93 => Self::Touch,
            _ => Self::List,
        }
    }

    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::List => "tools/list",
            _ => "tools/call",
        }
    }

    /// Returns the name of the called tool.
    pub(crate) const fn tool(self) -> Option<&'static str> {
        Some(match self {
            Self::Add => "add",
            Self::Echo(_) => "echo",
            Self::Slow => "slow",
            Self::Panics => "panics",
            Self::Fails => "fails",
            Self::Reports => "reports",
            Self::Touch => "touch",
            Self::List => return None,
        })
    }

    pub(crate) fn request(self, era: Era, id: u64) -> Value {
        let arguments = match self {
            Self::Add => json!({"a": id, "b": 1}),
            Self::Echo(length) => json!({"text": "é".repeat(length / 2)}),
            Self::Slow => json!({"milliseconds": id % 40}),
            Self::Reports => json!({"steps": 4}),
            Self::Panics | Self::Fails | Self::Touch | Self::List => json!({}),
        };
        let mut params = match self.tool() {
            Some(name) => json!({"name": name, "arguments": arguments}),
            None => json!({}),
        };
        params["_meta"] = meta(era);
        params["_meta"]["progressToken"] = id.into();
        json!({"jsonrpc": "2.0", "id": id, "method": self.method(), "params": params})
    }

    /// Returns `true` if the answer to the request with this id is correct.
    pub(crate) fn check(self, id: u64, answer: &Value) -> Result<(), Error> {
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let is_right = answer["id"] == id
            && match self {
                Self::Add => text == Some(&id.wrapping_add(1).to_string()),
                Self::Echo(length) => text.is_some_and(|text| text.len() == length / 2 * 2),
                Self::Slow => text == Some("slept"),
                Self::Panics => answer["error"]["code"] == -32603,
                Self::Fails => result["isError"] == true && text == Some("as it was told to"),
                Self::Reports => text == Some("4"),
                Self::Touch => result["content"].is_array(),
                Self::List => result["tools"]
                    .as_array()
                    .is_some_and(|tools| tools.len() == 7),
            };
        if is_right {
            Ok(())
        } else {
            Err(Error::other(format!(
                "{self:?} {id} is answered by {answer}"
            )))
        }
    }
}

/// Returns the `_meta` member of a request, which describes the client.
pub(crate) fn meta(era: Era) -> Value {
    match era {
        Era::Legacy => json!({}),
        Era::Modern => json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "info",
        }),
    }
}
