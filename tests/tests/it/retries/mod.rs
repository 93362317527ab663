//! Repeated calls: idempotency keys, and effects that wait for the final result.

mod ends;
mod keys;
mod on_commit;
mod once_stores;
mod rounds;
mod tasks;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::{Client, Version};
use tokio::sync::Semaphore;

use crate::support::connect;

/// A shop that counts the orders that it receives.
#[derive(Clone)]
struct Shop(Arc<ShopState>);

struct ShopState {
    orders: AtomicUsize,
    is_broken: AtomicBool,
    go_on: Semaphore,
    mails: Mutex<Vec<String>>,
}

impl Shop {
    fn new() -> Self {
        Self(Arc::new(ShopState {
            orders: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
            go_on: Semaphore::new(0),
            mails: Mutex::default(),
        }))
    }

    /// Takes an order and returns its number.
    fn order(&self) -> usize {
        self.0.orders.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn orders(&self) -> usize {
        self.0.orders.load(Ordering::SeqCst)
    }

    fn set_broken(&self, is_broken: bool) {
        self.0.is_broken.store(is_broken, Ordering::SeqCst);
    }

    fn is_broken(&self) -> bool {
        self.0.is_broken.load(Ordering::SeqCst)
    }

    /// Waits for a permit from the test.
    async fn go_on(&self) {
        self.0.go_on.acquire().await.unwrap().forget();
    }

    fn let_one_go_on(&self) {
        self.0.go_on.add_permits(1);
    }

    fn mail(&self, text: impl Into<String>) {
        self.0.mails.lock().unwrap().push(text.into());
    }

    fn mails(&self) -> Vec<String> {
        self.0.mails.lock().unwrap().clone()
    }
}

/// Places an order.
#[tool(tags("retries"), idempotent_by = "order_id")]
fn place(shop: State<Shop>, order_id: u64, amount: Option<u64>) -> String {
    let (number, amount) = (shop.order(), amount.unwrap_or(1));
    format!("order {order_id} of {amount} is number {number}")
}

/// Places an order with one of several shops, and returns a structured result.
#[tool(
    tags("retries"),
    idempotent_by = "shop_name, order_id",
    idempotent = false
)]
fn place_in(
    shop: State<Shop>,
    shop_name: Option<String>,
    order_id: Option<String>,
) -> Json<serde_json::Map<String, Value>> {
    let placed = json!({"shop": shop_name, "order": order_id, "number": shop.order()});
    Json(placed.as_object().cloned().unwrap_or_default())
}

/// Places an order, then waits for the test.
#[tool(tags("retries"), idempotent_by = "order_id")]
async fn place_slowly(shop: State<Shop>, order_id: u64) -> String {
    let number = shop.order();
    shop.go_on().await;
    format!("order {order_id} is number {number}")
}

/// Places an order, if the shop works.
#[tool(tags("retries"), idempotent_by = "order_id")]
async fn place_if_open(shop: State<Shop>, order_id: u64) -> Result<String> {
    let number = shop.order();
    if shop.is_broken() {
        bail!("the shop is closed");
    }
    Ok(format!("order {order_id} is number {number}"))
}

/// Panics after it has placed an order.
#[tool(tags("retries"), idempotent_by = "order_id")]
async fn place_and_panic(shop: State<Shop>, order_id: u64) -> String {
    shop.order();
    panic!("order {order_id} is one too many");
}

/// The user's decision.
#[derive(Elicit)]
struct Sure {
    sure: bool,
}

/// Asks twice, then places an order.
#[tool(tags("retries"), idempotent_by = "order_id")]
async fn place_if_sure(ctx: &Context, shop: State<Shop>, order_id: u64) -> Result<String> {
    for question in ["Sure?", "Really?"] {
        let Sure { sure } = ctx.elicit(question).await?;
        if !sure {
            bail!("the user is not sure");
        }
    }
    let number = shop.order();
    Ok(format!("order {order_id} is number {number}"))
}

/// Pays each time it is called.
#[tool(tags("retries"))]
fn pay(shop: State<Shop>, amount: u64) -> String {
    let number = shop.order();
    format!("payment {number} of {amount}")
}

/// Places an order as a task.
#[tool(tags("retries"), task, idempotent_by = "order_id")]
async fn place_as_task(shop: State<Shop>, order_id: u64) -> String {
    let number = shop.order();
    shop.go_on().await;
    format!("order {order_id} is number {number}")
}

fn server(shop: &Shop) -> Server {
    new_server!()
        .only(Selected::tag("retries"))
        .state(shop.clone())
}

async fn client(shop: &Shop, version: Version) -> Client {
    connect(server(shop), version).await
}

/// The time for which repeats wait in [`hasty_client`].
const WAIT: Duration = Duration::from_secs(7);

/// A client of a server on which repeats do not wait long.
async fn hasty_client(shop: &Shop, version: Version) -> Client {
    let mut limits = mcp_runtime::Limits::default();
    limits.idempotency.max_wait = WAIT;
    connect(server(shop).limits(limits), version).await
}

fn call(name: &str, order: impl Into<Value>) -> Value {
    json!({"name": name, "arguments": {"order_id": order.into()}})
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_repeat_gets_the_result_of_the_first_call() {
    for version in Version::ALL {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        let arguments = json!({"order_id": 7, "amount": 3});
        let first = client.tool("place", arguments).await;
        assert_eq!(text(&first), "order 7 of 3 is number 1");
        // The same arguments, written differently.
        let again = client.tool("place", json!({"amount": 3.0, "order_id": 7}));
        assert_eq!(again.await, first);
        assert_eq!(shop.orders(), 1);
        let other = client.text("place", json!({"order_id": 8})).await;
        assert_eq!(other, "order 8 of 1 is number 2");
        // The key belongs to one tool.
        client.text("place_if_open", json!({"order_id": 7})).await;
        assert_eq!(shop.orders(), 3);
    }
}

/// The options of an order.
#[data]
struct Wrapping {
    paper: Option<String>,
    #[serde(default)]
    ribbons: u32,
}

/// Places an order whose number is a `UUID`, and wraps it.
#[tool(tags("retries"), idempotent_by = "order")]
fn place_wrapped(
    shop: State<Shop>,
    order: uuid::Uuid,
    items: Vec<u32>,
    wrapping: Option<Wrapping>,
    #[arg(default = 1)] amount: u32,
) -> String {
    let _ = (order, items, wrapping, amount);
    shop.order().to_string()
}

#[tokio::test]
async fn a_repeat_can_use_another_notation_of_the_same_values() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        let first = client.tool("place", json!({"order_id": 7})).await;
        let spellings = [
            r"7.0", r#""7""#, r#""7.0""#, r#"" 7""#, r#""7e0""#, r"70e-1",
        ];
        for spelling in spellings {
            for arguments in [
                format!(r#"{{"order_id": {spelling}}}"#),
                format!(r#"{{"amount": null, "order_id": {spelling}}}"#),
            ] {
                let arguments: Value = serde_json::from_str(&arguments).unwrap();
                assert_eq!(
                    client.tool("place", arguments.clone()).await,
                    first,
                    "{arguments}"
                );
            }
        }
        assert_eq!(shop.orders(), 1);
        let order = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        let wrapped = |more: Value| {
            let mut arguments = json!({"order": order, "items": [7, 8]});
            let given = more.as_object().unwrap().clone();
            arguments.as_object_mut().unwrap().extend(given);
            arguments
        };
        let first = client.tool("place_wrapped", wrapped(json!({}))).await;
        for more in [
            json!({"order": order.to_uppercase()}),
            json!({"items": ["7", 8.0]}),
            json!({"items": "[7, 8]"}),
            json!({"wrapping": null}),
            json!({"amount": "1"}),
            json!({"amount": null}),
        ] {
            let again = client.tool("place_wrapped", wrapped(more.clone())).await;
            assert_eq!(again, first, "{more}");
        }
        let order = "67e55044-10b1-426f-9247-bb680e5fe0c9";
        let wrapped = |wrapping| json!({"order": order, "items": [], "wrapping": wrapping});
        let first = client.tool("place_wrapped", wrapped(json!({}))).await;
        for wrapping in [
            json!({"paper": null}),
            json!({"ribbons": 0, "paper": null}),
            json!("{\"ribbons\": \"0\"}"),
        ] {
            let again = client
                .tool("place_wrapped", wrapped(wrapping.clone()))
                .await;
            assert_eq!(again, first, "{wrapping}");
        }
        let other = json!({"ribbons": 1});
        client.refused("place_wrapped", wrapped(other)).await;
        assert_eq!(shop.orders(), 3);
    }
}

#[tokio::test]
async fn other_arguments_under_the_same_key_are_an_error() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        client.text("place", json!({"order_id": 7})).await;
        for key in [json!(7), json!("7")] {
            let other = json!({"order_id": key, "amount": 2});
            let refused = client.refused("place", other).await;
            assert!(
                refused.contains("same `order_id` had different arguments, so nothing was done"),
                "{refused}"
            );
        }
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test]
async fn several_arguments_form_one_key_and_without_any_there_is_none() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = client(&shop, version).await;
        let mut number = async |arguments: Value| {
            let result = client.tool("place_in", arguments).await;
            let text = text(&result).to_owned();
            let placed: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{result}"));
            placed["number"].clone()
        };
        assert_eq!(number(json!({"shop_name": "a", "order_id": "b"})).await, 1);
        assert_eq!(number(json!({"shop_name": "a", "order_id": "b"})).await, 1);
        assert_eq!(number(json!({"shop_name": "b", "order_id": "a"})).await, 2);
        assert_eq!(number(json!({"order_id": "b"})).await, 3);
        assert_eq!(number(json!({"order_id": "b"})).await, 3);
        // Without any of them, each call is separate.
        assert_eq!(number(json!({})).await, 4);
        assert_eq!(number(json!({"order_id": null})).await, 5);
        let empty = client.refused("place_in", json!({"order_id": ""})).await;
        assert!(empty.starts_with("`order_id` is empty"), "{empty}");
    }
}

#[tokio::test]
async fn arguments_that_are_huge_or_not_ascii_are_keys_as_well() {
    let shop = Shop::new();
    let mut client = client(&shop, Version::V2026_07_28).await;
    for order in ["ä€\u{1f980}\u{0}", &"x".repeat(20_000)] {
        let before = shop.orders();
        let arguments = json!({"order_id": order});
        let first = client.tool("place_in", arguments.clone()).await;
        assert_eq!(client.tool("place_in", arguments).await, first);
        assert_eq!(shop.orders(), before + 1);
    }
}

#[tokio::test]
async fn a_tool_with_a_key_has_the_idempotent_hint_by_default() {
    let mut client = client(&Shop::new(), Version::V2026_07_28).await;
    let (tools, _) = client.list("tools/list", "tools").await;
    let hint = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["annotations"]["idempotentHint"].clone()
    };
    assert_eq!(hint("place"), true);
    assert_eq!(hint("place_in"), false);
    assert_eq!(hint("pay"), Value::Null);
}
