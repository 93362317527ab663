//! State that is created from other state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_runtime::prelude::*;
use mcp_runtime::server::ErrorKind;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use serde_json::json;
use tests::Version;
use tests::http::Request;

use super::lazy_state::mount;
use crate::http::support::text;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

struct Url(&'static str);

#[derive(Debug)]
struct Pool(String);

struct Api {
    base: String,
    made: u32,
}

#[tool(tags("derived_state"))]
fn base(api: &State<Api>) -> String {
    format!("{} {}", api.base, api.made)
}

/// Takes what needs nothing.
#[tool(tags("derived_state"))]
fn url(url: &State<Url>) -> &'static str {
    url.0
}

fn server() -> Server {
    Server::new("derived", "1").only(Selected::tag("derived_state"))
}

/// Declares the values in the order opposite to that in which they are needed.
fn counted(made: &Arc<AtomicU32>) -> Server {
    let (for_api, for_pool) = (Arc::clone(made), Arc::clone(made));
    server()
        .state_with(move |pool: State<Pool>, url: Arc<Url>| {
            let made = for_api.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                tokio::task::yield_now().await;
                let base = format!("{} {}", pool.0, url.0);
                Ok::<_, BoxError>(Api { base, made })
            }
        })
        .state_with(move |url: State<Url>| {
            for_pool.fetch_add(10, Ordering::Relaxed);
            async move {
                tokio::task::yield_now().await;
                if url.0.is_empty() {
                    return Err("there is no host");
                }
                Ok(Pool(format!("pool of {}", url.0)))
            }
        })
}

fn start_error(server: Server) -> String {
    let error = server.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    error.to_string()
}

#[tokio::test]
async fn calls_at_the_same_time_create_each_value_once() {
    for version in Version::ERAS {
        let made = Arc::default();
        let server = counted(&made).state(Url("x:"));
        let client = TestClient::new(server, version.protocol_version()).await;
        assert_eq!(client.call("url", json!({})).await.unwrap().text(), "x:");
        assert_eq!(made.load(Ordering::Relaxed), 0);
        let call = || client.call("base", json!({}));
        let (one, two, three) = tokio::join!(call(), call(), call());
        for called in [one, two, three] {
            assert_eq!(called.unwrap().text(), "pool of x: x: 11");
        }
        assert_eq!(made.load(Ordering::Relaxed), 11);
    }
}

#[tokio::test]
async fn a_value_in_an_arc_is_the_same_state_as_the_value() {
    for version in Version::ERAS {
        let made = Arc::default();
        let shared = counted(&made).state(Arc::new(Url("x:")));
        let mut client = crate::support::connect(shared, version).await;
        assert_eq!(client.text("url", json!({})).await, "x:");
        assert_eq!(client.text("base", json!({})).await, "pool of x: x: 11");
        // The second value replaces the first, in an `Arc` or not.
        for twice in [
            server().state(Url("a:")).state(Arc::new(Url("b:"))),
            server().state(Arc::new(Url("a:"))).state(Url("b:")),
        ] {
            let served = twice.state(Api {
                base: String::new(),
                made: 0,
            });
            let mut client = crate::support::connect(served, version).await;
            assert_eq!(client.text("url", json!({})).await, "b:");
        }
    }
}

#[tokio::test]
async fn a_server_that_runs_creates_all_values_first() {
    for version in Version::ERAS {
        let made = Arc::default();
        let mut client = crate::support::connect(counted(&made).state(Url("x:")), version).await;
        assert_eq!(client.text("base", json!({})).await, "pool of x: x: 11");
    }
    let (transport, _client) = mcp_runtime::transport::memory();
    let server = counted(&Arc::default()).state(Url(""));
    let error = server.serve(transport).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    // The value that failed is named, not the one that needs it.
    let expected = "cannot create the state of type `Pool`: there is no host";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_mounted_service_creates_what_the_value_of_a_call_needs() {
    let made = Arc::default();
    let service = counted(&made).state(Url("x:")).into_http_service().unwrap();
    let address = mount(service).await;
    for _ in 0..2 {
        let request = Request::tool("base", json!({}));
        let mut response = tests::http::send(address, &request).await;
        assert_eq!(text(&response.message().await), "pool of x: x: 11");
    }
}

#[tokio::test]
async fn settings_become_state_in_one_line() {
    #[data(input)]
    struct Settings {
        #[serde(default)]
        #[allow(dead_code, reason = "only its presence matters")]
        url: String,
    }
    async fn connect(settings: &Settings) -> std::io::Result<Api> {
        let base = format!("[{}]", settings.url);
        Ok(Api { base, made: 0 })
    }
    let servers = [
        server()
            .state(Url(""))
            .env::<Settings>("NO_SUCH_DERIVED_")
            .state_with(async |settings: State<Settings>| connect(&settings).await),
        server()
            .state(Url(""))
            .state_with(async |settings: Arc<Settings>| connect(&settings).await)
            .env::<Settings>("NO_SUCH_DERIVED_"),
    ];
    for server in servers {
        let client = TestClient::both(server).await;
        assert_eq!(client.call("base", json!({})).await.unwrap().text(), "[] 0");
    }
}

#[test]
fn a_missing_value_is_an_error_at_the_start_that_names_both_types() {
    let error = start_error(counted(&Arc::default()));
    let expected = "the state of type `Api` is created from `Url`, but there is no state of type `Url`; add `.state(…)`";
    assert!(error.contains(expected), "{error}");
    assert!(
        error.contains("the state of type `Pool` is created from `Url`"),
        "{error}"
    );
}

#[test]
fn circles_are_refused() {
    let api = async |pool: State<Pool>| {
        let base = pool.0.clone();
        Ok::<_, BoxError>(Api { base, made: 0 })
    };
    let server = server()
        .state(Url(""))
        .state_with(api)
        .state_with(async |api: State<Api>| Ok::<_, BoxError>(Pool(api.base.clone())));
    assert_eq!(
        start_error(server),
        "no state can be created from itself: `Api` needs `Pool`, which needs `Api`"
    );
    let server = crate::request::derived_state::server()
        .state(Url(""))
        .state(Api {
            base: String::new(),
            made: 0,
        })
        // Replaces the value that it takes.
        .state_with(async |api: State<Api>| {
            let base = api.base.clone();
            Ok::<_, BoxError>(Api { base, made: 1 })
        });
    assert_eq!(
        start_error(server),
        "no state can be created from itself: `Api` needs `Api`"
    );
}
