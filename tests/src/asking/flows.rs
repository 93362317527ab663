//! Handlers that ask questions in every possible way. Most run one `once` block before asking and another one
//! afterwards.

use std::future::pending;

use mcp_runtime::prelude::*;
use serde::Serialize;

use crate::asking::Ledger;

/// The identity of a user.
#[derive(Debug, Elicit, Serialize)]
pub struct Name {
    /// Your name
    #[arg(length(1..=20))]
    pub name: String,
}

#[derive(Elicit)]
struct Sure {
    #[arg(default = false)]
    sure: bool,
}

/// Asks one question.
#[tool(tags("asking"))]
async fn one(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.note("run");
    ledger.once(&ctx, "before").await?;
    let Name { name } = ctx.elicit("Who are you?").key("user_name").await?;
    ledger.once(&ctx, "after").await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks one question and is unrelated to other calls.
#[tool(tags("asking"))]
async fn decoy(ctx: Context) -> Result<String> {
    Ok(ctx.elicit::<Name>("Who are you?").await?.name)
}

/// Asks two questions, the second of which depends on the first answer, with a `once` block in between.
#[tool(tags("asking"))]
async fn two_in_sequence(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.note("run");
    ledger.once(&ctx, "before").await?;
    let Name { name } = ctx.elicit("Who are you?").await?;
    let receipt = ledger.once(&ctx, "between").await?;
    let Sure { sure } = ctx.elicit(format!("{name}, are you sure?")).await?;
    ledger.once(&ctx, "after").await?;
    Ok(format!("{name} {sure} {receipt}"))
}

/// Asks two questions at the same time, while a `once` block is running.
#[tool(tags("asking"))]
async fn two_at_once(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let charge = ctx.once("between", async || {
        tokio::task::yield_now().await;
        Ok(ledger.note("between"))
    });
    let (name, sure, charged) = tokio::join!(
        ctx.elicit::<Name>("Who are you?"),
        ctx.elicit::<Sure>("Sure?"),
        charge
    );
    let (name, sure, charged) = (name?.name, sure?.sure, charged?);
    ledger.once(&ctx, "after").await?;
    Ok(format!("{name} {sure} {charged}"))
}

/// Asks three kinds of questions at the same time.
#[tool(tags("asking"))]
async fn three_kinds(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let questions = (
        ctx.elicit::<Name>("Who are you?"),
        ctx.sample(SamplingRequest::user("What is the capital of France?").max_tokens(100)),
        ctx.roots(),
    );
    let (name, said, roots) = ctx.ask(questions).await?;
    ledger.once(&ctx, "after").await?;
    let uris: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("{} {} {}", name.name, said.text(), uris.join(",")))
}

/// Sends a sampling request, then a roots request.
#[tool(tags("asking"))]
async fn no_person(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let said = ctx
        .sample(SamplingRequest::user("Where?").max_tokens(100))
        .await?;
    let roots = ctx.roots().await?.len();
    ledger.once(&ctx, "after").await?;
    Ok(format!("{} {roots}", said.text()))
}

/// Asks the model, and asks the user instead if the model's answer is unusable.
#[tool(tags("asking"))]
async fn person_instead(ctx: Context) -> Result<String> {
    match ctx
        .sample(SamplingRequest::user("Who?").max_tokens(100))
        .await
    {
        Ok(said) => Ok(said.text()),
        Err(AskError::Unusable(_)) => Ok(ctx.elicit::<Name>("Who are you?").await?.name),
        Err(error) => Err(error.into()),
    }
}

/// Repeats a question until the answer is yes.
#[tool(tags("asking"))]
async fn until_sure(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let mut asked = 0;
    loop {
        asked += 1;
        let Sure { sure } = ctx.elicit("Sure?").await?;
        ctx.once(format!("row {asked}"), async || Ok(ledger.note("row")))
            .await?;
        if sure {
            ledger.once(&ctx, "after").await?;
            return Ok(format!("after {asked}"));
        }
    }
}

/// Asks a question and returns whether the user answered, declined or dismissed it.
#[tool(tags("asking"))]
async fn outcome(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let outcome = ctx.elicit::<Name>("Who are you?").outcome().await?;
    ledger.once(&ctx, "after").await?;
    Ok(match outcome {
        Elicited::Accepted(Name { name }) => name,
        Elicited::Declined => "declined".into(),
        Elicited::Cancelled => "cancelled".into(),
    })
}

/// Asks a question from a separate task.
#[tool(tags("asking"))]
async fn from_elsewhere(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let asking = ctx.clone();
    let task = tokio::spawn(async move { asking.elicit::<Name>("Who are you?").await });
    let Name { name } = task.await??;
    ledger.once(&ctx, "after").await?;
    Ok(name)
}

/// Asks a question while waiting for work that never finishes.
#[tool(tags("asking"))]
async fn beside_work(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let name = tokio::select! {
        name = ctx.elicit::<Name>("Who are you?") => name?.name,
        () = pending() => String::new(),
    };
    ledger.once(&ctx, "after").await?;
    Ok(name)
}

/// Sends the user to a URL.
#[tool(tags("asking"))]
async fn somewhere(ctx: Context, ledger: State<Ledger>, url: String) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    ctx.elicit_url("Pay there", url).await?;
    ledger.once(&ctx, "after").await?;
    Ok("paid".into())
}

/// A prompt that asks a question.
#[prompt(tags("asking"))]
async fn asking_prompt(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let Name { name } = ctx
        .elicit("What is this about?")
        .key("user_context")
        .await?;
    ledger.once(&ctx, "after").await?;
    Ok(format!("Tell me about {name}."))
}

/// A resource that asks a question.
#[resource("ask://me", tags("asking"))]
async fn asking_resource(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let Name { name } = ctx.elicit("Which?").await?;
    ledger.once(&ctx, "after").await?;
    Ok(name)
}

/// A resource that asks a question about a part of its URI.
#[resource_template("ask://about/{what}", tags("asking"))]
async fn asking_template(ctx: Context, ledger: State<Ledger>, what: String) -> Result<String> {
    ledger.once(&ctx, "before").await?;
    let Name { name } = ctx.elicit(format!("Which {what}?")).await?;
    ledger.once(&ctx, "after").await?;
    Ok(format!("{what} {name}"))
}

/// Makes an entry in the ledger when it is dropped.
struct Dropped(Ledger);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

/// Asks a question with a time limit that is shorter than the client's time for an answer, and records when it is
/// dropped.
#[tool(tags("asking"), timeout = "300ms")]
async fn in_a_hurry(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    let _dropped = Dropped(Ledger::clone(&ledger));
    ledger.once(&ctx, "before").await?;
    let Name { name } = ctx.elicit("Who are you?").await?;
    if name == "slow" {
        pending::<()>().await;
    }
    ledger.once(&ctx, "after").await?;
    Ok(name)
}

/// Asks a question, then runs a `once` block that never finishes the first time.
#[tool(tags("asking"))]
async fn stuck_at_first(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    let _dropped = Dropped(Ledger::clone(&ledger));
    let Name { name } = ctx.elicit("Who are you?").await?;
    ctx.once("after", async || {
        if ledger.note("after") == 1 {
            pending::<()>().await;
        }
        Ok(())
    })
    .await?;
    Ok(name)
}

/// Like `stuck_at_first`, with a `once` block that may run again.
#[tool(tags("asking"))]
async fn repeated_after_stuck(ctx: Context, ledger: State<Ledger>) -> Result<String> {
    let _dropped = Dropped(Ledger::clone(&ledger));
    let Name { name } = ctx.elicit("Who are you?").await?;
    let after = ctx.step("after", async || {
        if ledger.note("after") == 1 {
            pending::<()>().await;
        }
        Ok(())
    });
    after.await?;
    Ok(name)
}
