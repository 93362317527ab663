//! Middleware around calls: functions, tower layers, and text sanitizers.

mod functions;
mod layers;
mod ready_made;
mod retries;
mod sanitizing;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_runtime::middleware::{Call, CallOutput, Next};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::ResourceContents;
use serde_json::Value;

use crate::fixture::Shared;

#[tool(tags("middleware"))]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

#[tool(tags("middleware"))]
fn fails() -> Result<String> {
    bail!("the secret is out")
}

#[tool(tags("middleware"))]
async fn wait(shared: State<Shared>) -> &'static str {
    crate::fixture::waiting::wait(shared).await
}

#[data(output)]
struct Report {
    text: String,
    lines: Vec<String>,
}

#[tool(tags("middleware"))]
fn report() -> Json<Report> {
    Json(Report {
        text: "a secret".into(),
        lines: vec!["secret one".into(), "two".into()],
    })
}

#[prompt(tags("middleware"))]
fn review(#[complete(["one", "two"])] code: &str) -> String {
    format!("Review the secret {code}")
}

#[resource("middleware://one", tags("middleware"))]
fn one() -> ResourceContents {
    ResourceContents::text("", "a secret")
}

#[resource_template("middleware://many/{id}", tags("middleware"))]
fn many(id: &str) -> Result<String> {
    if id == "none" {
        return Err(HandlerError::no_resource("no secret here"));
    }
    Ok(id.to_owned())
}

/// The name of a user.
#[derive(Elicit)]
struct Name {
    name: String,
}

#[tool(tags("middleware"))]
async fn ask(ctx: Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").key("who").await?;
    Ok(format!("Hello, {name}!"))
}

fn server() -> Server {
    Server::new("middleware", "1")
        .only(Selected::tag("middleware"))
        .state(Shared::default())
        .state(Seen::default())
}

/// The calls that the middleware saw.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn push(&self, text: impl Into<String>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Records each call on its way in and out, under a given name.
fn noting(seen: &Seen, name: &'static str) -> impl Fn(Call, Next) -> Noting + Send + Sync + use<> {
    let seen = seen.clone();
    move |call, next| {
        let seen = seen.clone();
        Box::pin(async move {
            let what = format!(
                "{name}: {:?} {} {}",
                call.kind(),
                call.name(),
                Value::Object(call.arguments().0.clone())
            );
            seen.push(what);
            let answer = next.run(call).await;
            seen.push(format!("{name}: {}", answer.is_ok()));
            answer
        })
    }
}

type Noting = Pin<Box<dyn Future<Output = Result<CallOutput>> + Send>>;

fn redact(text: &str) -> Cow<'_, str> {
    if text.contains("secret") {
        Cow::Owned(text.replace("secret", "***"))
    } else {
        Cow::Borrowed(text)
    }
}
