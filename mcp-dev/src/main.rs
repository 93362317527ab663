//! `mcp-dev`: a page in the browser for every MCP server.
//!
//! The program speaks to a server as a client (`engine`, `session`), builds and watches it if it is a cargo project
//! (`project`), and serves a page on this machine (`web`, `page/`) that shows everything and asks the user. What a message
//! means beyond its routing is the page's business.

mod engine;
mod hub;
mod project;
mod record;
mod session;
mod target;
mod web;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;

use engine::Engine;
use hub::Hub;
use target::{Options, Target};

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::from_arguments();
    match run(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcp-dev: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<()> {
    let project = match &options.target {
        Target::Project(selection) => Some(project::Project::find(selection)?),
        Target::Command(_) | Target::Url { .. } => None,
    };
    let name = project.as_ref().map_or_else(
        || options.target.to_string(),
        |project| project.name().to_owned(),
    );

    let listener = TcpListener::bind(("127.0.0.1", options.port))
        .await
        .with_context(|| format!("cannot listen on 127.0.0.1:{}", options.port))?;
    let port = listener.local_addr()?.port();
    let token = web::Token::new()?;
    let url = format!("http://127.0.0.1:{port}/#{token}");

    let hub = Arc::new(Hub::new(&name, project.is_some()));
    let engine = Arc::new(Engine::new(Arc::clone(&hub)));
    eprintln!("{name}: {url}");
    if !options.no_open && open::that_detached(&url).is_err() {
        eprintln!("No browser could be started. Open the URL above.");
    }

    if let Some(project) = project {
        tokio::spawn(project::keep_built(project, Arc::clone(&engine)));
    } else {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move { engine.replace(options.target, "").await });
    }
    let result = tokio::select! {
        result = web::serve(listener, port, token, Arc::clone(&engine)) => result,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    engine.stop("mcp-dev ended").await;
    result
}
