//! Principals named by a trusted proxy: all that a tenant has belongs to it.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::http::{HttpOptions, TrustedProxies};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, connect, response, write};

use crate::http::support::{Served, initialize, serve_server, text};

const TENANT: &str = "X-Tenant";

/// Returns the caller.
#[tool(tags("tenants"))]
fn whose(caller: Option<Principal>) -> String {
    caller.map_or_else(
        || "nobody".to_owned(),
        |caller| format!("{} of {}", caller.subject(), caller.issuer()),
    )
}

/// Never ends.
#[tool(tags("tenants"), task)]
async fn audit() -> &'static str {
    std::future::pending().await
}

/// Lists many entries.
#[tool(tags("tenants"), max_output = "2KB", spill)]
fn entries() -> String {
    "an entry\n".repeat(1_000)
}

/// Allows one call per hour and caller.
#[tool(tags("tenants"), rate = "1/h per caller")]
fn report() -> &'static str {
    "reported"
}

/// Places an order once.
#[tool(tags("tenants"), idempotent_by = "order")]
fn order(caller: Option<Principal>, order: u32) -> String {
    let caller = caller.map(|caller| caller.subject().to_owned());
    format!("{order} for {}", caller.unwrap_or_default())
}

fn options(proxy: &str) -> HttpOptions {
    HttpOptions::new()
        .trusted_proxies(TrustedProxies::new([proxy]))
        .principal_header(TENANT)
}

async fn behind(proxy: &str) -> Served {
    let limits = Limits::default().with(|limits| {
        limits.tasks.patience = Duration::from_millis(100);
    });
    let server = new_server!().only(Selected::tag("tenants")).limits(limits);
    serve_server(server.http(options(proxy))).await
}

/// A tenant, or an anonymous caller, in one protocol version.
struct Tenant<'a> {
    served: &'a Served,
    version: Version,
    name: Option<&'static str>,
    session: Option<String>,
}

impl<'a> Tenant<'a> {
    async fn begin(served: &'a Served, version: Version, name: Option<&'static str>) -> Self {
        let mut tenant = Self {
            served,
            version,
            name,
            session: None,
        };
        if !version.is_modern() {
            let mut response = served.send(&tenant.named(initialize(version))).await;
            let session = response.header("mcp-session-id").unwrap().to_owned();
            response.message().await;
            tenant.session = Some(session);
        }
        tenant
    }

    fn named(&self, request: Request) -> Request {
        match self.name {
            Some(name) => request.header(TENANT, name),
            None => request,
        }
    }

    fn request(&self, method: &str, params: Value) -> Request {
        let request = match &self.session {
            None => Request::modern(1, method, params),
            Some(session) => {
                let message =
                    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                Request::legacy(session, &message, self.version)
            }
        };
        self.named(request)
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        let (status, message) = self
            .served
            .message(&self.request("tools/call", params))
            .await;
        assert_eq!(status, 200, "{message}");
        message
    }

    async fn text(&self, name: &str, arguments: Value) -> String {
        text(&self.call(name, arguments).await).to_owned()
    }
}

/// Returns the text between the first two occurrences of a delimiter after `start`.
fn after<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("{text}"));
    rest.split_once(end).unwrap().0
}

#[tokio::test]
async fn jobs_and_results_of_a_tenant_are_unknown_to_other_tenants() {
    for version in Version::ERAS {
        let served = behind("127.0.0.1").await;
        let acme = Tenant::begin(&served, version, Some("acme")).await;
        assert_eq!(acme.text("whose", json!({})).await, "acme of x-tenant");
        let job = acme.text("audit", json!({})).await;
        let job = json!({"job_id": after(&job, "job `", "`")});
        let kept = acme.call("entries", json!({})).await.to_string();
        let id = after(&kept, "result_id\\\":\\\"", "\\\"");
        let uri = json!({"uri": format!("mcp-result:///{id}")});
        let kept = json!({"result_id": id});
        for other in [Some("globex"), None] {
            let other = Tenant::begin(&served, version, other).await;
            for tool in ["job_status", "job_cancel"] {
                let refused = other.text(tool, job.clone()).await;
                assert!(refused.starts_with("no job has this id"), "{refused}");
            }
            let unknown = json!({"result_id": "A".repeat(id.len())});
            assert_eq!(
                other.text("read_result", kept.clone()).await,
                other.text("read_result", unknown).await
            );
            let read = other.request("resources/read", uri.clone());
            let (_, read) = served.message(&read).await;
            assert!(read["error"].is_object(), "{read}");
        }
        // The tenant itself has them in every era and session.
        for version in Version::ERAS {
            let acme = Tenant::begin(&served, version, Some("acme")).await;
            let state = acme.text("job_status", job.clone()).await;
            assert!(state.contains("still running"), "{state}");
            let part = acme.text("read_result", kept.clone()).await;
            assert!(part.starts_with("an entry"), "{part}");
            let (_, read) = served
                .message(&acme.request("resources/read", uri.clone()))
                .await;
            assert!(read["result"].is_object(), "{read}");
        }
    }
}

#[tokio::test]
async fn rates_and_idempotency_keys_belong_to_the_tenant() {
    for version in Version::ERAS {
        let served = behind("127.0.0.1").await;
        let acme = Tenant::begin(&served, version, Some("acme")).await;
        let globex = Tenant::begin(&served, version, Some("globex")).await;
        assert_eq!(acme.text("report", json!({})).await, "reported");
        assert_ne!(acme.text("report", json!({})).await, "reported");
        assert_eq!(globex.text("report", json!({})).await, "reported");
        let order = json!({"order": 1});
        assert_eq!(acme.text("order", order.clone()).await, "1 for acme");
        assert_eq!(globex.text("order", order).await, "1 for globex");
    }
}

#[tokio::test]
async fn a_session_belongs_to_the_tenant() {
    let served = behind("127.0.0.1").await;
    let version = Version::V2025_11_25;
    let mut acme = Tenant::begin(&served, version, Some("acme")).await;
    for other in [Some("globex"), None] {
        acme.name = other;
        let (status, _) = served.message(&acme.request("ping", json!({}))).await;
        assert_eq!(status, 404);
    }
    acme.name = Some("acme");
    assert_eq!(acme.text("whose", json!({})).await, "acme of x-tenant");
}

#[tokio::test]
async fn a_principal_header_from_an_untrusted_peer_is_ignored() {
    for version in Version::ERAS {
        let served = behind("10.0.0.1").await;
        let caller = Tenant::begin(&served, version, Some("acme")).await;
        assert_eq!(caller.text("whose", json!({})).await, "nobody");
    }
}

#[tokio::test]
async fn a_header_that_does_not_name_one_principal_is_refused() {
    let served = behind("127.0.0.1").await;
    let request = || Request::tool("whose", json!({}));
    let longest = "n".repeat(256);
    let (_, named) = served.message(&request().header(TENANT, &longest)).await;
    assert_eq!(text(&named), format!("{longest} of x-tenant"));
    for (request, problem) in [
        (
            request().header(TENANT, "acme").header(TENANT, "acme"),
            "names more than one principal",
        ),
        (
            request().header(TENANT, "globex, acme"),
            "names more than one principal",
        ),
        (request().header(TENANT, ""), "is empty"),
        (request().header(TENANT, &"n".repeat(257)), "is too long"),
        (request().header(TENANT, "a\tb"), "has a control character"),
    ] {
        let mut stream = connect(served.address).await;
        write(&mut stream, &request).await;
        let mut refused = response(stream, &request).await.unwrap();
        assert_eq!(refused.status, 400);
        let message = refused.message().await;
        let expected = format!("header `x-tenant` {problem}");
        assert_eq!(message["error"]["message"], expected);
    }
}

#[test]
fn an_invalid_principal_header_setup_is_an_error_at_startup() {
    let refused = |options: HttpOptions| {
        let server = new_server!().only(Selected::tag("tenants")).http(options);
        server.into_http_service().unwrap_err().to_string()
    };
    let problem = refused(HttpOptions::new().principal_header(TENANT));
    assert!(problem.contains("`trusted_proxies`"), "{problem}");
    let problem = refused(options("127.0.0.1").principal_header("X Tenant"));
    assert!(problem.contains("is not the name of a header"), "{problem}");
}
