//! The tools, against a stand-in for the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use mcp_runtime::prelude::{json, new_server};
use mcp_runtime::serde_json::{self, Value};
use mcp_runtime::testing::TestClient;
use tokio::net::TcpListener;

use crate::api::Api;

/// Requests to a repository so far.
type Count = Arc<AtomicU32>;

fn issue(number: u64) -> Value {
    json!({"number": number, "title": format!("Issue {number}"), "state": "open", "comments": 1,
        "updated_at": "2026-07-28T12:00:00Z", "user": {"login": "ada"}, "body": "It is broken.", "labels": []})
}

#[derive(serde::Deserialize)]
struct Page {
    page: Option<u64>,
}

async fn issues(
    State(count): State<Count>,
    Path(name): Path<String>,
    Query(Page { page }): Query<Page>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let host = headers["host"].to_str().unwrap();
    let next = |host: &str| {
        [(
            "link",
            format!(r#"<http://{host}{}?page=2>; rel="next""#, uri.path()),
        )]
    };
    match (name.as_str(), count.fetch_add(1, Ordering::Relaxed), page) {
        _ if headers["authorization"] != "Bearer t0ken" => StatusCode::UNAUTHORIZED.into_response(),
        // Each first request is refused once.
        ("printer", count, None) if count % 3 == 0 => {
            (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0")]).into_response()
        }
        ("printer", _, None) => (next(host), Json(json!([issue(1), issue(2)]))).into_response(),
        ("printer", _, Some(2)) => Json(json!([issue(3)])).into_response(),
        ("elsewhere", ..) => (next("other.example"), Json(json!([issue(1)]))).into_response(),
        ("busy", ..) => (StatusCode::FORBIDDEN, [("retry-after", "60")]).into_response(),
        ("down", ..) => StatusCode::BAD_GATEWAY.into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn comment(
    State(count): State<Count>,
    Path((name, _)): Path<(String, u64)>,
    Json(body): Json<Value>,
) -> Response {
    count.fetch_add(1, Ordering::Relaxed);
    match name.as_str() {
        "down" => StatusCode::BAD_GATEWAY.into_response(),
        _ if body["body"] == "spam" => (
            StatusCode::UNPROCESSABLE_ENTITY,
            Json(json!({"message": "Body is spam"})),
        )
            .into_response(),
        _ => (
            StatusCode::CREATED,
            Json(json!({"html_url": "https://github.com/you/notes/issues/7#issuecomment-1"})),
        )
            .into_response(),
    }
}

/// Starts the stand-in; returns a client of a server that uses it.
async fn client(token: &str) -> (TestClient, Count) {
    let count = Count::default();
    let comments = get(async || {
        Json(
            json!([{"user": {"login": "bob"}, "created_at": "2026-07-28T12:00:00Z", "body": "Me too."}]),
        )
    });
    let app = Router::new()
        .route("/repos/acme/{name}/issues", get(issues))
        .route("/repos/acme/printer/issues/1", get(async || Json(issue(1))))
        .route(
            "/repos/acme/{name}/issues/{number}/comments",
            comments.post(comment),
        )
        .with_state(count.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, app).await });
    let settings = serde_json::from_value(json!({"token": token, "api_url": url})).unwrap();
    let server = new_server!().state(Api::new(&settings).unwrap());
    (TestClient::both(server).await, count)
}

#[tokio::test]
async fn all_pages_are_read_and_a_busy_service_is_asked_again() {
    let (client, count) = client("t0ken").await;
    let listed = client
        .call("list_issues", json!({"repository": "acme/printer"}))
        .await
        .unwrap();
    let issues = listed.json();
    let numbers = issues
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| issue["number"].as_u64());
    assert!(numbers.eq([Some(1), Some(2), Some(3)]));
    assert!(
        listed.text().contains("|3|Issue 3|open|"),
        "{}",
        listed.text()
    );
    // In each era: refused, the first page, the second page.
    assert_eq!(count.load(Ordering::Relaxed), 6);
}

#[tokio::test]
async fn no_more_pages_are_read_than_asked_for() {
    let (client, count) = client("t0ken").await;
    let listed = client
        .call(
            "list_issues",
            json!({"repository": "acme/printer", "limit": 2}),
        )
        .await
        .unwrap();
    assert_eq!(listed.json().as_array().unwrap().len(), 2);
    assert!(count.load(Ordering::Relaxed) < 6);
}

#[tokio::test]
async fn an_issue_comes_with_its_comments() {
    let (client, _) = client("t0ken").await;
    let read = client
        .call(
            "read_issue",
            json!({"repository": "acme/printer", "number": 1}),
        )
        .await
        .unwrap();
    assert_eq!(read.json()["comments"][0]["user"]["login"], "bob");
}

#[tokio::test]
async fn models_read_what_they_can_act_on() {
    let list = async |token: &str, repository: &str| {
        let (client, _) = client(token).await;
        let failed = client
            .call("list_issues", json!({"repository": repository}))
            .await
            .unwrap();
        failed.error_text()
    };
    assert_eq!(
        list("t0ken", "acme/busy").await,
        "too many requests; try again in 60 s"
    );
    assert!(
        list("t0ken", "acme/none")
            .await
            .starts_with("there is no such repository")
    );
    assert!(
        list("old", "acme/printer")
            .await
            .contains("`GITHUB_TOKEN` is missing")
    );
    assert!(list("t0ken", "acme/..").await.starts_with("/repository: "));
    // A page on another host would be sent the token.
    assert!(
        list("t0ken", "acme/elsewhere")
            .await
            .starts_with("internal error")
    );
}

#[tokio::test]
async fn a_comment_is_posted_once_even_if_the_service_fails() {
    let (client, count) = client("t0ken").await;
    let post = async |repository: &str, body: &str| {
        let arguments = json!({"repository": repository, "number": 1, "body": body});
        client.call("comment", arguments).await.unwrap()
    };
    assert_eq!(
        post("acme/printer", "Thanks!").await.text(),
        "https://github.com/you/notes/issues/7#issuecomment-1"
    );
    assert_eq!(
        post("acme/printer", "spam").await.error_text(),
        "GitHub does not accept this: Body is spam"
    );
    let before = count.load(Ordering::Relaxed);
    assert!(
        post("acme/down", "Hello?")
            .await
            .error_text()
            .starts_with("GitHub does not answer")
    );
    assert_eq!(count.load(Ordering::Relaxed), before + 2); // one in each era
}
