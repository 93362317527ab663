//! The messages that a client sends, and checks of the answers.

/// The era that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Protocol version 2025-11-25, with a handshake.
    Legacy,
    /// Protocol version 2026-07-28, where every request specifies the version.
    Modern,
}

impl Era {
    /// Returns the era with the given name on the command line.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "legacy" => Some(Self::Legacy),
            "modern" => Some(Self::Modern),
            _ => None,
        }
    }

    /// Returns the protocol version as written on the wire.
    #[must_use]
    pub fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    /// Returns the messages to send before the first call. The server answers only the first of them, if there are any.
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

    /// Returns the members that every request has in its `params`, preceded by `comma`.
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

/// The capabilities of a client that declares none, and of one that supports tasks.
const NONE: &str = r#"clientCapabilities":{}"#;
const TASKS: &str = r#"clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// The request that a client repeats.
#[derive(Clone, Debug)]
pub enum Question {
    /// Calls a tool that adds two integers.
    Add(String),
    /// Calls a tool that adds two integers, as a task.
    Task(String),
    /// Calls a tool that returns its text argument.
    Echo(String),
    /// Lists the tools.
    List,
    /// Lists the skills.
    Skills,
    /// Calls a tool that returns a table.
    Rows,
    /// Calls a tool that takes nested arguments, which are given as JSON.
    Urgent(String),
    /// Reads the resource with this URI, whose contents have this member.
    Read(&'static str, &'static str),
}

impl Question {
    /// Returns the method of the request and the name of the called tool, if any.
    #[must_use]
    pub fn target(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Add(tool) | Self::Task(tool) => ("tools/call", Some(tool)),
            Self::Echo(_) => ("tools/call", Some("echo")),
            Self::List => ("tools/list", None),
            Self::Skills => ("skills/list", None),
            Self::Rows => ("tools/call", Some("rows")),
            Self::Urgent(_) => ("tools/call", Some("urgent")),
            Self::Read(uri, _) => ("resources/read", Some(uri)),
        }
    }

    /// Returns the request with the given id.
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
            Self::Task(tool) => {
                let arguments = format!(r#""name":"{tool}","arguments":{{"a":{id},"b":1}}"#);
                match era {
                    Era::Legacy => format!(r#"{arguments},"task":{{}}"#),
                    Era::Modern => arguments + &era.meta(",").replace(NONE, TASKS),
                }
            }
            Self::Echo(text) => {
                format!(
                    r#""name":"echo","arguments":{{"text":"{text}"}}{}"#,
                    era.meta(",")
                )
            }
            Self::List | Self::Skills => era.meta(""),
            Self::Rows => format!(r#""name":"rows"{}"#, era.meta(",")),
            Self::Urgent(orders) => {
                format!(
                    r#""name":"urgent","arguments":{{"orders":{orders}}}{}"#,
                    era.meta(",")
                )
            }
            Self::Read(uri, _) => format!(r#""uri":"{uri}"{}"#, era.meta(",")),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
    }

    /// Returns the request for the next page if the question is a list and the answer is not its last page.
    #[must_use]
    pub fn next_page(&self, era: Era, id: u64, answer: &str) -> Option<String> {
        if !matches!(self, Self::List | Self::Skills) {
            return None;
        }
        let (_, after) = answer.rsplit_once("\"nextCursor\":\"")?;
        let (cursor, _) = after.split_once('"')?;
        let method = self.target().0;
        let meta = era.meta(",");
        Some(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"cursor":"{cursor}"{meta}}}}}"#
        ))
    }

    /// Returns the id of the answered request if the answer is correct.
    #[must_use]
    pub fn answered(&self, answer: &str) -> Option<u64> {
        let (before, result) = answer.split_once("\"result\":")?;
        // Servers may write `id` before the result or after it.
        let id = before.split_once("\"id\":");
        let (_, id) = id.or_else(|| result.rsplit_once("\"id\":"))?;
        let id: u64 = id.split([',', '}']).next()?.parse().ok()?;
        let is_right = match self {
            Self::Add(_) => result.contains(&format!("\"text\":\"{}\"", id.wrapping_add(1))),
            Self::Task(_) => result.contains("\"taskId\":\""),
            Self::Echo(text) => {
                let (_, said) = result.split_once("\"text\":\"")?;
                said.strip_prefix(text.as_str())
                    .is_some_and(|rest| rest.starts_with('"'))
            }
            Self::List => result.contains("\"tools\":[{"),
            Self::Skills => result.contains("\"skills\":[{"),
            Self::Rows => result.contains("\"structuredContent\":") && result.len() > 200_000,
            Self::Urgent(orders) => {
                let urgent = orders.matches("express").count();
                result.contains(&format!("\"text\":\"{urgent}\""))
            }
            Self::Read(_, member) => result.contains(member) && result.len() > 1 << 20,
        };
        (is_right && !answer.contains("\"isError\":true")).then_some(id)
    }
}

/// Returns text that takes up the given number of bytes on the wire. The text is either plain, with few escapes, or
/// ordinary, with quotes and letters beyond ASCII.
#[must_use]
pub fn text(bytes: usize, is_ordinary: bool) -> String {
    const PLAIN: &str = r"The quick brown fox jumps over the lazy dog, and then once more\n";
    const ORDINARY: &str = r#"The quick brown fox jumps over the lazy dog, \"quoted\" café line\n"#;
    let line = if is_ordinary { ORDINARY } else { PLAIN };
    let mut text = line.repeat(bytes / line.len());
    while text.len() < bytes {
        text.push('.');
    }
    text
}

/// Returns the members of a list with the given number of tools on a single page.
#[must_use]
pub fn page(tools: usize) -> String {
    let mut page = String::from("\"tools\":[");
    let tools: Vec<_> = (0..tools).map(tool).collect();
    page.push_str(&tools.join(","));
    page.push(']');
    page
}

/// Returns one of many tools as it appears in a list.
fn tool(number: usize) -> String {
    format!(
        r#"{{"name":"{}","description":"{DESCRIPTION}","inputSchema":{SCHEMA}}}"#,
        name(number)
    )
}

/// Returns the name of one of many tools.
#[must_use]
pub fn name(number: usize) -> String {
    format!("tool_{number:04}")
}

/// Returns the path and the `SKILL.md` of one of many skills.
#[must_use]
pub fn skill(number: usize) -> (String, String) {
    let path = format!("skill-{number:04}");
    let text = format!("---\nname: {path}\ndescription: {DESCRIPTION}\n---\nLook it up.\n");
    (path, text)
}

/// The description of each of many tools.
pub const DESCRIPTION: &str = "Looks up what is stored under a key, and says when it was stored";

/// The input schema of each of many tools.
pub const SCHEMA: &str = concat!(
    r#"{"type":"object","properties":{"key":{"type":"string","description":"Under which it is stored"},"#,
    r#""limit":{"type":"integer","description":"Most entries","minimum":0}},"required":["key"]}"#
);
