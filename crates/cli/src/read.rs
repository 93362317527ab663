//! `read`: reads a resource.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_core::context::Capability;
use serde_json::{Value, json};

use crate::call::argument_text;
use crate::print;
use crate::session::{CommandError, CommandResult, CommandSession, with_answer_options};

pub(super) fn command() -> Command {
    with_answer_options(Command::new("read").about("Read a resource"))
        .arg(
            Arg::new("uri")
                .value_name("URI")
                .required(true)
                .help("The URI of a resource, or one that matches a template"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FILE")
                .value_parser(clap::value_parser!(OsString))
                .conflicts_with("json")
                .help("Write the contents to this new file, bytes as they are"),
        )
        .arg(
            Arg::new("force")
                .long("force")
                .action(ArgAction::SetTrue)
                .requires("output")
                .help("Overwrite the file"),
        )
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    if !session.client.server_offers(Capability::Resources) {
        return Err(CommandError::Failed(
            "the server has no resources".to_owned(),
        ));
    }
    let params = json!({"uri": argument_text(matches, "uri")});
    let result = session.call("resources/read", params).await?;
    if let Some(file) = matches.get_one::<OsString>("output") {
        let bytes = bytes_of(&result)?;
        write_file(file.as_ref(), &bytes, matches.get_flag("force"))?;
        let file = file.to_string_lossy();
        print::line(&format!("Wrote {} bytes to {file}", bytes.len()));
        return Ok(true);
    }
    if session.prints_json() {
        print::json(&result);
        return Ok(true);
    }
    for contents in result["contents"].as_array().into_iter().flatten() {
        print::line(&print::content(contents));
    }
    Ok(true)
}

/// Returns the bytes of a result's contents, which a file can hold only if there is one of them.
fn bytes_of(result: &Value) -> Result<Vec<u8>, String> {
    let contents = result["contents"].as_array().map_or(&[][..], Vec::as_slice);
    let [contents] = contents else {
        return Err(format!(
            "the resource has {} contents, and a file holds only one; read them with `--json`",
            contents.len()
        ));
    };
    match (contents["text"].as_str(), contents["blob"].as_str()) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(blob)) => {
            let bytes = BASE64_STANDARD.decode(blob);
            bytes.map_err(|error| format!("the contents are not base64: {error}"))
        }
        (None, None) => Err("the contents are neither text nor bytes".to_owned()),
    }
}

/// Writes a file, which must not exist unless it may be overwritten.
fn write_file(path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), String> {
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{} exists; overwrite it with `--force`", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    })
}
