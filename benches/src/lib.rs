//! What the measurements share: the messages of a client that adds two integers.

/// Which generation of the protocol a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// With a handshake: revision 2025-06-18.
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

    /// The lines to send before the first call. The first of them, if any, is answered with one line.
    #[must_use]
    pub fn greeting(self) -> &'static str {
        match self {
            Self::Legacy => concat!(
                r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
                r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
                "\n",
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "\n"
            ),
            Self::Modern => "",
        }
    }

    /// The line that asks the tool `add` for `id` + 1.
    #[must_use]
    pub fn call(self, id: u64) -> String {
        let meta = match self {
            Self::Legacy => "",
            Self::Modern => concat!(
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{}}"#
            ),
        };
        format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","#,
                r#""params":{{"name":"add","arguments":{{"a":{id},"b":1}}{meta}}}}}"#,
                "\n"
            ),
            id = id,
            meta = meta
        )
    }
}

/// The id of the call that a line answers, if the answer is right as far as a glance tells.
#[must_use]
pub fn answered(line: &str) -> Option<u64> {
    let (_, after) = line.split_once("\"id\":")?;
    let (id, _) = after.split_once(',')?;
    let id: u64 = id.parse().ok()?;
    line.contains(&format!("\"text\":\"{}\"", id.wrapping_add(1)))
        .then_some(id)
}
