//! The server most tests talk to: a handler of every shape, in the group `fixture`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_runtime::listing::ListCursor;
use mcp_runtime::prelude::*;
use mcp_runtime::types::{
    ContentBlock, GetPromptResult, LoggingLevel, PromptMessage, Resource, ResourceContents,
    ResourceLink,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// What the handlers share with the test.
#[derive(Clone, Default)]
pub(crate) struct Shared(pub(crate) Arc<Counters>);

#[derive(Default)]
pub(crate) struct Counters {
    /// Calls of `wait` that were started.
    pub(crate) started: AtomicU32,
    /// Calls of `wait` that were dropped before their end.
    pub(crate) dropped: AtomicU32,
    /// Told when a call of `wait` was dropped or started.
    pub(crate) changed: Notify,
    /// Ends every call of `wait`.
    pub(crate) go_on: Notify,
}

impl Shared {
    /// For handlers, whose `State` has a field of its own in the way.
    fn counters(&self) -> &Counters {
        &self.0
    }

    /// Waits until so many calls of `wait` have started.
    pub(crate) async fn started(&self, calls: u32) {
        self.reach(&self.0.started, calls).await;
    }

    /// Waits until so many calls of `wait` were dropped.
    pub(crate) async fn dropped(&self, calls: u32) {
        self.reach(&self.0.dropped, calls).await;
    }

    async fn reach(&self, counter: &AtomicU32, value: u32) {
        let reached = async {
            loop {
                let changed = self.0.changed.notified();
                if counter.load(Ordering::SeqCst) >= value {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(tests::client::PATIENCE, reached)
            .await
            .expect("it happens in time");
    }
}

/// The fixture server.
pub(crate) fn server() -> Server {
    Server::new("fixture", "1.2.3")
        .title("Fixture")
        .instructions("Call anything.")
        .tags(["fixture"])
        .state(Shared::default())
}

/// Adds two whole numbers.
#[tool(tags("fixture"), title = "Add", read_only, idempotent)]
fn add(
    /// Left operand
    a: i64,
    /// Right operand
    b: i64,
) -> i64 {
    a.wrapping_add(b)
}

/// Says a text back.
#[tool(tags("fixture"))]
fn echo(text: String) -> String {
    text
}

/// Takes nothing and says nothing.
#[tool(tags("fixture"))]
fn nothing() {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Colour {
    Red,
    Green,
    Blue,
}

/// Takes arguments of many kinds.
#[tool(tags("fixture"))]
fn arguments(
    #[arg(length(1..=10))] name: &str,
    #[arg(range(1..=100), default = 10)] limit: u32,
    colour: Option<Colour>,
    tags: Option<Vec<String>>,
) -> String {
    format!("{name} {limit} {colour:?} {tags:?}")
}

#[data(input)]
pub(crate) struct Due {
    day: u8,
    hour: Option<u8>,
}

/// Takes an object inside of the arguments.
#[tool(tags("fixture"))]
fn due(due: Due) -> String {
    format!("{} {:?}", due.day, due.hour)
}

/// Answers with every kind of content.
#[tool(tags("fixture"))]
fn contents() -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("text"),
        ContentBlock::image([0, 1, 2], "image/png"),
        ContentBlock::audio([0, 1, 2], "audio/wav"),
        ResourceLink::new("test://static", "static").into(),
        ContentBlock::resource(
            ResourceContents::text("test://static", "embedded").with_mime_type("text/plain"),
        ),
    ]
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Point {
    x: i32,
    y: i32,
    label: Option<String>,
}

/// Answers with an object.
#[tool(tags("fixture"))]
fn structured() -> Json<Point> {
    Json(Point {
        x: 1,
        y: 2,
        label: None,
    })
}

/// Answers with a list.
#[tool(tags("fixture"))]
fn structured_list() -> Json<Vec<i32>> {
    Json(vec![1, 2, 3])
}

/// Answers with an object that might be missing.
#[expect(clippy::unnecessary_wraps, reason = "the type is what is tried")]
#[tool(tags("fixture"))]
fn structured_perhaps() -> Option<Json<Point>> {
    Some(structured())
}

/// Answers with nothing where there might be an object.
#[tool(tags("fixture"))]
fn structured_perhaps_not() -> Option<Json<Point>> {
    None
}

#[data(output)]
struct Tree {
    children: Vec<Tree>,
}

/// Answers with an object whose type refers to itself.
#[tool(tags("fixture"))]
fn structured_tree() -> Json<Tree> {
    let children = vec![Tree {
        children: Vec::new(),
    }];
    Json(Tree { children })
}

/// Answers with a list of a type that refers to itself.
#[tool(tags("fixture"))]
fn structured_trees() -> Json<Vec<Tree>> {
    Json(structured_tree().0.children)
}

#[data(output)]
#[serde(tag = "kind")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

/// Answers with an object of one of several kinds.
#[tool(tags("fixture"))]
fn structured_tagged(round: Option<bool>) -> Json<Shape> {
    Json(match round {
        Some(false) => Shape::Square { side: 1.0 },
        _ => Shape::Circle { radius: 2.0 },
    })
}

/// Fails with a text for the model.
#[tool(tags("fixture"))]
fn fail_shown() -> Result<String> {
    bail!("choose another day")
}

/// A failure that is for the model wherever it comes up.
#[expose]
#[derive(Debug)]
struct NoDay(u32);

impl std::fmt::Display for NoDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no day {}", self.0)
    }
}

impl std::error::Error for NoDay {}

/// Fails with an error that is shown whenever it is met.
#[tool(tags("fixture"))]
fn fail_by_type() -> Result<String> {
    Err(NoDay(31))?
}

/// Fails with such an error as its own.
#[tool(tags("fixture"))]
async fn fail_as_type() -> Result<String, NoDay> {
    Err(NoDay(32))
}

/// Fails with such an error, too.
#[resource("test://no-day", tags("fixture"))]
fn no_day() -> Result<String> {
    Err(NoDay(33))?
}

/// Fails with a cause for the log.
#[tool(tags("fixture"))]
fn fail_opaque() -> Result<String> {
    Err(std::io::Error::other("the secret cause"))?
}

/// Fails with a protocol error.
#[tool(tags("fixture"))]
fn fail_protocol() -> Result<String> {
    Err(HandlerError::protocol(mcp_runtime::ErrorObject::new(
        4711,
        "application error",
    )))
}

/// Panics before its first suspension.
#[tool(tags("fixture"))]
fn panic_now() -> String {
    panic!("the secret cause")
}

/// Panics after its first suspension.
#[tool(tags("fixture"))]
async fn panic_later() -> String {
    tokio::task::yield_now().await;
    panic!("the secret cause")
}

/// Waits until it is told to go on, or cancelled.
#[tool(tags("fixture"))]
pub(crate) async fn wait(shared: State<Shared>) -> &'static str {
    struct Guard(State<Shared>, bool);
    impl Drop for Guard {
        fn drop(&mut self) {
            if !self.1 {
                self.0.counters().dropped.fetch_add(1, Ordering::SeqCst);
                self.0.counters().changed.notify_waiters();
            }
        }
    }
    let mut guard = Guard(shared, false);
    let go_on = guard.0.counters().go_on.notified();
    guard.0.counters().started.fetch_add(1, Ordering::SeqCst);
    guard.0.counters().changed.notify_waiters();
    go_on.await;
    guard.1 = true;
    "waited"
}

/// Runs longer than it may.
#[tool(tags("fixture"), timeout = "50ms")]
async fn overrun() -> &'static str {
    tokio::time::sleep(Duration::from_hours(1)).await;
    "never"
}

/// Blocks a thread of its own.
#[tool(tags("fixture"), blocking)]
fn block(ms: u64) -> &'static str {
    std::thread::sleep(Duration::from_millis(ms.min(2_000)));
    "blocked"
}

/// Needs a client that can sample.
#[tool(tags("fixture"), requires(sampling))]
fn needs_sampling() -> &'static str {
    "sampled"
}

/// Reports these values, one after another.
#[tool(tags("fixture"))]
async fn report(ctx: &Context, values: Vec<f64>, total: Option<f64>) {
    for value in values {
        match total {
            Some(total) => ctx.progress((value, total, "going on")),
            None => ctx.progress(value),
        }
        tokio::task::yield_now().await;
    }
}

/// Logs at every level.
#[tool(tags("fixture"))]
async fn log_all(ctx: &Context) {
    for level in [
        LoggingLevel::Debug,
        LoggingLevel::Info,
        LoggingLevel::Notice,
        LoggingLevel::Warning,
        LoggingLevel::Error,
        LoggingLevel::Critical,
        LoggingLevel::Alert,
        LoggingLevel::Emergency,
    ] {
        ctx.log(level, "hello");
    }
}

/// Answers with so many bytes.
#[tool(tags("fixture"))]
fn fill(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Says that a resource has changed.
#[tool(tags("fixture"))]
fn touch(ctx: &Context, uri: &str) {
    ctx.server().notify().resource_updated(uri);
}

/// Says that lists have changed, several times each.
#[tool(tags("fixture"))]
fn change_lists(ctx: &Context) {
    for _ in 0..5 {
        ctx.server().notify().tools_changed();
        ctx.server().notify().prompts_changed();
        ctx.server().notify().resources_changed();
    }
}

/// Takes a tool off the list, or puts it back.
#[tool(tags("fixture"))]
fn switch(ctx: &Context, name: &str, on: bool) -> bool {
    let tools = ctx.server().tools();
    if on {
        tools.enable(name)
    } else {
        tools.disable(name)
    }
}

/// Comes and goes.
#[tool(tags("fixture"))]
fn extra() -> &'static str {
    "here"
}

/// Says who is asking.
#[tool(tags("fixture"))]
fn who(ctx: &Context) -> String {
    ctx.client()
        .map(|client| client.name.clone())
        .unwrap_or_default()
}

/// Text at a fixed address.
#[resource(
    "test://static",
    tags("fixture"),
    title = "Static",
    mime_type = "text/plain"
)]
fn static_text() -> &'static str {
    "static text"
}

/// Bytes at a fixed address.
#[resource(
    "test://binary",
    tags("fixture"),
    mime_type = "application/octet-stream"
)]
fn static_binary() -> Vec<u8> {
    vec![0, 255, 1]
}

/// JSON at a fixed address.
#[resource("test://json", tags("fixture"), mime_type = "application/json")]
async fn static_json() -> Json<Point> {
    Json(Point {
        x: 1,
        y: 2,
        label: None,
    })
}

/// Several contents at one address.
#[resource("test://several", tags("fixture"))]
fn several() -> Vec<ResourceContents> {
    vec![
        ResourceContents::text("test://several/1", "one"),
        ResourceContents::blob("test://several/2", [1, 2]),
    ]
}

/// Panics when it is read.
#[resource("test://panic", tags("fixture"))]
fn panicking() -> String {
    panic!("the secret cause")
}

/// One of ten items.
#[resource_template("item:///{id}", tags("fixture"), mime_type = "text/plain", list = items)]
fn item(#[complete(item_ids)] id: u32) -> Option<String> {
    (id < 10).then(|| format!("item {id}"))
}

async fn items(context: &Context, _: &ListCursor) -> Vec<Resource> {
    std::future::ready(()).await;
    let last = if context.is_cancelled() { 0 } else { 10 };
    (0..last)
        .map(|id| Resource::new(format!("item:///{id}"), format!("item {id}")))
        .collect()
}

#[completer]
fn item_ids(_partial: &str) -> Vec<String> {
    (0..10).map(|id: u32| id.to_string()).collect()
}

/// A file below the root.
#[resource_template("tree:///{+path}", tags("fixture"))]
fn tree(path: SafePath) -> String {
    path.as_path().display().to_string()
}

/// A sum, with tags.
#[resource_template("sum:///{numbers*}{?tags*}", tags("fixture"))]
fn sum(numbers: Vec<u32>, tags: &[String]) -> String {
    format!("{} {tags:?}", numbers.iter().sum::<u32>())
}

/// Says hello.
#[prompt(tags("fixture"))]
fn greet() -> &'static str {
    "Say hello."
}

/// Asks for a review.
#[prompt(tags("fixture"), title = "Review")]
fn review(
    /// The code
    code: String,
    /// What it is written in
    language: Colour,
    #[complete(frameworks)] framework: Option<String>,
    strict: Option<bool>,
    lines: Option<u32>,
) -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(format!(
            "{code} {language:?} {framework:?} {strict:?} {lines:?}"
        )),
        PromptMessage::assistant("Understood."),
    ]
}

/// Every kind of content.
#[prompt(tags("fixture"))]
fn prompt_contents() -> GetPromptResult {
    GetPromptResult::new(
        contents()
            .into_iter()
            .map(PromptMessage::user)
            .collect::<Vec<_>>(),
    )
}

/// Fails with a text.
#[prompt(tags("fixture"))]
fn prompt_failure() -> Result<String> {
    bail!("no such thing")
}

/// Frameworks for the language chosen so far.
#[completer]
async fn frameworks(_partial: &str, language: Option<Colour>) -> Vec<String> {
    match language {
        Some(Colour::Red) => vec!["rocket".into(), "react".into(), "axum".into()],
        _ => (0..250)
            .map(|number| format!("framework-{number}"))
            .collect(),
    }
}

/// Stands alone in a server that offers nothing else.
#[prompt(tags("lonely"))]
pub(crate) fn lonely() -> &'static str {
    "Alone."
}

/// Takes so long.
#[tool(tags("fixture"))]
async fn pause(ms: u64) -> &'static str {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "paused"
}
