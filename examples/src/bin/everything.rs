//! Every feature in one server. The tests drive it with third-party clients.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime::types::{
    ContentBlock, GetPromptResult, LoggingLevel, PromptMessage, Resource, ResourceContents,
    ResourceLink,
};
use mcp_runtime::{
    SafePath,
    listing::{ListCursor, Page},
};
use tokio::time::sleep;

/// An image of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n";

/// State that the tools share.
#[derive(Default)]
struct Shared {
    /// The value of `counter://value`.
    counter: AtomicU32,
    /// Number of calls of `doze` that were dropped before their end.
    dropped: AtomicU32,
}

/// Adds two whole numbers.
#[tool(title = "Add", read_only, idempotent)]
fn add(
    /// Left operand
    a: i64,
    /// Right operand
    b: i64,
) -> i64 {
    a.wrapping_add(b)
}

/// Returns its argument.
#[tool(read_only)]
fn echo(text: String) -> String {
    text
}

/// Returns an image.
#[tool(read_only)]
fn picture() -> ContentBlock {
    ContentBlock::image(PIXEL, "image/png")
}

/// Returns audio.
#[tool(read_only)]
fn sound() -> ContentBlock {
    ContentBlock::audio(b"RIFF", "audio/wav")
}

/// Returns several kinds of content.
#[tool(read_only)]
fn mixed() -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("a text"),
        ContentBlock::image(PIXEL, "image/png"),
        ResourceLink::new("counter://value", "counter").into(),
        ContentBlock::resource(
            ResourceContents::text("memo://1", "embedded").with_mime_type("text/plain"),
        ),
    ]
}

/// The weather at a location.
#[data(output)]
struct Weather {
    /// Temperature in degrees Celsius
    temperature: f64,
    /// State of the sky
    sky: Sky,
    /// Wind speed, if there is wind
    wind: Option<f64>,
}

/// The state of the sky.
#[data]
#[derive(Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
enum Sky {
    Clear,
    Cloudy,
}

/// Returns the weather.
#[tool(read_only)]
fn weather(
    /// Name of a city
    #[arg(length(1..=80))]
    city: &str,
    #[arg(default = "clear")] sky: Sky,
) -> Json<Weather> {
    let temperature = if city.len() > 5 { 21.5 } else { 3.0 };
    Json(Weather {
        temperature,
        sky,
        wind: None,
    })
}

/// Fails with a message for the model.
#[tool]
fn fail() -> Result<String> {
    bail!("this always fails; call `echo` instead")
}

/// Fails with an error that is only logged.
#[tool]
fn fail_opaquely() -> Result<String> {
    Err(std::io::Error::other("the secret cause"))?
}

/// Panics.
#[tool]
fn fall_over() -> String {
    panic!("on purpose")
}

/// Writes to standard output, where only messages belong.
#[tool]
#[expect(clippy::print_stdout, reason = "the point is that it does no harm")]
fn print_something() -> &'static str {
    println!("this must not reach the client");
    "printed"
}

/// Counts and reports progress.
#[tool]
async fn count(
    ctx: &Context,
    #[arg(range(1..=100), default = 4)] steps: u32,
    #[arg(range(0..=1000), default = 0)] pause_ms: u64,
) -> String {
    for step in 1..=steps {
        ctx.progress((step, steps, format!("step {step}")));
        sleep(Duration::from_millis(pause_ms)).await;
    }
    format!("counted to {steps}")
}

/// Waits. A cancelled call is dropped and counted.
#[tool]
async fn doze(shared: State<Shared>, #[arg(default = 60_000)] ms: u64) -> &'static str {
    struct Guard(State<Shared>, bool);
    impl Drop for Guard {
        fn drop(&mut self) {
            if !self.1 {
                self.0.dropped.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    let mut guard = Guard(shared, false);
    sleep(Duration::from_millis(ms)).await;
    guard.1 = true;
    "slept"
}

/// Returns the number of calls of `doze` that were dropped.
#[tool(read_only)]
fn dropped(shared: &State<Shared>) -> u32 {
    shared.dropped.load(Ordering::SeqCst)
}

/// Sends a log message to the client.
#[tool]
async fn log(ctx: &Context, level: LoggingLevel, text: &str) {
    ctx.log(level, text);
}

/// Increments the counter, which clients can subscribe to.
#[tool]
async fn raise(shared: &State<Shared>, ctx: &Context) -> u32 {
    let value = shared.counter.fetch_add(1, Ordering::SeqCst) + 1;
    ctx.server().notify().resource_updated("counter://value");
    value
}

/// Disables the tool `extra`, or enables it again.
#[tool]
async fn switch_extra(ctx: &Context, on: bool) -> bool {
    let tools = ctx.server().tools();
    if on {
        tools.enable("extra")
    } else {
        tools.disable("extra")
    }
}

/// A tool that can be disabled.
#[tool]
fn extra() -> &'static str {
    "still here"
}

/// The counter.
#[resource("counter://value", title = "Counter", mime_type = "text/plain")]
fn counter(shared: &State<Shared>) -> String {
    shared.counter.load(Ordering::SeqCst).to_string()
}

/// Settings in effect.
#[resource("config://app", mime_type = "application/json")]
fn config() -> Json<Weather> {
    Json(Weather {
        temperature: 20.0,
        sky: Sky::Clear,
        wind: None,
    })
}

/// One pixel.
#[resource("image://pixel", mime_type = "image/png")]
fn pixel() -> Vec<u8> {
    PIXEL.to_vec()
}

/// A file below the root.
#[resource_template("tree:///{+path}", mime_type = "text/plain")]
fn tree(path: &SafePath) -> String {
    format!("contents of {}", path.as_path().display())
}

/// One memo.
#[resource_template("memo:///{id}", mime_type = "text/plain", list = memos)]
fn memo(#[complete(memo_ids)] id: u32) -> Option<String> {
    (id < 10).then(|| format!("memo {id}"))
}

async fn memos(cursor: ListCursor) -> Result<Page<Resource>> {
    let first: u32 = cursor.0.map_or(Ok(0), |cursor| cursor.parse())?;
    let next = first.saturating_add(4).min(10);
    let page: Vec<_> = (first..next)
        .map(|id| Resource::new(format!("memo:///{id}"), format!("memo {id}")))
        .collect();
    let page = Page::new(page);
    Ok(if next < 10 {
        page.with_next(next.to_string())
    } else {
        page
    })
}

#[completer]
fn memo_ids(_partial: &str) -> Vec<String> {
    (0..10).map(|id: u32| id.to_string()).collect()
}

/// A programming language.
#[data(input)]
#[derive(Debug)]
#[serde(rename_all = "lowercase")]
enum Language {
    Python,
    Rust,
    Ruby,
}

/// Asks for a greeting.
#[prompt]
fn greet() -> &'static str {
    "Say hello."
}

/// Asks for a code review.
#[prompt(title = "Code review")]
fn review(
    /// The code
    code: String,
    /// The language of the code
    language: &Language,
    /// Framework in use
    #[complete(frameworks)]
    framework: Option<String>,
) -> Vec<PromptMessage> {
    let framework = framework
        .map(|name| format!(" using {name}"))
        .unwrap_or_default();
    vec![
        PromptMessage::user(format!("Review this {language:?} code{framework}.")),
        PromptMessage::user(code),
    ]
}

/// Shows an image to the model.
#[prompt]
fn describe() -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::user(ContentBlock::image(
        PIXEL,
        "image/png",
    ))])
}

/// Frameworks for the language chosen so far.
#[completer]
async fn frameworks(_partial: &str, language: Option<Language>) -> Vec<&'static str> {
    match language {
        Some(Language::Rust) => vec!["axum", "actix", "rocket"],
        Some(Language::Python) => vec!["django", "flask"],
        _ => vec!["rails"],
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!()
        .title("Everything")
        .instructions("Call anything.")
        .state(Shared::default())
        .page_size(4)
        .http(HttpOptions::new().legacy_sse(true))
        .run()
        .await
}
