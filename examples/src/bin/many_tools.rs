//! A server with more tools than models like to read. Hosts select a part of it by tags (`many_tools --tags issues`, or
//! `/mcp?tags=issues` with `--http`), and a model searches the rest.
use mcp_runtime::extension::{TagInstructions, ToolSearch};
use mcp_runtime::prelude::*;

/// Lists the open issues.
#[tool(tags("issues"), read_only)]
fn list_issues() -> &'static str {
    "#1: The kettle whistles"
}

/// Closes an issue.
#[tool(tags("issues"))]
fn close_issue(
    /// The number of the issue
    number: u32,
) -> String {
    format!("#{number} is closed")
}

/// Merges a pull request.
#[tool(tags("pulls"))]
fn merge_pull_request(
    /// The number of the pull request
    number: u32,
    /// Turns its commits into one
    squash: Option<bool>,
) -> String {
    let how = if squash == Some(true) {
        "squashed"
    } else {
        "merged"
    };
    format!("#{number} is {how}")
}

/// Deletes a repository with everything in it.
#[tool(tags("admin"), destructive, scopes("admin"))]
fn delete_repository(
    /// The name of the repository
    name: &str,
) -> String {
    format!("{name} is gone")
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!()
        .describe_tag("issues", "Bugs and wishes")
        .describe_tag("pulls", "Changes to the code")
        .with(TagInstructions)
        // A real server would say 40; four tools need no search.
        .with(ToolSearch::above(2).pin(["list_issues"]))
        .trust_anonymous()
        .run()
        .await
}
