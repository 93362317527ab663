//! `check`: reports definitions that clients or models reject, and changes that break clients. Suitable for both
//! interactive use and CI.

mod apps;
mod lint;
#[cfg(feature = "skills")]
mod skills;

use std::fs;

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_schema::model_rules::Severity;
use serde_json::{Value, json};

use crate::client::surface::{Surface, SurfaceChange, compare_surfaces};
use crate::context::Capability;
use crate::server::command_line::check::lint::Lint;
use crate::server::command_line::check::lint::{TokenCost, token_costs, total};
use crate::server::command_line::print;
use crate::server::command_line::session::{CommandResult, CommandSession, with_common_options};

pub(super) fn command() -> Command {
    with_common_options(
        Command::new("check")
            .about("Check for problems with clients and models")
            .long_about(
                "Checks for names and schemas that clients or models reject, and for changes that break clients.\n\n\
                 Exits with status 1 if a client or model rejects something, or if a change breaks clients.",
            ),
    )
    .arg(
        Arg::new("surface")
            .long("surface")
            .value_name("FILE")
            .help("Compare the server with this saved file"),
    )
    .arg(
        Arg::new("save")
            .long("save")
            .action(ArgAction::SetTrue)
            .requires("surface")
            .help("Save the current server to that file after comparing"),
    )
    .arg(
        Arg::new("strict")
            .long("strict")
            .action(ArgAction::SetTrue)
            .help("Exit with status 1 for advice too"),
    )
}

pub(super) async fn run(session: &CommandSession, matches: &ArgMatches) -> CommandResult {
    let surface = Surface::of(&session.client)?;
    // With a tool search, the list contains only some of the tools; the server may also add tools of its own.
    let listed = session.client.fetch_list(Capability::Tools).await?;
    let costs = token_costs(&listed);
    let mut findings = lint::lint(&surface, &costs);
    findings.extend(apps::lint(&session.client, &surface).await);
    #[cfg(feature = "skills")]
    findings.extend(skills::lint(&session.client).await?);
    let file = matches.get_one::<String>("surface").map(String::as_str);
    let saves = matches.get_flag("save");
    let differences = match file {
        Some(file) => compare_with_file(file, &surface, saves)?,
        None => Vec::new(),
    };
    if let (Some(file), true) = (file, saves) {
        fs::write(file, surface.to_text()).map_err(|error| format!("{file}: {error}"))?;
    }
    if session.prints_json() {
        let mut report = json_report(&surface, &costs, &findings, &differences);
        report["secretVariables"] = json!(session.secret_variables);
        print::json(&report);
    } else {
        print::line(&text_report(&surface, &costs, &findings, &differences));
    }
    let is_fine =
        |finding: &Lint| finding.severity == Severity::Advice && !matches.get_flag("strict");
    // Saving the surface accepts the changes.
    let breaks = !saves && differences.iter().any(|change| change.is_breaking);
    Ok(findings.iter().all(is_fine) && !breaks)
}

/// Returns the changes since the file was saved.
fn compare_with_file(
    file: &str,
    surface: &Surface,
    saves: bool,
) -> Result<Vec<SurfaceChange>, String> {
    let before = match fs::read_to_string(file) {
        Ok(before) => before,
        Err(error) if saves && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(format!("{file}: {error}; create it with `--save`")),
    };
    match Surface::parse(&before) {
        Ok(before) => Ok(compare_surfaces(&before, surface)),
        Err(error) => Err(format!("{file} is not a saved surface: {error}")),
    }
}

/// Maximum number of tools whose tokens are printed. The JSON output contains all of them.
const MAX_COSTS: usize = 10;

fn text_report(
    surface: &Surface,
    costs: &[TokenCost<'_>],
    findings: &[Lint],
    differences: &[SurfaceChange],
) -> String {
    let counts: Vec<_> = [
        (Capability::Tools, "tool"),
        (Capability::Prompts, "prompt"),
        (Capability::Resources, "resource"),
        (Capability::Templates, "template"),
    ]
    .into_iter()
    .map(|(list, word)| match surface.items(list).len() {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    })
    .collect();
    let total = total(costs);
    let counts = counts.join(", ");
    let listed = costs.len();
    let tools = if listed == surface.items(Capability::Tools).len() {
        "the tools".to_owned()
    } else {
        format!("the {listed} tools that models read")
    };
    let mut lines = vec![format!(
        "{counts}; {tools} use about {total} tokens of a model's context"
    )];
    if !costs.is_empty() {
        let largest = costs.iter().take(MAX_COSTS);
        let largest: Vec<_> = largest
            .map(|cost| format!("{} {}", cost.tool, cost.tokens))
            .collect();
        let more = match costs.len().saturating_sub(largest.len()) {
            0 => String::new(),
            more => format!(", and {more} more tools"),
        };
        lines.push(format!("tokens by tool: {}{more}", largest.join(", ")));
    }
    lines.extend(findings.iter().map(Lint::to_string));
    lines.extend(differences.iter().map(SurfaceChange::to_string));
    if findings.is_empty() && differences.is_empty() {
        lines.push("no problems found".to_owned());
    }
    lines.join("\n")
}

fn json_report(
    surface: &Surface,
    costs: &[TokenCost<'_>],
    findings: &[Lint],
    differences: &[SurfaceChange],
) -> Value {
    let found = |one: &Lint| {
        json!({
            "severity": one.severity.as_str(),
            "at": one.at,
            "text": one.text,
            "source": one.source,
        })
    };
    let difference = |one: &SurfaceChange| json!({"breaking": one.is_breaking, "text": one.text});
    let cost = |one: &TokenCost<'_>| json!({"tool": one.tool, "tokens": one.tokens});
    let mut report = json!({"tokens": total(costs)});
    report["tokensByTool"] = costs.iter().map(cost).collect();
    for list in Capability::ALL {
        report[list.member()] = surface.items(list).len().into();
    }
    report["findings"] = findings.iter().map(found).collect();
    report["changes"] = differences.iter().map(difference).collect();
    report
}
