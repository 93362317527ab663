//! A call with several mistakes: what is right is not among them, and each has its place and a correction.

use mcp_runtime::prelude::*;
use tests::Version;

use super::{call, server};
use crate::support::connect;

/// Settings with optional parts.
#[data(input)]
struct Settings {
    name: String,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default = "yes")]
    active: bool,
    limit: Option<u32>,
    #[serde(default)]
    more: Vec<Settings>,
}

fn yes() -> bool {
    true
}

/// What to do.
#[data(input)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Action {
    /// Opens
    Open {
        path: String,
        #[serde(default)]
        twice: bool,
    },
    /// Lists
    List,
}

impl Action {
    fn text(self) -> String {
        match self {
            Self::Open { path, twice } => format!("{path} {twice}"),
            Self::List => "all".to_owned(),
        }
    }
}

/// Takes settings.
#[tool(tags("arguments"))]
fn configure(settings: Settings) -> String {
    let Settings {
        name,
        labels,
        active,
        limit,
        more,
    } = settings;
    format!("{name} {labels:?} {active} {limit:?} {}", more.len())
}

/// Takes settings as its arguments.
#[tool(tags("arguments"))]
fn configure_flat(#[arg(flatten)] settings: Settings) -> String {
    configure(settings)
}

/// Acts in several ways.
#[tool(tags("arguments"))]
fn act(#[arg(flatten)] action: Action) -> String {
    action.text()
}

/// Acts in several ways.
#[tool(tags("arguments"))]
fn act_on(action: Action, note: Option<String>) -> String {
    format!("{} {note:?}", action.text())
}

// Covers: TOOL-10
#[tokio::test]
async fn null_for_an_optional_field_is_not_reported_beside_another_error() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (tool, arguments, expected) in [
            (
                "configure",
                r#"{"settings":{"name":"n","limit":null}}"#,
                Ok("n [] true None 0"),
            ),
            (
                "configure",
                r#"{"settings":{"name":"n","labels":null,"active":null,"more":[{"name":"m","labels":null,"more":null}]}}"#,
                Ok("n [] true None 1"),
            ),
            (
                "configure",
                r#"{"settings":{"limit":null,"labels":null}}"#,
                Err("/settings: missing property `name`; expected string"),
            ),
            (
                "configure",
                r#"{"settings":{"name":5,"limit":null,"labels":null}}"#,
                Err("/settings/name: expected string, received 5"),
            ),
            (
                "configure",
                r#"{"settings":{"name":"n","limit":"7","labels":"[]","more":[{"name":5,"active":null}]}}"#,
                Err("/settings/more/0/name: expected string, received 5"),
            ),
            (
                "configure",
                r#"{"settings":{"name":null}}"#,
                Err("/settings/name: expected string, received null"),
            ),
            (
                "configure_flat",
                r#"{"name":"n","labels":null,"active":null,"limit":null}"#,
                Ok("n [] true None 0"),
            ),
            (
                "configure_flat",
                r#"{"labels":null,"active":null,"nmae":"n"}"#,
                Err(
                    "unknown argument `nmae`; did you mean `name`? (known: `name`, `labels`, `active`, `limit`, `more`)",
                ),
            ),
            (
                "act_on",
                r#"{"action":{"action":"open","path":"p","twice":null},"note":null}"#,
                Ok("p false None"),
            ),
            (
                "act_on",
                r#"{"action":{"action":"open","twice":null},"note":null}"#,
                Err("/action: missing property `path`; expected string"),
            ),
        ] {
            let answer = call(&mut client, tool, arguments).await;
            let answer = answer.as_deref().map_err(String::as_str);
            assert_eq!(answer, expected, "{tool} {arguments}");
        }
    }
}

#[tokio::test]
async fn an_error_in_an_enum_variant_names_the_path_and_allowed_values() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (tool, arguments, expected) in [
            (
                "act",
                r#"{"action":"list","path":"x"}"#,
                "unknown argument `path`; known: `action`",
            ),
            (
                "act",
                r#"{"action":"open","path":"x","file":"y"}"#,
                "unknown argument `file`; known: `action`, `path`, `twice`",
            ),
            (
                "act",
                r#"{"action":"lst"}"#,
                "/action: unknown value \"lst\"; did you mean \"list\"? (allowed: \"open\", \"list\")",
            ),
            (
                "act",
                r#"{"path":"x"}"#,
                "missing argument `action`; allowed: \"open\", \"list\"",
            ),
            (
                "act_on",
                r#"{"action":{"action":"list","path":"x"}}"#,
                "/action: unknown property `path`; known: `action`",
            ),
            (
                "act_on",
                r#"{"action":{"action":"open"}}"#,
                "/action: missing property `path`; expected string",
            ),
        ] {
            let answer = call(&mut client, tool, arguments).await;
            assert_eq!(answer, Err(expected.to_owned()), "{tool} {arguments}");
        }
    }
}
