//! `complete`: completes an argument of a prompt, or a variable of a resource template.

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value, json};

use crate::client::Listed;
use crate::server::command_line::arguments::arguments;
use crate::server::command_line::call::{given, name};
use crate::server::command_line::session::{Session, common, unknown};
use crate::server::command_line::{Outcome, print};

pub(super) fn command() -> Command {
    common(
        Command::new("complete")
            .about("Complete an argument of a prompt or a variable of a template"),
    )
    .arg(
        Arg::new("of")
            .value_name("PROMPT|TEMPLATE")
            .required(true)
            .help("The name of a prompt, or a URI template"),
    )
    .arg(
        Arg::new("argument")
            .value_name("ARGUMENT")
            .required(true)
            .help("What is being typed"),
    )
    .arg(
        Arg::new("partial")
            .value_name("TEXT")
            .default_value("")
            .help("What is typed so far"),
    )
    .arg(
        Arg::new("arguments")
            .value_name("NAME=VALUE")
            .num_args(0..)
            .help("Arguments given before"),
    )
}

pub(super) async fn run(session: &Session, matches: &ArgMatches) -> Outcome {
    let of = name(matches, "of");
    let prompts = session.client.list(Listed::Prompts).await?;
    let templates = session.client.list(Listed::Templates).await?;
    let reference = if prompts.iter().any(|prompt| prompt["name"] == of) {
        json!({"type": "ref/prompt", "name": of})
    } else if templates
        .iter()
        .any(|template| template["uriTemplate"] == of)
    {
        json!({"type": "ref/resource", "uri": of})
    } else {
        let prompts = prompts.iter().filter_map(|prompt| prompt["name"].as_str());
        let templates = templates
            .iter()
            .filter_map(|template| template["uriTemplate"].as_str());
        return Err(unknown("prompt or template", of, prompts.chain(templates)).into());
    };
    let earlier = arguments(&given(matches), &Value::Null)?;
    let (argument, partial) = (name(matches, "argument"), name(matches, "partial"));
    let result = session
        .client
        .complete(reference, argument, partial, earlier)
        .await?;
    if session.json() {
        print::json(&result["completion"]);
        return Ok(true);
    }
    let values = result["completion"]["values"].as_array();
    let values: Vec<_> = values
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !values.is_empty() {
        print::line(&values.join("\n"));
    }
    Ok(true)
}
