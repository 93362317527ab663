//! `mcp-dev`: a browser page for testing any MCP server.
//!
//! The program communicates with a server as a client (`engine`, `session`), builds and watches the server if it is a
//! cargo project (`project`), and serves a page on this machine (`web`, `page/`) that shows all messages and requests
//! input from the user. Apart from routing, only the page interprets messages.

mod completions;
mod describe;
mod engine;
mod group;
mod hub;
mod inspect;
mod install;
mod lines;
mod project;
mod publish;
mod record;
mod recording;
mod relay;
mod session;
mod signals;
mod target;
mod web;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use tokio::net::TcpListener;

use engine::Engine;
use hub::Hub;
use target::{Action, Options, PageOptions, Target};

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::from_arguments();
    // A replay's exit status distinguishes between differences and a recording that cannot be replayed.
    let broken = if matches!(options.action, Action::Replay(_)) {
        2
    } else {
        1
    };
    match run(options).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mcp-dev: {}", lines::printable(&format!("{error:#}")));
            ExitCode::from(broken)
        }
    }
}

/// Returns `false` if the replay of a recording found differences, or if a server's command failed.
async fn run(Options { target, action }: Options) -> Result<bool> {
    match action {
        Action::Replay(replay) => tokio::select! {
            same = recording::replay(&replay, target) => same,
            () = signals::wanted_to_end() => bail!("the replay was interrupted"),
        },
        Action::Publish(request) => tokio::select! {
            published = publish::run(&request, target) => published.map(|()| true),
            () = signals::wanted_to_end() => bail!("interrupted"),
        },
        Action::PrintCompletions(matches) => completions::print(&matches).map(|()| true),
        Action::Complete(matches) => completions::complete(&matches, target::command()).await,
        Action::Inspect(request) => tokio::select! {
            fine = inspect::run(&request, target) => fine,
            () = signals::wanted_to_end() => bail!("interrupted"),
        },
        Action::Install(request) => tokio::select! {
            done = install::run(&request, target) => done,
            () = signals::wanted_to_end() => bail!("interrupted"),
        },
        Action::Edit => install::edit::run().map(|()| true),
        Action::Relay => {
            let project = project_of(&target)?;
            relay::run(target, project).await.map(|()| true)
        }
        Action::Page(options) => serve_page(options, target).await.map(|()| true),
    }
}

fn project_of(target: &Target) -> Result<Option<project::Project>> {
    match target {
        Target::Project(selection) => project::Project::find(selection).map(Some),
        Target::Command(_) | Target::Url { .. } => Ok(None),
    }
}

/// Serves the page until a signal ends the program.
async fn serve_page(options: PageOptions, target: Target) -> Result<()> {
    let project = project_of(&target)?;
    let name = project
        .as_ref()
        .map_or_else(|| target.to_string(), |project| project.name().to_owned());

    let listener = TcpListener::bind(("127.0.0.1", options.port))
        .await
        .with_context(|| format!("cannot listen on 127.0.0.1:{}", options.port))?;
    let port = listener.local_addr()?.port();
    let token = web::Token::new()?;
    let url = format!("http://127.0.0.1:{port}/#{token}");

    let hub = Arc::new(Hub::new(&name, project.is_some()));
    if let Some(path) = &options.record {
        hub.record_to(recording::Recorder::new(path, Some(&target))?);
    }
    let engine = Arc::new(Engine::new(Arc::clone(&hub)));
    eprintln!("{name}: {url}");
    if !options.no_open && open::that_detached(&url).is_err() {
        eprintln!("Could not start a browser. Open the URL above.");
    }

    tokio::spawn({
        let hub = Arc::clone(&hub);
        async move { hub.keep_counted().await }
    });
    let building = project.map(|project| {
        let engine = Arc::clone(&engine);
        tokio::spawn(project::keep_built(project, engine))
    });
    if building.is_none() {
        engine.replace(target, "").await;
    }
    let result = tokio::select! {
        result = web::serve(listener, port, token, Arc::clone(&engine)) => result,
        () = signals::wanted_to_end() => Ok(()),
    };
    if let Some(building) = building {
        // This also stops cargo and prevents further builds and server starts.
        building.abort();
        let _ = building.await;
    }
    tokio::select! {
        _ = engine.stop("mcp-dev ended") => {}
        // After a second signal, the program does not wait for servers to end on their own.
        () = signals::wanted_to_end() => {}
    }
    result
}
