//! Effects that wait for a call's final result.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::CallToolResult;
use serde_json::{Value, json};
use tests::wait::until;
use tests::{Answer, Client, Version};

use super::{Shop, Sure, text};
use crate::support::{connect, raw};

/// Publishes a page after two questions, and mails twice when it is published.
#[tool(tags("commits"))]
async fn publish(ctx: &Context, shop: State<Shop>, page: String) -> Result<String> {
    shop.order();
    for text in ["first", "second"] {
        let (shop, page) = (Shop::clone(&shop), page.clone());
        ctx.on_commit(async move {
            shop.mail(format!("{text} {page}"));
            Ok(())
        });
    }
    for question in ["Sure?", "Really?"] {
        let Sure { sure } = ctx.elicit(question).await?;
        if !sure {
            bail!("not published");
        }
    }
    shop.mail("published");
    Ok(page)
}

/// Ends in a given way.
#[tool(tags("commits"))]
async fn end(ctx: &Context, shop: State<Shop>, how: String) -> Result<CallToolResult> {
    let own = Shop::clone(&shop);
    ctx.on_commit(async move {
        own.mail("committed");
        Ok(())
    });
    match &*how {
        "error" => bail!("failed"),
        "is_error" => return Ok(CallToolResult::error("failed")),
        "panic" => panic!("on purpose"),
        "wait" => {
            shop.order();
            shop.let_one_go_on();
            std::future::pending::<()>().await;
        }
        _ => {}
    }
    Ok(CallToolResult::text("done"))
}

/// Mails without being asynchronous.
#[tool(tags("commits"))]
fn end_at_once(ctx: &Context, shop: State<Shop>) -> &'static str {
    let shop = Shop::clone(&shop);
    ctx.on_commit(async move {
        shop.go_on().await;
        shop.mail("committed");
        Ok(())
    });
    "done"
}

/// Defers effects, the second of which fails.
#[tool(tags("commits"))]
async fn fail_to_mail(ctx: &Context, shop: State<Shop>) -> &'static str {
    for (text, fails) in [("first", false), ("second", true), ("third", false)] {
        let shop = Shop::clone(&shop);
        ctx.on_commit(async move {
            if fails {
                bail!("the mail server is down");
            }
            shop.mail(text);
            Ok(())
        });
    }
    "done"
}

/// Does in an effect what an effect is and is not allowed to do.
#[tool(tags("commits"))]
async fn nest(ctx: Context, shop: State<Shop>, how: String) -> Result<String> {
    let (own, shop) = (ctx.clone(), Shop::clone(&shop));
    match &*how {
        "ask" => ctx.on_commit(async move {
            let Sure { .. } = own.elicit("Sure?").await?;
            Ok(())
        }),
        "once" => ctx.on_commit(async move {
            own.once("mail", async || {
                shop.mail("once");
                Ok(())
            })
            .await
        }),
        "defer" => ctx.on_commit(async move {
            let inner = shop.clone();
            own.on_commit(async move {
                inner.mail("inner");
                Ok(())
            });
            shop.mail("outer");
            Ok(())
        }),
        _ => {
            ctx.once("step", async || {
                own.on_commit(async { Ok(()) });
                Ok(())
            })
            .await?;
        }
    }
    Ok("done".to_owned())
}

/// Places an order, then mails, as a task that asks.
#[tool(tags("commits"), task)]
async fn publish_as_task(ctx: &Context, shop: State<Shop>) -> Result<String> {
    let own = Shop::clone(&shop);
    ctx.on_commit(async move {
        own.mail("committed");
        Ok(())
    });
    let Sure { sure } = ctx.elicit("Sure?").key("sure").await?;
    shop.order();
    if !sure {
        bail!("not published");
    }
    Ok("published".to_owned())
}

fn server(shop: &Shop) -> Server {
    new_server!()
        .only(Selected::tag("commits"))
        .state(shop.clone())
}

async fn client(server: Server, version: Version, sure: bool) -> Client {
    let mut client = raw(server, version);
    client.capabilities = json!({"elicitation": {}});
    let mut client = client.connect().await;
    client.answer(move |_| Answer::accept(json!({"sure": sure})));
    client
}

const ASKING: [Version; 2] = [Version::V2025_11_25, Version::V2026_07_28];

fn publish_params() -> Value {
    json!({"name": "publish", "arguments": {"page": "news"}})
}

#[tokio::test]
async fn effects_run_once_after_the_last_round_and_before_the_answer() {
    for version in ASKING {
        for wrapped in [false, true] {
            let shop = Shop::new();
            let server = if wrapped {
                server(&shop).middleware(async |call, next| next.run(call).await)
            } else {
                server(&shop)
            };
            let mut client = client(server, version, true).await;
            let result = client.ask("tools/call", publish_params()).await.unwrap();
            assert_eq!(text(&result), "news");
            assert_eq!(shop.mails(), ["published", "first news", "second news"]);
            // The handler ran in each round.
            assert_eq!(shop.orders(), if version.is_modern() { 3 } else { 1 });
        }
    }
}

#[tokio::test]
async fn effects_do_not_run_if_the_handler_fails() {
    for version in ASKING {
        let shop = Shop::new();
        let mut client = client(server(&shop), version, false).await;
        let result = client.ask("tools/call", publish_params()).await.unwrap();
        assert_eq!(result["isError"], true);
        for how in ["error", "is_error"] {
            client.refused("end", json!({"how": how})).await;
        }
        let panics = json!({"name": "end", "arguments": {"how": "panic"}});
        client.fails("tools/call", panics, -32603).await;
        assert!(shop.mails().is_empty(), "{:?}", shop.mails());
        client.text("end", json!({"how": "well"})).await;
        assert_eq!(shop.mails(), ["committed"]);
    }
}

#[tokio::test]
async fn effects_do_not_run_if_the_call_is_cancelled() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = connect(server(&shop), version).await;
        let params = json!({"name": "end", "arguments": {"how": "wait"}});
        let id = client.start("tools/call", params).await;
        until(async || shop.orders() == 1).await;
        client.cancel(&id).await;
        client.pass().await;
        assert!(shop.mails().is_empty());
    }
}

#[tokio::test]
async fn effects_of_a_handler_that_is_not_asynchronous_run_before_the_answer() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = connect(server(&shop), version).await;
        let params = json!({"name": "end_at_once", "arguments": {}});
        let id = client.start("tools/call", params).await;
        client.pass().await;
        assert!(!client.answered(&id) && shop.mails().is_empty());
        shop.let_one_go_on();
        let result = client.response(&id).await.unwrap();
        assert_eq!(text(&result), "done");
        assert_eq!(shop.mails(), ["committed"]);
    }
}

#[tokio::test]
async fn an_effect_that_fails_makes_the_call_fail_and_stops_those_after_it() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = connect(server(&shop), version).await;
        let refused = client.refused("fail_to_mail", json!({})).await;
        assert_eq!(refused, "the mail server is down");
        assert_eq!(shop.mails(), ["first"]);
    }
}

#[tokio::test(start_paused = true)]
async fn effects_count_towards_the_timeout() {
    let shop = Shop::new();
    let limits = mcp_runtime::Limits::default();
    let limits = limits.with(|all| all.calls.timeout = Duration::from_secs(1));
    let mut client = connect(server(&shop).limits(limits), Version::V2026_07_28).await;
    let refused = client.refused("end_at_once", json!({})).await;
    assert!(refused.contains("took longer"), "{refused}");
    assert!(shop.mails().is_empty());
}

#[tokio::test]
async fn effects_can_use_once_and_defer_effects_but_not_send_input_requests() {
    for version in ASKING {
        let shop = Shop::new();
        let mut client = client(server(&shop), version, true).await;
        for how in ["once", "defer"] {
            client.text("nest", json!({"how": how})).await;
        }
        assert_eq!(shop.mails(), ["once", "outer", "inner"]);
        for how in ["ask", "inside once"] {
            client.refused("nest", json!({"how": how})).await;
        }
        assert!(client.asked.is_empty());
    }
}

#[tokio::test]
async fn effects_of_runs_that_middleware_repeats_are_dropped() {
    let shop = Shop::new();
    let own = shop.clone();
    let server = server(&shop).middleware(move |call, next| {
        let shop = own.clone();
        async move {
            // The first run is cut off, the second fails, and the third succeeds.
            let mut call = call;
            let first = next.clone().run(call.clone());
            tokio::select! {
                biased;
                _ = first => unreachable!("it waits for ever"),
                () = shop.go_on() => {}
            }
            for how in ["error", "well"] {
                call.arguments_mut().insert("how".to_owned(), how.into());
                let output = next.clone().run(call.clone()).await;
                if output.is_ok() {
                    return output;
                }
            }
            bail!("it never ended well")
        }
    });
    let mut client = connect(server, Version::V2026_07_28).await;
    client.text("end", json!({"how": "wait"})).await;
    assert_eq!(shop.mails(), ["committed"]);
}

#[tokio::test]
async fn effects_of_a_task_run_before_it_is_completed() {
    for version in ASKING {
        for sure in [true, false] {
            let shop = Shop::new();
            let tasks = "io.modelcontextprotocol/tasks";
            let mut client = raw(server(&shop), version);
            client.capabilities = json!({"elicitation": {}, "extensions": {tasks: {}}});
            let mut client = client.connect().await;
            client.answer(move |_| Answer::accept(json!({"sure": sure})));
            let mut params = json!({"name": "publish_as_task", "arguments": {}});
            if !version.is_modern() {
                params["task"] = json!({});
            }
            let created = client.ok("tools/call", params).await;
            let id = match &created["taskId"] {
                Value::Null => created["task"]["taskId"].clone(),
                id => id.clone(),
            };
            let id = json!({"taskId": id});
            let mut status = Value::Null;
            if version.is_modern() {
                until(async || {
                    let task = client.ok("tasks/get", id.clone()).await;
                    task["status"] == "input_required"
                })
                .await;
                assert!(shop.mails().is_empty());
                let mut answer = id.clone();
                let accepted = json!({"action": "accept", "content": {"sure": sure}});
                answer["inputResponses"] = json!({"sure": accepted});
                client.ok("tasks/update", answer).await;
                until(async || {
                    status = client.ok("tasks/get", id.clone()).await["status"].clone();
                    status != "working" && status != "input_required"
                })
                .await;
            } else {
                client.ok("tasks/result", id.clone()).await;
            }
            assert_eq!(
                shop.mails().len(),
                usize::from(sure),
                "{version:?} {status}"
            );
            assert_eq!(shop.orders(), 1);
        }
    }
}
