//! `complete`: completes a prompt argument or a resource template variable.

use clap::{Arg, ArgMatches, Command};
use mcp_core::context::Capability;
use mcp_schema::template::UriTemplate;
use serde_json::{Value, json};

use crate::arguments::parse_arguments;
use crate::call::{argument_text, given_arguments};
use crate::print;
use crate::session::{CommandResult, CommandSession, unknown_name_message, with_common_options};

pub(super) fn command() -> Command {
    with_common_options(
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
            .help("The argument or variable to complete"),
    )
    .arg(
        Arg::new("partial")
            .value_name("TEXT")
            .default_value("")
            .help("The text typed so far"),
    )
    .arg(
        Arg::new("arguments")
            .value_name("NAME=VALUE")
            .num_args(0..)
            .help("Other arguments, for completers that depend on them"),
    )
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    let of = argument_text(matches, "of");
    let prompts = session.client.fetch_list(Capability::Prompts).await?;
    let templates = session.client.fetch_list(Capability::Templates).await?;
    let mut takes = Vec::new();
    let reference = if let Some(prompt) = prompts.iter().find(|prompt| prompt["name"] == of) {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        takes.extend(arguments.filter_map(|argument| Some(argument["name"].as_str()?.to_owned())));
        json!({"type": "ref/prompt", "name": of})
    } else if let Some(uri_template) = templates
        .iter()
        .find(|template| template["uriTemplate"] == of || template["name"] == of)
        .and_then(|template| template["uriTemplate"].as_str())
    {
        let template = UriTemplate::parse(uri_template);
        takes.extend(
            template
                .iter()
                .flat_map(|template| template.variables().to_vec()),
        );
        json!({"type": "ref/resource", "uri": uri_template})
    } else {
        let prompts = prompts.iter().filter_map(|prompt| prompt["name"].as_str());
        let templates = templates
            .iter()
            .filter_map(|template| template["uriTemplate"].as_str());
        return Err(
            unknown_name_message("prompt or template", of, prompts.chain(templates)).into(),
        );
    };
    let earlier = parse_arguments(&given_arguments(matches), &Value::Null)?;
    let (argument, partial) = (
        argument_text(matches, "argument"),
        argument_text(matches, "partial"),
    );
    if !takes.iter().any(|name| name == argument) {
        let takes = takes.iter().map(String::as_str);
        return Err(unknown_name_message("argument", argument, takes).into());
    }
    takes.retain(|name| name != argument && earlier.get(name).is_none());
    let result = session
        .client
        .complete(reference, argument, partial, earlier)
        .await?;
    if session.prints_json() {
        print::json(&result["completion"]);
        return Ok(true);
    }
    let values = result["completion"]["values"].as_array();
    let values: Vec<_> = values
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if values.is_empty() {
        print::line(&no_candidates_message(&takes));
    } else {
        print::line(&values.join("\n"));
    }
    Ok(true)
}

/// Returns the message to print if there are no candidates. The message lists the arguments that were not given,
/// because the completer may depend on them.
fn no_candidates_message(not_given: &[String]) -> String {
    if not_given.is_empty() {
        return "no candidates".to_owned();
    }
    let others: Vec<_> = not_given.iter().map(|name| format!("{name}=…")).collect();
    format!("no candidates; the completer may need {}", others.join(" "))
}
