//! Questions to the client: one source of handlers, the same tests in both eras.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::bail;
use mcp_runtime::prelude::*;
use mcp_runtime::types::{CreateMessageResult, Field, Form, Role, SamplingContent};
use mcp_runtime::{Limits, MemoryStore, StateKey};
use serde_json::{Value, json};
use tests::{Answer, Client, Question, Revision};
use tokio::sync::Notify;

/// What the handlers count, and what tests wait for.
#[derive(Clone, Default)]
pub(crate) struct Counts(Arc<Counters>);

#[derive(Default)]
pub(crate) struct Counters {
    runs: AtomicUsize,
    effects: AtomicUsize,
    dropped: Notify,
    go_on: Notify,
}

impl Counts {
    fn effect(&self) -> usize {
        self.0.effects.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn effects(&self) -> usize {
        self.0.effects.load(Ordering::SeqCst)
    }

    fn runs(&self) -> usize {
        self.0.runs.load(Ordering::SeqCst)
    }

    fn run(&self) {
        self.0.runs.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Elicit)]
struct Name {
    /// Who you are
    #[elicit(length(1..=20))]
    name: String,
}

#[derive(Elicit)]
struct Sure {
    #[elicit(default = false)]
    sure: bool,
}

/// Asks one thing.
#[tool(group = "asking")]
async fn one(ctx: Context, counts: State<Counts>) -> Result<String> {
    counts.run();
    let Name { name } = ctx.elicit("Who are you?").key("user_name").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks two things, the second about the first, and does something once in between.
#[tool(group = "asking")]
async fn two_in_sequence(ctx: Context, counts: State<Counts>) -> Result<String> {
    counts.run();
    let Name { name } = ctx.elicit("Who are you?").await?;
    let receipt = ctx.once("charge", async || Ok(counts.effect())).await?;
    let Sure { sure } = ctx.elicit(format!("{name}, are you sure?")).await?;
    Ok(format!("{name} {sure} {receipt}"))
}

/// Asks two things at once, and does something once beside them.
#[tool(group = "asking")]
async fn two_at_once(ctx: Context, counts: State<Counts>) -> Result<String> {
    counts.run();
    let charge = ctx.once("charge", async || {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(counts.effect())
    });
    let (name, sure, charged) = tokio::join!(
        ctx.elicit::<Name>("Who are you?"),
        ctx.elicit::<Sure>("Sure?"),
        charge
    );
    Ok(format!("{} {} {}", name?.name, sure?.sure, charged?))
}

/// Asks three kinds of things at once.
#[tool(group = "asking")]
async fn three_kinds(ctx: Context) -> Result<String> {
    let questions = (
        ctx.elicit::<Name>("Who are you?"),
        ctx.sample(Sample::user("What is the capital of France?").max_tokens(100)),
        ctx.roots(),
    );
    let (name, said, roots) = ctx.ask(questions).await?;
    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("{} {} {}", name.name, said.text(), uris.join(",")))
}

/// Asks the same thing until the answer is yes.
#[tool(group = "asking")]
async fn until_sure(ctx: Context) -> Result<String> {
    let mut asked = 0;
    loop {
        asked += 1;
        let Sure { sure } = ctx.elicit("Sure?").await?;
        if sure {
            return Ok(format!("after {asked}"));
        }
    }
}

/// Tells declining from dismissing.
#[tool(group = "asking")]
async fn outcome(ctx: Context) -> Result<String> {
    Ok(match ctx.elicit::<Name>("Who are you?").outcome().await? {
        Elicited::Accepted(Name { name }) => name,
        Elicited::Declined => "declined".into(),
        Elicited::Cancelled => "cancelled".into(),
    })
}

/// Asks what depends on the clock: something else in every run.
#[tool(group = "asking")]
async fn changing(ctx: Context, counts: State<Counts>) -> Result<String> {
    counts.run();
    let run = counts.runs().min(3);
    let Name { name } = ctx.elicit(format!("Attempt {run}?")).key("same").await?;
    Ok(name)
}

/// Asks from a task of its own.
#[tool(group = "asking")]
async fn from_elsewhere(ctx: Context) -> Result<String> {
    let task = tokio::spawn(async move { ctx.elicit::<Name>("Who are you?").await });
    Ok(task.await??.name)
}

/// Asks beside work that never ends.
#[tool(group = "asking")]
async fn beside_work(ctx: Context) -> Result<String> {
    tokio::select! {
        name = ctx.elicit::<Name>("Who are you?") => Ok(name?.name),
        () = pending() => Ok(String::new()),
    }
}

/// Asks what is wrong to ask.
#[tool(group = "asking")]
async fn inside_once(ctx: Context) -> Result<String> {
    let inner = ctx.clone();
    let name = ctx.once("ask", async || Ok(inner.elicit::<Name>("Who?").await?.name));
    name.await
}

/// Uses a name twice.
#[tool(group = "asking")]
async fn twice_once(ctx: Context) -> Result<usize> {
    ctx.once("a", async || Ok(1)).await?;
    ctx.once("a", async || Ok(2)).await
}

/// Sends the person somewhere.
#[tool(group = "asking")]
async fn somewhere(ctx: Context, url: String) -> Result<String> {
    ctx.elicit_url("Pay there", url).await?;
    Ok("paid".into())
}

/// Asks what can be asked.
#[tool(group = "asking")]
async fn what_can_be(ctx: Context) -> Result<String> {
    let mut said = Vec::new();
    if ctx.can_elicit() {
        said.push(ctx.elicit::<Name>("Who are you?").await?.name);
    }
    if ctx.can_sample() {
        said.push(ctx.sample(Sample::user("Well?")).await?.text());
    }
    if ctx.can_list_roots() {
        said.push(ctx.roots().await?.len().to_string());
    }
    said.push(ctx.can_elicit_url().to_string());
    Ok(said.join(" "))
}

/// Every kind of field.
#[derive(Elicit)]
struct Everything {
    #[elicit(title = "Name", default = "John Doe")]
    name: String,
    #[elicit(range(0..=120), default = 30)]
    age: u8,
    #[elicit(range(0.0..=100.0), default = 95.5)]
    score: f64,
    #[elicit(default = "active")]
    status: Status,
    #[elicit(default = true)]
    verified: bool,
    #[elicit(format = "email")]
    email: Option<String>,
    #[elicit(name = "colour")]
    hue: Option<Hue>,
    #[elicit(length(..=2))]
    hues: Vec<Hue>,
}

#[derive(Debug, Elicit)]
enum Status {
    #[elicit(name = "active")]
    Active,
    #[elicit(name = "inactive")]
    Inactive,
}

#[derive(Debug, Elicit)]
enum Hue {
    /// Red as a rose
    Red,
    /// Blue as the sea
    Blue,
}

/// Asks for everything a form can hold.
#[tool(group = "asking")]
async fn everything(ctx: Context) -> Result<String> {
    let Everything {
        name,
        age,
        score,
        status,
        verified,
        email,
        hue,
        hues,
    } = ctx.elicit("Everything, please").await?;
    Ok(format!(
        "{name} {age} {score} {status:?} {verified} {email:?} {hue:?} {hues:?}"
    ))
}

/// Asks with a form made at run time.
#[tool(group = "asking")]
async fn made_form(ctx: Context) -> Result<String> {
    let form = Form::new()
        .field(
            "legacy",
            Field::one_of([("o1", "One"), ("o2", "Two")]).enum_names(),
        )
        .optional("many", Field::many_of([("m1", "M one"), ("m2", "M two")]));
    let answer = ctx.elicit_form("Which?", form).await?;
    Ok(Value::Object(answer).to_string())
}

/// A loop with tools.
#[tool(group = "asking")]
async fn with_tools(ctx: Context) -> Result<String> {
    let sample = Sample::user("go").tool("t", "A tool.", json!({"type": "object"}));
    let said: CreateMessageResult = ctx.sample(sample).await?;
    Ok(said.text())
}

/// Does something once, fails the first time, and says which call it is.
#[tool(group = "asking")]
async fn call_id(ctx: Context) -> Result<String> {
    let before = ctx.call_id().to_string();
    ctx.elicit::<Sure>("Sure?").await?;
    let id = ctx.once("id", async || Ok(before.clone())).await?;
    ctx.elicit::<Sure>("Really?").await?;
    Ok(format!("{id} {}", ctx.call_id()))
}

/// Takes its time after the answer, and says when it is dropped.
#[tool(group = "asking", timeout = "300ms")]
async fn slow_client(ctx: Context, counts: State<Counts>) -> Result<String> {
    struct Dropped(Counts);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.0.dropped.notify_one();
        }
    }
    let counts = Counts::clone(&counts);
    let _dropped = Dropped(counts.clone());
    let Name { name } = ctx.elicit("Who are you?").await?;
    if name == "slow" {
        counts.0.go_on.notified().await;
    }
    Ok(name)
}

/// A turn of a model that uses a tool, and the turn after it.
#[tool(group = "asking")]
async fn two_turns(ctx: Context) -> Result<String> {
    let sample = Sample::user("go").tool("t", "A tool.", json!({"type": "object"}));
    let used = ctx.sample(sample.clone()).await?;
    let id = match used.content.first() {
        Some(SamplingContent::ToolUse { id, .. }) => id.clone(),
        other => bail!("no use of a tool: {other:?}"),
    };
    let mut next = sample;
    next.messages.push(used.into_message());
    let result = SamplingContent::ToolResult {
        tool_use_id: id,
        content: vec![ContentBlock::text("7")],
        is_error: false,
    };
    Ok(ctx.sample(next.message(Role::User, result)).await?.text())
}

/// Takes something that is completed.
#[prompt(group = "asking")]
fn completed(#[complete(asking_completer)] what: String) -> String {
    what
}

/// Asks where nothing may be asked.
#[completer]
async fn asking_completer(_partial: &str, ctx: Context) -> Vec<String> {
    let asked = ctx.elicit::<Name>("Who?").await;
    vec![format!("{} {}", ctx.can_elicit(), asked.is_err())]
}

/// A prompt that asks.
#[prompt(group = "asking")]
async fn asking_prompt(ctx: Context) -> Result<String> {
    let Name { name } = ctx
        .elicit("What is this about?")
        .key("user_context")
        .await?;
    Ok(format!("Tell me about {name}."))
}

/// A resource that asks.
#[resource("ask://me", group = "asking")]
async fn asking_resource(ctx: Context) -> Result<String> {
    let Name { name } = ctx.elicit("Which?").await?;
    Ok(name)
}

pub(crate) fn server() -> Server {
    Server::new("asking", "1").group("asking")
}

pub(crate) fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}

async fn client_of(server: Server, revision: Revision, capabilities: Value) -> Client {
    let mut client = crate::support::raw(server, revision);
    client.capabilities = capabilities;
    let mut client = client.connect().await;
    client.answer(usual);
    client
}

async fn client(revision: Revision) -> (Client, Counts) {
    let counts = Counts::default();
    let server = server().state(counts.clone());
    (client_of(server, revision, able()).await, counts)
}

/// What most tests answer.
fn usual(question: &Question) -> Answer {
    match question.method.as_str() {
        "sampling/createMessage" => Answer::said("Paris"),
        "roots/list" => Answer::Result(json!({"roots": [{"uri": "file:///r", "name": "R"}]})),
        _ if question.params["requestedSchema"]["properties"]
            .get("sure")
            .is_some() =>
        {
            Answer::accept(json!({"sure": true}))
        }
        _ => Answer::accept(json!({"name": "Ada"})),
    }
}

async fn call(client: &mut Client, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    client.ask("tools/call", params).await.unwrap()
}

async fn text(client: &mut Client, tool: &str) -> String {
    let result = call(client, tool).await;
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn refusal(client: &mut Client, tool: &str) -> String {
    let result = call(client, tool).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

// Covers: MRTR-01, MRTR-02, MRTR-03, MRTR-05, MRTR-06, MRTR-16, REQ-01, REQ-02, ELIC-02, ELIC-04, TOOL-19
#[tokio::test]
async fn one_question() {
    for revision in [Revision::C, Revision::D, Revision::E] {
        let (mut client, counts) = client(revision).await;
        assert_eq!(text(&mut client, "one").await, "Hello, Ada!");
        assert_eq!(client.asked.len(), 1);
        assert_eq!(client.asked[0].params["message"], "Who are you?");
        if revision.is_modern() {
            assert_eq!(client.asked[0].key, "user_name");
            assert_eq!((client.rounds, counts.runs()), (1, 2));
        } else {
            assert_eq!((client.rounds, counts.runs()), (0, 1));
        }
    }
}

// Covers: MRTR-07, MRTR-16
#[tokio::test]
async fn a_question_whose_text_depends_on_an_earlier_answer() {
    for revision in Revision::ERAS {
        let (mut client, counts) = client(revision).await;
        assert_eq!(text(&mut client, "two_in_sequence").await, "Ada true 1");
        assert_eq!(client.asked[1].params["message"], "Ada, are you sure?");
        assert_eq!(counts.effects(), 1);
        assert_eq!(client.rounds, if revision.is_modern() { 2 } else { 0 });
    }
}

// Covers: MRTR-05
#[tokio::test]
async fn two_questions_at_once_are_one_round_and_what_is_done_once_is_not_cut_off() {
    for revision in Revision::ERAS {
        let (mut client, counts) = client(revision).await;
        assert_eq!(text(&mut client, "two_at_once").await, "Ada true 1");
        assert_eq!(counts.effects(), 1);
        assert_eq!(client.rounds, usize::from(revision.is_modern()));
    }
}

// Covers: MRTR-03, SAMP-01, SAMP-05, ROOT-01, ROOT-03
#[tokio::test]
async fn three_kinds_of_questions_at_once() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        assert_eq!(
            text(&mut client, "three_kinds").await,
            "Ada Paris file:///r"
        );
        assert_eq!(client.rounds, usize::from(revision.is_modern()));
    }
}

#[tokio::test]
async fn the_same_question_in_a_loop() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let mut left = 3;
        client.answer(move |_| {
            left -= 1;
            Answer::accept(json!({"sure": left == 0}))
        });
        assert_eq!(text(&mut client, "until_sure").await, "after 3");
        let mut keys: Vec<_> = client.asked.iter().map(|asked| &asked.key).collect();
        keys.dedup();
        assert_eq!(keys.len(), 3, "each has a key of its own");
    }
}

// Covers: MRTR-01, PROMPT-07, RES-10, CACHE-06
#[tokio::test]
async fn prompts_and_resources_ask_too() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let prompt = json!({"name": "asking_prompt"});
        let prompt = client.ask("prompts/get", prompt).await.unwrap();
        assert_eq!(
            prompt["messages"][0]["content"]["text"],
            "Tell me about Ada."
        );
        let resource = json!({"uri": "ask://me"});
        let resource = client.ask("resources/read", resource).await.unwrap();
        assert_eq!(resource["contents"][0]["text"], "Ada");
    }
}

// Covers: ELIC-04, REQ-05
#[tokio::test]
async fn declining_and_dismissing_are_errors_or_outcomes() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        for (answer, error, outcome) in [
            (Answer::decline(), "the user declined", "declined"),
            (
                Answer::cancel(),
                "the user dismissed the question without an answer",
                "cancelled",
            ),
        ] {
            client.answer(move |_| answer.clone());
            assert_eq!(refusal(&mut client, "one").await, error);
            assert_eq!(text(&mut client, "outcome").await, outcome);
        }
    }
}

// Covers: MRTR-10, ELIC-04
#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let mut answers = vec![
            Answer::accept(json!({"name": "Ada"})),
            Answer::accept(json!({})),
            Answer::Result(json!({"action": "accept"})),
        ];
        client.answer(move |_| answers.pop().unwrap());
        assert_eq!(text(&mut client, "one").await, "Hello, Ada!");
        assert_eq!(client.asked.len(), 3);
    }
}

// Covers: REQ-05
#[tokio::test]
async fn a_client_that_answers_nonsense_or_an_error_is_reported() {
    let (mut client, _) = client(Revision::D).await;
    for (answer, expected) in [
        (
            Answer::Result(json!({"action": 5})),
            "the answer does not fit",
        ),
        (Answer::Result(json!([])), "the answer does not fit"),
        (
            Answer::Error(-32601, "what?".into()),
            "the client could not answer: what? (-32601)",
        ),
        (
            Answer::Error(-1, "User rejected".into()),
            "the user declined",
        ),
    ] {
        client.answer(move |_| answer.clone());
        let text = refusal(&mut client, "one").await;
        assert!(text.starts_with(expected), "{text}");
    }
}

// Covers: REQ-02
#[tokio::test]
async fn answers_nobody_waits_for_are_ignored() {
    let (mut client, _) = client(Revision::D).await;
    client.answer(|_| Answer::Silence);
    let params = json!({"name": "one"});
    let id = client.start("tools/call", params).await;
    client.until_asked(1).await;
    let key = client.asked[0].key.clone();
    for foreign in ["\"1\"", "999", "-1", "null", "1.5"] {
        client
            .line(&format!(
                r#"{{"jsonrpc":"2.0","id":{foreign},"result":{{"action":"decline"}}}}"#
            ))
            .await;
    }
    for name in ["first", "second"] {
        client
            .line(&format!(
                r#"{{"jsonrpc":"2.0","id":{key},"result":{{"action":"accept","content":{{"name":"{name}"}}}}}}"#
            ))
            .await;
    }
    let result = client.response(&id).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Hello, first!");
    client.pass().await;
}

// Covers: REQ-05, LIFE-10, CANC-07
#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_is_given_up_and_told() {
    let limits = Limits {
        question_time: Duration::from_secs(10),
        ..Limits::default()
    };
    let server = server().state(Counts::default()).limits(limits);
    let mut client = client_of(server, Revision::D, able()).await;
    client.answer(|_| Answer::Silence);
    let started = tokio::time::Instant::now();
    // Longer than the tool may take: the client's time is not the tool's.
    assert_eq!(
        refusal(&mut client, "slow_client").await,
        "nobody answered within 10s"
    );
    assert_eq!(started.elapsed().as_secs(), 10);
    let told = client.notification("notifications/cancelled").await;
    assert_eq!(told["requestId"].to_string(), client.asked[0].key);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_tool_goes_on_after_the_answer() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        client.answer(|_| Answer::accept(json!({"name": "slow"})));
        let text = refusal(&mut client, "slow_client").await;
        assert!(text.starts_with("took longer than 300ms"), "{text}");
    }
}

// Covers: CANC-06, CANC-07
#[tokio::test]
async fn a_cancelled_call_takes_its_question_back() {
    let (mut client, counts) = client(Revision::D).await;
    client.answer(|_| Answer::Silence);
    let id = client
        .start("tools/call", json!({"name": "slow_client"}))
        .await;
    client.until_asked(1).await;
    client.cancel(&id).await;
    counts.0.dropped.notified().await;
    let told = client.notification("notifications/cancelled").await;
    assert_eq!(told["requestId"].to_string(), client.asked[0].key);
    assert!(!client.answered(&id));
    client.pass().await;
}

#[tokio::test]
async fn a_client_that_has_gone_ends_the_wait() {
    let (mut client, counts) = client(Revision::D).await;
    client.answer(|_| Answer::Silence);
    client
        .start("tools/call", json!({"name": "slow_client"}))
        .await;
    client.until_asked(1).await;
    drop(client);
    // At once, rather than when everything is dropped.
    let ended = tokio::time::timeout(Duration::from_secs(3), counts.0.dropped.notified());
    ended.await.unwrap();
}

// Covers: LIFE-04, REQ-04
#[tokio::test]
async fn nothing_is_asked_before_the_client_is_initialized() {
    let mut client = crate::support::raw(server().state(Counts::default()), Revision::D);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": able(), "clientInfo": {"name": "t", "version": "1"}});
    client.ok("initialize", params).await;
    client.answer(usual);
    let text = refusal(&mut client, "one").await;
    assert!(text.contains("initialized"), "{text}");
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(crate::asking::text(&mut client, "one").await, "Hello, Ada!");
}

// Covers: REQ-01, REQ-06, MRTR-04, ELIC-01
#[tokio::test]
async fn a_client_that_cannot_be_asked_is_not() {
    for revision in Revision::ALL {
        for capabilities in [
            json!({}),
            json!({"elicitation": {"url": {}}}),
            json!({"sampling": {}}),
        ] {
            // 2025-06-18 knew no modes: whoever declares elicitation has forms.
            if revision == Revision::C && capabilities.get("elicitation").is_some() {
                continue;
            }
            let server = server().state(Counts::default());
            let mut client = client_of(server, revision, capabilities).await;
            if revision.is_modern() {
                let failure = client
                    .fails("tools/call", json!({"name": "one"}), -32021)
                    .await;
                assert!(failure.data["requiredCapabilities"]["elicitation"].is_object());
                client
                    .fails("prompts/get", json!({"name": "asking_prompt"}), -32021)
                    .await;
            } else {
                let text = refusal(&mut client, "one").await;
                assert!(text.contains("elicitation"), "{text}");
                client
                    .fails("prompts/get", json!({"name": "asking_prompt"}), -32603)
                    .await;
                client
                    .fails("resources/read", json!({"uri": "ask://me"}), -32603)
                    .await;
            }
            assert_eq!(client.asked, []);
        }
    }
}

// Covers: MRTR-04
#[tokio::test]
async fn a_handler_can_ask_what_can_be_asked() {
    for revision in Revision::ERAS {
        for (capabilities, expected) in [
            (json!({}), "false"),
            (json!({"sampling": {}}), "Paris false"),
            (able(), "Ada Paris 1 true"),
        ] {
            let server = server().state(Counts::default());
            let mut client = client_of(server, revision, capabilities).await;
            assert_eq!(text(&mut client, "what_can_be").await, expected);
        }
    }
}

// Covers: SAMP-02
#[tokio::test]
async fn tools_are_offered_to_a_model_only_if_the_client_can() {
    let (mut client, _) = client(Revision::D).await;
    assert_eq!(text(&mut client, "with_tools").await, "Paris");
    for (revision, capabilities) in [
        (Revision::D, json!({"sampling": {}})),
        (Revision::C, json!({"sampling": {"tools": {}}})),
    ] {
        let server = server().state(Counts::default());
        let mut client = client_of(server, revision, capabilities).await;
        let text = refusal(&mut client, "with_tools").await;
        assert!(text.contains("sampling"), "{text}");
    }
}

// Covers: SAMP-03, SAMP-04, SAMP-07
#[tokio::test]
async fn a_model_may_use_tools_turn_by_turn() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        client.answer(|question| {
            if question.params["messages"].as_array().unwrap().len() == 1 {
                let content = json!([{"type": "tool_use", "id": "u1", "name": "t", "input": {}}]);
                let said = json!({"role": "assistant", "content": content, "model": "m", "stopReason": "toolUse"});
                return Answer::Result(said);
            }
            assert_eq!(question.params["messages"][2]["content"]["toolUseId"], "u1");
            Answer::said("seven")
        });
        assert_eq!(text(&mut client, "two_turns").await, "seven");
    }
}

// Covers: COMP-06
#[tokio::test]
async fn nothing_is_asked_while_completing() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let reference = json!({"type": "ref/prompt", "name": "completed"});
        let params = json!({"ref": reference, "argument": {"name": "what", "value": ""}});
        let result = client.request("completion/complete", params).await.unwrap();
        assert_eq!(result["completion"]["values"], json!(["false true"]));
        assert_eq!(client.asked, []);
    }
}

// Covers: ELIC-06, ELIC-10
#[tokio::test]
async fn people_are_sent_to_addresses() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let params = json!({"name": "somewhere", "arguments": {"url": "https://pay.example/1"}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(result["content"][0]["text"], "paid");
        assert_eq!(client.asked[0].params["mode"], "url");
        let id = client.asked[0].params.get("elicitationId");
        assert_eq!(id.is_some(), !revision.is_modern());
        let params = json!({"name": "somewhere", "arguments": {"url": "http://pay.example/1"}});
        let result = client.ask("tools/call", params).await.unwrap();
        assert_eq!(result["isError"], true);
    }
}

// Covers: ELIC-03, ELIC-12
#[tokio::test]
async fn a_form_holds_every_kind_of_field() {
    for revision in [Revision::C, Revision::D, Revision::E] {
        let (mut client, _) = client(revision).await;
        // The schema of the revision has judged the question already.
        client.answer(move |_| {
            let hues = match revision {
                Revision::C => json!("Red, Blue"),
                _ => json!(["Red", "Blue"]),
            };
            Answer::accept(json!({"colour": "Blue", "hues": hues, "age": 31, "extra": 1}))
        });
        assert_eq!(
            text(&mut client, "everything").await,
            "John Doe 31 95.5 Active true None Some(Blue) [Red, Blue]"
        );
        let properties = &client.asked[0].params["requestedSchema"]["properties"];
        let new = revision > Revision::C;
        assert_eq!(properties["verified"]["default"], true);
        assert_eq!(
            properties["score"]["default"],
            if new { json!(95.5) } else { json!(null) }
        );
        assert_eq!(properties["colour"].get("oneOf").is_some(), new);
        assert_eq!(properties["colour"].get("enumNames").is_some(), !new);
    }
}

#[tokio::test]
async fn a_form_may_be_made_at_run_time() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        client.answer(|_| Answer::accept(json!({"legacy": "o2", "many": ["m1"]})));
        let answer = text(&mut client, "made_form").await;
        assert_eq!(answer, r#"{"legacy":"o2","many":["m1"]}"#);
        let properties = &client.asked[0].params["requestedSchema"]["properties"];
        assert_eq!(properties["legacy"]["enumNames"], json!(["One", "Two"]));
        assert_eq!(properties["many"]["items"]["anyOf"][0]["const"], "m1");
    }
}

#[tokio::test]
async fn questions_may_come_from_other_tasks_and_beside_other_work() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        assert_eq!(text(&mut client, "from_elsewhere").await, "Ada");
        assert_eq!(text(&mut client, "beside_work").await, "Ada");
    }
}

#[tokio::test]
async fn misuse_is_an_error_in_both_eras() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let text = refusal(&mut client, "inside_once").await;
        assert!(text.contains("inside `once`"), "{text}");
        let text = refusal(&mut client, "twice_once").await;
        assert!(text.contains("done twice"), "{text}");
        assert_eq!(client.asked, []);
    }
}

#[tokio::test]
async fn a_call_is_the_same_in_all_of_its_rounds() {
    for revision in Revision::ERAS {
        let (mut client, _) = client(revision).await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            let ids = text(&mut client, "call_id").await;
            let (first, last) = ids.split_once(' ').unwrap();
            if revision.is_modern() {
                assert_eq!(first, last);
            }
            seen.push(last.to_owned());
        }
        assert_ne!(seen[0], seen[1]);
    }
}

// Covers: MRTR-10, MRTR-15
#[tokio::test]
async fn answers_that_come_first_are_taken_by_key_and_others_ignored() {
    let (mut client, counts) = client(Revision::E).await;
    let hello = json!({"action": "accept", "content": {"name": "Bo"}});
    let params = json!({"name": "one", "inputResponses": {"user_name": hello, "unknown": {"x": 1}, "other": 5}});
    let result = client.request("tools/call", params).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Hello, Bo!");
    assert_eq!(counts.runs(), 1);
    for responses in [
        json!({"wrong_key": hello}),
        json!({"user_name": 12345}),
        json!({}),
    ] {
        let params = json!({"name": "one", "inputResponses": responses});
        let result = client.request("tools/call", params).await.unwrap();
        assert_eq!(result["resultType"], "input_required");
    }
    for responses in [json!(null), json!([]), json!("x"), json!(5)] {
        let params = json!({"name": "one", "inputResponses": responses});
        client.fails("tools/call", params, -32602).await;
    }
}

// Covers: MRTR-10
#[tokio::test]
async fn a_missing_answer_is_asked_for_again_and_the_others_are_kept() {
    let (mut client, _) = client(Revision::E).await;
    let params = json!({"name": "three_kinds"});
    let mut result = client.request("tools/call", params.clone()).await.unwrap();
    for left in [3, 2, 1] {
        let requests = result["inputRequests"].as_object().unwrap();
        assert_eq!(requests.len(), left);
        let first = requests.keys().next().unwrap().clone();
        let mut next = client.retry(&params, &result);
        let answers = next["inputResponses"].as_object_mut().unwrap();
        answers.retain(|key, _| *key == first);
        result = client.request("tools/call", next).await.unwrap();
    }
    assert_eq!(result["content"][0]["text"], "Ada Paris file:///r");
}

// Covers: MRTR-08, MRTR-09
#[tokio::test]
async fn a_state_that_is_not_ours_or_of_another_call_is_refused() {
    let (mut client, counts) = client(Revision::E).await;
    let params = json!({"name": "one", "arguments": {}});
    let result = client.request("tools/call", params.clone()).await.unwrap();
    let next = client.retry(&params, &result);
    let state = next["requestState"].as_str().unwrap().to_owned();
    let runs = counts.runs();
    for tampered in [
        json!(format!("{state}-TAMPERED")),
        json!(format!("{state}=")),
        json!(state[..state.len() - 1]),
        json!(""),
        json!("x".repeat(20_000)),
        json!(5),
        json!(null),
    ] {
        let mut next = next.clone();
        next["requestState"] = tampered;
        client.fails("tools/call", next, -32602).await;
    }
    for (member, value) in [("name", json!("outcome")), ("arguments", json!({"a": 1}))] {
        let mut next = next.clone();
        next[member] = value;
        client.fails("tools/call", next, -32602).await;
    }
    // Also where nothing is ever asked: a state that is there must be good.
    assert_eq!(counts.runs(), runs);
    let result = client.request("tools/call", next).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Hello, Ada!");
}

// Covers: MRTR-06, MRTR-09, SEC-12
#[tokio::test]
async fn rounds_may_land_on_different_instances_with_the_same_keys() {
    let keys = |byte| {
        server()
            .state(Counts::default())
            .state_keys([StateKey::from_bytes([byte; 32])])
    };
    let mut first = client_of(keys(1), Revision::E, able()).await;
    let mut second = client_of(keys(1), Revision::E, able()).await;
    let mut stranger = client_of(keys(2), Revision::E, able()).await;
    let params = json!({"name": "two_in_sequence", "arguments": {}});
    let asked = first.request("tools/call", params.clone()).await.unwrap();
    let next = first.retry(&params, &asked);
    let failure = stranger.fails("tools/call", next.clone(), -32602).await;
    assert!(failure.message.contains("state_keys"), "{failure:?}");
    let asked = second.request("tools/call", next).await.unwrap();
    let next = second.retry(&params, &asked);
    let result = first.request("tools/call", next).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Ada true 1");
}

#[tokio::test]
async fn a_question_that_reads_differently_is_asked_again_whatever_its_key() {
    let (mut client, _) = client(Revision::E).await;
    assert_eq!(text(&mut client, "changing").await, "Ada");
    let messages: Vec<_> = client
        .asked
        .iter()
        .map(|asked| &asked.params["message"])
        .collect();
    assert_eq!(messages, ["Attempt 1?", "Attempt 2?", "Attempt 3?"]);
}

// Covers: MRTR-11
#[tokio::test]
async fn a_call_that_asks_for_ever_fails() {
    let limits = Limits {
        rounds: 3,
        ..Limits::default()
    };
    let server = server().state(Counts::default()).limits(limits);
    let mut client = client_of(server, Revision::E, able()).await;
    client.answer(|_| Answer::accept(json!({"sure": false})));
    let text = refusal(&mut client, "until_sure").await;
    assert!(text.contains("3 times in a row"), "{text}");
    assert_eq!(client.rounds, 3);
}

#[tokio::test]
async fn what_does_not_fit_into_the_state_is_an_error() {
    let limits = Limits {
        request_state: 300,
        ..Limits::default()
    };
    let server = server().state(Counts::default()).limits(limits);
    let mut client = client_of(server, Revision::E, able()).await;
    client.answer(|_| Answer::accept(json!({"sure": false})));
    let text = refusal(&mut client, "until_sure").await;
    assert!(text.contains("at most 300"), "{text}");
}

#[tokio::test]
async fn more_questions_at_once_than_allowed_are_an_error() {
    let limits = Limits {
        questions: 2,
        ..Limits::default()
    };
    for revision in Revision::ERAS {
        let server = server().state(Counts::default()).limits(limits.clone());
        let mut client = client_of(server, revision, able()).await;
        let text = refusal(&mut client, "three_kinds").await;
        assert!(text.contains("more than 2 questions"), "{text}");
    }
}

#[tokio::test]
async fn a_round_that_is_sent_again_repeats_nothing_if_there_is_a_store() {
    for has_store in [false, true] {
        let counts = Counts::default();
        let mut server = server().state(counts.clone());
        if has_store {
            server = server.once_store(MemoryStore::new());
        }
        let mut client = client_of(server, Revision::E, able()).await;
        let params = json!({"name": "two_in_sequence", "arguments": {}});
        let asked = client.request("tools/call", params.clone()).await.unwrap();
        let second_round = client.retry(&params, &asked);
        for _ in 0..3 {
            let asked = client
                .request("tools/call", second_round.clone())
                .await
                .unwrap();
            let last = client.retry(&params, &asked);
            let result = client.request("tools/call", last.clone()).await.unwrap();
            let receipt = if has_store { 1 } else { counts.effects() };
            assert_eq!(result["content"][0]["text"], format!("Ada true {receipt}"));
            client.request("tools/call", last).await.unwrap();
        }
        assert_eq!(counts.effects(), if has_store { 1 } else { 3 });
        // A round that is refused does nothing at all.
        let mut tampered = second_round;
        tampered["requestState"] = json!("x");
        client.fails("tools/call", tampered, -32602).await;
        assert_eq!(counts.effects(), if has_store { 1 } else { 3 });
    }
}

#[tokio::test]
async fn keys_that_cannot_be_read_are_reported_at_the_start() {
    let (transport, _stream) = mcp_runtime::transport::memory();
    let server = server()
        .state(Counts::default())
        .state_keys_from_env("NO_SUCH_VARIABLE");
    let error = server.serve(transport).await.unwrap_err();
    assert!(error.to_string().contains("NO_SUCH_VARIABLE"), "{error}");
}

// Covers: MRTR-14
#[tokio::test]
async fn nothing_is_asked_by_request_in_the_modern_era_even_beside_a_session() {
    let (mut client, _) = client(Revision::D).await;
    client.speak(Revision::E);
    assert_eq!(text(&mut client, "one").await, "Hello, Ada!");
    assert_eq!(client.rounds, 1);
}
