//! The tools.

use chrono::{DateTime, Utc};
use mcp_runtime::prelude::*;

use crate::api::Api;

/// An issue.
#[data(allow_unknown_fields)]
struct Issue {
    number: u64,
    title: String,
    state: String,
    comments: u64,
    updated_at: DateTime<Utc>,
}

/// A comment.
#[data(allow_unknown_fields)]
struct Comment {
    user: User,
    created_at: DateTime<Utc>,
    body: String,
}

#[data(allow_unknown_fields)]
struct User {
    login: String,
}

/// An issue with its text and its comments.
#[data(allow_unknown_fields)]
struct Discussion {
    title: String,
    state: String,
    user: User,
    body: Option<String>,
    #[serde(skip_deserializing)]
    comments: Vec<Comment>,
}

/// The issues to list.
#[data(input)]
#[serde(rename_all = "lowercase")]
enum Status {
    Open,
    Closed,
    All,
}

impl Status {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::All => "all",
        }
    }
}

/// `owner/name`. No part is `.` or `..`, because both become parts of a path.
#[data]
#[serde(transparent)]
struct Repository(#[arg(pattern = r"^[A-Za-z0-9-]+/\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*$")] String);

/// Lists issues, those that changed last first.
#[tool(read_only, open_world, text = "table", timeout = "1m")]
async fn list_issues(
    api: &State<Api>,
    /// Owner and name, such as `rust-lang/rust`
    repository: Repository,
    #[arg(default = "open")] status: Status,
    /// Labels that an issue has to have
    labels: Option<Vec<String>>,
    /// Maximum number of issues
    #[arg(range(1..=500), default = 30)]
    limit: usize,
) -> Result<Json<Vec<Issue>>> {
    let labels = labels.unwrap_or_default().join(",");
    let query = [
        ("state", status.as_str()),
        ("sort", "updated"),
        ("labels", &labels),
    ];
    let path = format!("repos/{}/issues", repository.0);
    Ok(Json(api.list(&path, &query, limit).await?))
}

/// Reads an issue with its comments.
#[tool(read_only, open_world, timeout = "1m")]
async fn read_issue(
    api: &State<Api>,
    /// Owner and name, such as `rust-lang/rust`
    repository: Repository,
    /// Number of the issue
    number: u64,
) -> Result<Json<Discussion>> {
    let path = format!("repos/{}/issues/{number}", repository.0);
    let comments = format!("{path}/comments");
    let (discussion, comments) =
        tokio::try_join!(api.get::<Discussion>(&path), api.list(&comments, &[], 200))?;
    Ok(Json(Discussion {
        comments,
        ..discussion
    }))
}

/// Comments on an issue, in public.
#[tool(open_world)]
async fn comment(
    api: &State<Api>,
    /// Owner and name, such as `rust-lang/rust`
    repository: Repository,
    /// Number of the issue
    number: u64,
    /// The comment, in Markdown
    #[arg(length(1..=65_536))]
    body: &str,
) -> Result<String> {
    #[data(input, allow_unknown_fields)]
    struct Posted {
        html_url: String,
    }
    let path = format!("repos/{}/issues/{number}/comments", repository.0);
    let posted: Posted = api.post(&path, &json!({"body": body})).await?;
    Ok(posted.html_url)
}
