//! Extensions that a server adds to the protocol.

mod calls;
mod http;
mod listening;
mod start_up;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::extension::{Extension, ExtensionMethod, ExtensionResult, FilterMember};
use mcp_runtime::middleware::{CallOutput, Kind};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::{Caller, Principal, ProtocolVersion};
use serde_json::{Value, json};
use tests::link::Hub;
use tests::{Client, Version};

use crate::support::raw;

const GARDEN: &str = "com.example/garden";
const NEW: &str = "com.example/new";

/// Counts the calls whose handlers have run.
#[derive(Clone, Default)]
struct Ran(Arc<AtomicUsize>);

impl Ran {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Watering {
    bed: String,
    #[serde(default)]
    litres: f64,
}

async fn water(watering: Watering, ctx: Context) -> Result<Json<Watering>> {
    if let Some(ran) = ctx.state::<Ran>() {
        ran.0.fetch_add(1, Ordering::SeqCst);
    }
    if watering.litres < 0.0 {
        bail!("water does not flow upwards");
    }
    ctx.notify("notifications/garden/valve", json!({"open": true}));
    let notify = ctx.server().notify();
    notify.extension_key("notifications/garden/watered", &watering.bed, &watering);
    notify.extension(
        "notifications/garden/changed",
        json!({"beds": 1, "_meta": {"com.example/x": 2}}),
    );
    Ok(Json(watering))
}

#[derive(serde::Deserialize)]
struct Plan {
    beds: usize,
    #[serde(default)]
    notifies: bool,
    #[serde(default)]
    waits: bool,
}

/// Returns as many beds as requested.
async fn plan(wanted: Plan, ctx: Context) -> Result<ExtensionResult> {
    if wanted.notifies {
        ctx.notify("notifications/garden/valve", json!({"open": true}));
    }
    if wanted.waits {
        tokio::task::yield_now().await;
    }
    let beds: Vec<_> = (0..wanted.beds).map(|bed| format!("bed {bed}")).collect();
    ExtensionResult::new(json!({"beds": beds, "_meta": {"com.example/a": 1}}))
}

/// Asks a question, which a method of an extension cannot do.
async fn ask(_: Value, ctx: Context) -> Result<()> {
    #[derive(Elicit)]
    struct Sure {
        #[allow(dead_code, reason = "never answered")]
        sure: bool,
    }
    ctx.elicit::<Sure>("Sure?").await?;
    Ok(())
}

/// Returns the settings with which the client declares the extension, if both sides know it.
#[tool(tags("extension"))]
fn negotiated(ctx: &Context, id: &str) -> String {
    ctx.extension(id)
        .map_or_else(|| "none".to_owned(), |settings| json!(settings).to_string())
}

/// Returns everything that the client declares.
#[tool(tags("extension"))]
fn declared(ctx: &Context) -> String {
    json!(ctx.client_capabilities().extensions).to_string()
}

/// Takes its time.
#[tool(tags("extension"))]
fn harvest() -> &'static str {
    "tomatoes"
}

/// Opens a valve, perhaps as a task.
#[tool(tags("extension-task"), task)]
async fn open_valve(ctx: &Context) -> &'static str {
    ctx.notify("notifications/garden/valve", json!({"open": true}));
    "open"
}

/// Returns `true` for the caller who sees everything.
fn is_owner(caller: &Caller) -> bool {
    caller
        .principal()
        .is_some_and(|who| who.subject() == "owner")
}

fn garden() -> Extension {
    Extension::new(GARDEN)
        .settings(json!({"unit": "litre"}))
        .method(ExtensionMethod::new("garden/water", water).mirrored_name("bed"))
        .method(ExtensionMethod::new("garden/ask", ask))
        .method(
            ExtensionMethod::new("garden/empty", async |(): (), _: Context| ()).scopes(["admin"]),
        )
        .method(
            ExtensionMethod::new("garden/secret", async |_: Value, _: Context| ())
                .mirrored_name("bed")
                .visible_if(is_owner),
        )
        .method(ExtensionMethod::new("garden/rare", async |_: Value, _: Context| ()).rate("1/min"))
        .method(ExtensionMethod::new(
            "garden/odd",
            async |wanted: Value, _: Context| -> Result<ExtensionResult> {
                Ok(match wanted["kind"].as_str() {
                    Some("list") => return ExtensionResult::new([1, 2]),
                    Some("typed") => {
                        return ExtensionResult::new(json!({"resultType": "complete"}));
                    }
                    Some(kind) => {
                        ExtensionResult::new(json!({"kind": kind, "_meta": {"com.example/a": 1}}))?
                            .result_type(kind.to_owned())
                            .cached(
                                std::time::Duration::from_secs(1),
                                mcp_runtime::types::CacheScope::Public,
                            )
                    }
                    None => ExtensionResult::new(json!({}))?,
                })
            },
        ))
        .method(ExtensionMethod::new("garden/plan", plan))
        .result_type("garden/odd", "partial")
        .result_type("tools/call", "estimate")
        .notification(
            "notifications/garden/watered",
            FilterMember::keys("gardenBeds")
                .visible_if(|caller, key| key != "hidden" || is_owner(caller)),
        )
        .notification(
            "notifications/garden/changed",
            FilterMember::flag("gardenChanged"),
        )
        .call_notification("notifications/garden/valve")
        .middleware(async |call, next| {
            let negotiated = call.context().extension(GARDEN);
            let wish =
                negotiated.and_then(|settings| settings.get("answer")?.as_str().map(str::to_owned));
            match wish {
                Some(wish) if call.kind() == Kind::Tool && call.name() == "harvest" => {
                    let result = ExtensionResult::new(json!({"minutes": 3}))?;
                    Ok(CallOutput::Extension(result.result_type(wish)))
                }
                _ => next.run(call).await,
            }
        })
}

/// Creates an extension that exists since the first protocol version without sessions and need not be declared.
fn new() -> Extension {
    let version = ProtocolVersion::V2026_07_28;
    Extension::new(NEW)
        .since(version)
        .needs_declaration(false)
        .requires(GARDEN)
        .method(ExtensionMethod::new(
            "garden/new",
            async |_: Value, _: Context| (),
        ))
}

fn server() -> Server {
    new_server!()
        .only(Selected::tag("extension"))
        .with(new())
        .with(garden())
}

/// Connects a client that declares these extensions.
async fn declaring(server: Server, version: Version, extensions: Value) -> Client {
    let mut client = raw(server, version);
    client.capabilities = json!({"extensions": extensions});
    client.connect().await
}

/// Connects a client that declares the garden.
pub(crate) async fn gardener(version: Version) -> Client {
    declaring(server(), version, json!({GARDEN: {}})).await
}

fn principal(subject: &str) -> Principal {
    Principal::new(subject).with_issuer("tests")
}

/// Connects a client of this principal that declares the garden.
async fn gardener_of(hub: &Hub, subject: &str, version: Version) -> Client {
    let mut client = hub.client_as(version, |connection| {
        connection.with_principal(principal(subject))
    });
    client.capabilities = json!({"extensions": {GARDEN: {}}});
    client.connect().await
}

// Covers: EXT-02, EXT-06
#[tokio::test]
async fn extensions_are_declared_in_every_version_in_which_they_exist() {
    for version in Version::ALL {
        let mut client = gardener(version).await;
        let offered = if version.is_modern() {
            client.ok("server/discover", json!({})).await
        } else {
            client.initialized.clone()
        };
        let mut expected = json!({GARDEN: {"unit": "litre"}});
        if version.is_modern() {
            expected[NEW] = json!({});
        }
        assert_eq!(
            offered["capabilities"]["extensions"], expected,
            "{version:?}"
        );
    }
}

// Covers: EXT-02, EXT-03
#[tokio::test]
async fn handlers_see_common_extensions_and_all_declared_ones() {
    for version in Version::ALL {
        let all =
            json!({GARDEN: {"a": [1]}, NEW: {}, "com.example/other": {}, "com.example/wrong": 3});
        let mut client = declaring(server(), version, all.clone()).await;
        let seen = client.text("declared", json!({})).await;
        assert_eq!(serde_json::from_str::<Value>(&seen).unwrap(), all);
        let new = if version.is_modern() { "{}" } else { "none" };
        for (id, expected) in [
            (GARDEN, r#"{"a":[1]}"#),
            (NEW, new),
            ("com.example/other", "none"),
            ("com.example/wrong", "none"),
        ] {
            let seen = client.text("negotiated", json!({"id": id})).await;
            assert_eq!(seen, expected, "{id} {version:?}");
        }
        // Settings that are not an object declare nothing.
        let mut client = declaring(server(), version, json!({GARDEN: true})).await;
        assert_eq!(
            client.text("negotiated", json!({"id": GARDEN})).await,
            "none"
        );
        let code = if version.is_modern() { -32021 } else { -32601 };
        client
            .fails("garden/water", json!({"bed": "a"}), code)
            .await;
    }
}
