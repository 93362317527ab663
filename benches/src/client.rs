//! The messages of a client, and what it expects back.

/// The era that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// With a handshake: revision 2025-11-25.
    Legacy,
    /// With a claim in every request: revision 2026-07-28.
    Modern,
}

impl Era {
    /// From its name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "legacy" => Some(Self::Legacy),
            "modern" => Some(Self::Modern),
            _ => None,
        }
    }

    /// The revision, as the protocol writes it.
    #[must_use]
    pub fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    /// The messages to send before the first call. The first of them, if any, is answered.
    #[must_use]
    pub fn greeting(self) -> &'static [&'static str] {
        match self {
            Self::Legacy => &[
                concat!(
                    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
                    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#
                ),
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            ],
            Self::Modern => &[],
        }
    }

    /// The members that every request carries in its `params`, with a comma before them or not.
    fn meta(self, comma: &str) -> String {
        match self {
            Self::Legacy => String::new(),
            Self::Modern => format!(
                concat!(
                    r#"{}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                    r#""io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"#,
                    r#""io.modelcontextprotocol/clientCapabilities":{{}}}}"#
                ),
                comma
            ),
        }
    }
}

/// The request that a client repeats.
#[derive(Clone, Debug)]
pub enum Question {
    /// A tool of two integers for their sum.
    Add(String),
    /// A tool of a text for the same text.
    Echo(String),
    /// The tools.
    List,
}

impl Question {
    /// The method of the request, and the name of what is called.
    #[must_use]
    pub fn target(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Add(tool) => ("tools/call", Some(tool)),
            Self::Echo(_) => ("tools/call", Some("echo")),
            Self::List => ("tools/list", None),
        }
    }

    /// The request of this id.
    #[must_use]
    pub fn request(&self, era: Era, id: u64) -> String {
        let method = self.target().0;
        let params = match self {
            Self::Add(tool) => {
                format!(
                    r#""name":"{tool}","arguments":{{"a":{id},"b":1}}{}"#,
                    era.meta(",")
                )
            }
            Self::Echo(text) => {
                format!(
                    r#""name":"echo","arguments":{{"text":"{text}"}}{}"#,
                    era.meta(",")
                )
            }
            Self::List => era.meta(""),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
    }

    /// The id of the request that is answered, if the answer is right.
    #[must_use]
    pub fn answered(&self, answer: &str) -> Option<u64> {
        let (_, after) = answer.split_once("\"id\":")?;
        let (id, result) = after.split_once(',')?;
        let id: u64 = id.parse().ok()?;
        let is_right = match self {
            Self::Add(_) => result.contains(&format!("\"text\":\"{}\"", id.wrapping_add(1))),
            Self::Echo(text) => {
                let (_, said) = result.split_once("\"text\":\"")?;
                said.strip_prefix(text.as_str())
                    .is_some_and(|rest| rest.starts_with('"'))
            }
            Self::List => result.contains("\"tools\":[{"),
        };
        (is_right && !answer.contains("\"isError\"")).then_some(id)
    }
}

/// Text of this many bytes on the wire, with an escape now and then.
#[must_use]
pub fn text(bytes: usize) -> String {
    const LINE: &str = r"The quick brown fox jumps over the lazy dog, and then once more\n";
    let mut text = LINE.repeat(bytes / LINE.len());
    while text.len() < bytes {
        text.push('.');
    }
    text
}

/// The members of a list of this many tools, as one page.
#[must_use]
pub fn page(tools: usize) -> String {
    let mut page = String::from("\"tools\":[");
    let tools: Vec<_> = (0..tools).map(tool).collect();
    page.push_str(&tools.join(","));
    page.push(']');
    page
}

/// One of many tools, as a list shows it.
fn tool(number: usize) -> String {
    format!(
        r#"{{"name":"{}","description":"{DESCRIPTION}","inputSchema":{SCHEMA}}}"#,
        name(number)
    )
}

/// The name of one of many tools.
#[must_use]
pub fn name(number: usize) -> String {
    format!("tool_{number:04}")
}

/// The description of one of many tools.
pub const DESCRIPTION: &str = "Looks up what is stored under a key, and says when it was stored";

/// The arguments of one of many tools.
pub const SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"key":{"type":"string","description":"Under which it is stored"},"#,
    r#""limit":{"type":"integer","description":"Most entries","minimum":0}},"required":["key"]}"#
);
