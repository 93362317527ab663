//! Handlers that ask with every kind of form, and handlers that ask every kind of question.

use mcp_runtime::prelude::*;
use mcp_runtime::types::{Field, Form};
use serde_json::Value;

use crate::asking::Name;

/// A form with every kind of field.
#[derive(Elicit)]
struct Everything {
    #[arg(title = "Name", default = "John Doe")]
    name: String,
    #[arg(range(0..=120), default = 30)]
    age: u8,
    #[arg(range(0.0..=100.0), default = 95.5)]
    score: f64,
    #[arg(default = "active")]
    status: Status,
    #[arg(default = true)]
    verified: bool,
    #[arg(format = "email")]
    email: Option<String>,
    #[arg(name = "colour")]
    hue: Option<Hue>,
    #[arg(length(..=2))]
    hues: Vec<Hue>,
}

#[derive(Debug, Elicit)]
enum Status {
    #[arg(name = "active")]
    Active,
    #[arg(name = "inactive")]
    Inactive,
}

#[derive(Debug, Elicit)]
enum Hue {
    /// Red as a rose
    Red,
    /// Blue as the sea
    Blue,
}

/// Asks with a form that has every kind of field.
#[tool(tags("asking"))]
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

/// Asks with a form that is built at run time.
#[tool(tags("asking"))]
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

/// Asks every kind of question that the client supports.
#[tool(tags("asking"))]
async fn what_can_be(ctx: Context) -> Result<String> {
    let mut said = Vec::new();
    if ctx.can_elicit() {
        said.push(ctx.elicit::<Name>("Who are you?").await?.name);
    }
    if ctx.can_sample() {
        said.push(ctx.sample(SamplingRequest::user("Well?")).await?.text());
    }
    if ctx.can_list_roots() {
        said.push(ctx.roots().await?.len().to_string());
    }
    said.push(ctx.can_elicit_url().to_string());
    Ok(said.join(" "))
}

/// Asks one kind of question, even if the client does not support it.
async fn ask_for(ctx: &Context, kind: &str) -> Result<String> {
    match kind {
        "form" => drop(ctx.elicit::<Name>("Who are you?").await?),
        "url" => ctx.elicit_url("There", "https://example.com/").await?,
        "sampling" => drop(ctx.sample(SamplingRequest::user("Well?")).await?),
        "tools" => {
            let sample =
                SamplingRequest::user("Well?").tool("t", "A tool.", json!({"type": "object"}));
            drop(ctx.sample(sample).await?);
        }
        "roots" => drop(ctx.roots().await?),
        other => {
            return Err(HandlerError::exposed(format_args!(
                "nothing is called {other}"
            )));
        }
    }
    Ok("answered".into())
}

/// Asks one kind of question.
#[tool(tags("asking"))]
async fn kind(ctx: Context, kind: String) -> Result<String> {
    ask_for(&ctx, &kind).await
}

/// Asks one kind of question.
#[prompt(tags("asking"))]
async fn kind_prompt(ctx: Context, kind: String) -> Result<String> {
    ask_for(&ctx, &kind).await
}

/// Asks one kind of question.
#[resource_template("kind://{kind}", tags("asking"))]
async fn kind_resource(ctx: Context, kind: String) -> Result<String> {
    ask_for(&ctx, &kind).await
}
