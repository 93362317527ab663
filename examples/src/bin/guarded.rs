//! A server with rate limits, an audit log, a cache, and results without secrets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mcp_runtime::extension::Sanitizer;
use mcp_runtime::middleware::{Call, CallOutput, Kind, Next};
use mcp_runtime::prelude::*;

/// Looks up the price of an article.
#[tool(read_only, rate = "60/min burst 5 per caller", timeout = "5s")]
async fn price(
    /// Such as `tea`
    article: String,
) -> Result<String> {
    match article.as_str() {
        "tea" => Ok("4.20 (supplier account: K-1234)".to_owned()),
        _ => bail!("there is no `{article}`; there is `tea`"),
    }
}

/// Orders an article, after asking.
#[tool(destructive, rate = "10/h", concurrency = 1)]
async fn order(
    ctx: Context,
    /// Such as `tea`
    article: String,
) -> Result<String> {
    if !ctx.elicit::<Sure>(format!("Order {article}?")).await?.sure {
        bail!("nothing was ordered");
    }
    Ok(format!("{article} is on its way"))
}

/// The form a user fills in before something is ordered.
#[derive(Elicit)]
struct Sure {
    /// Really order it?
    sure: bool,
}

/// Logs every call of the server, with one line when it begins and one when it ends.
///
/// A call that asks its client something runs in several rounds: it begins in the first and ends in the last.
async fn audit(call: Call, next: Next) -> Result<CallOutput> {
    let who = call.principal().map_or("somebody", |who| who.subject());
    let what = format!(
        "{who} {:?} {} {:?}",
        call.kind(),
        call.name(),
        call.context().call_id()
    );
    if call.round() == 1 {
        tracing::info!(what, "began");
    }
    let answer = next.run(call).await;
    tracing::info!(what, well = answer.is_ok(), "ended");
    answer
}

/// Cached answers of the tool `price`, by argument.
#[derive(Default)]
struct Prices(Mutex<HashMap<String, CallOutput>>);

impl Prices {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, CallOutput>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks each price up once.
async fn cached(call: Call, next: Next) -> Result<CallOutput> {
    let prices = call.context().state::<Prices>();
    let article = call.arguments().text("article").map(str::to_owned);
    let (Some(prices), Some(article), Kind::Tool, "price") =
        (prices, article, call.kind(), call.name())
    else {
        return next.run(call).await;
    };
    if let Some(known) = prices.lock().get(&article) {
        return Ok(known.clone());
    }
    // Only existing articles are stored; otherwise, clients could fill the memory with names.
    let answer = next.run(call).await?;
    prices.lock().insert(article, answer.clone());
    Ok(answer)
}

/// Removes account numbers, so that none reaches a model.
fn without_accounts(text: &str) -> Cow<'_, str> {
    match text.split_once(" (supplier account:") {
        Some((before, after)) => {
            let rest = after.split_once(')').map_or("", |(_, rest)| rest);
            Cow::Owned(format!("{before}{rest}"))
        }
        None => Cow::Borrowed(text),
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!()
        .state(Prices::default())
        .rate("1000/s")
        .middleware(audit)
        .middleware(cached)
        .with(Sanitizer::new(without_accounts))
        .with(Sanitizer::new(mcp_runtime::values::strip_invisible))
        .run()
        .await
}
