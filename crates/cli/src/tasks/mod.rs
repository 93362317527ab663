//! `tasks`: lists the tasks in the server's store; inspects, retries or cancels one; and deletes a caller's tasks.
//!
//! The server does not start: the commands only use its store, usually alongside the process that serves.

mod change;
mod list;
mod show;

use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_stores::TaskStore;

use crate::session::{CommandError, CommandResult};
use crate::tasks::show::{id, owner, text};

/// The name of the command.
pub(super) const NAME: &str = "tasks";

pub(super) fn command() -> Command {
    let id = Arg::new("id").value_name("ID").required(true);
    let show = Command::new("show")
        .about("Show a task: its status, times, lease and steps")
        .arg(id.clone().help("The task's id"));
    let retry = Command::new("retry")
        .about("Let a failed task run again")
        .long_about(
            "Lets a failed task run again, with the answers and step results that it already has. The next process that \
             is free continues it.\n\nA step that was begun by an attempt that died before the step ended is not run \
             again, because nobody knows how far it got. Once you know that it was not done, name it with `--not-done`.",
        )
        .arg(id.clone().help("The task's id"))
        .arg(
            Arg::new("not-done")
                .long("not-done")
                .value_name("STEP")
                .help("A step that was started but not finished, and can run again"),
        );
    let cancel = Command::new("cancel")
        .about("Cancel a task that has not ended")
        .long_about(
            "Cancels a task that has not ended. A process that is running it sees this when it renews its lease, within a \
             third of `limits.tasks.lease`.",
        )
        .arg(id.help("The task's id"));
    let delete = Command::new("delete")
        .about("Delete all tasks of a caller, whatever their status")
        .arg(owner().required(true));
    Command::new(NAME)
        .about("List, inspect, retry and cancel tasks")
        .long_about(
            "Lists the tasks in the server's store, oldest first. Arguments, answers and results are never printed.\n\nThe \
             server must keep its tasks in a store that other processes can use, such as a file or Redis.",
        )
        .args_conflicts_with_subcommands(true)
        .args(list::arguments())
        .subcommands([show, retry, cancel, delete].map(with_json))
        .arg(json())
}

fn json() -> Arg {
    Arg::new("json")
        .long("json")
        .action(ArgAction::SetTrue)
        .help("Print JSON, for programs")
}

fn with_json(command: Command) -> Command {
    command.arg(json())
}

pub(super) async fn run(
    task_store: Option<Arc<dyn TaskStore>>,
    before: &ArgMatches,
    matches: &ArgMatches,
) -> CommandResult {
    let store = outliving(task_store)?;
    let has_json = |matches: &ArgMatches| matches.get_flag("json");
    let json = has_json(before) || has_json(matches);
    let Some((name, after)) = matches.subcommand() else {
        return list::run(&*store, matches, json).await;
    };
    let json = json || has_json(after);
    match name {
        "show" => show::run(&*store, &id(after)?, json).await,
        "retry" => change::retry(&*store, &id(after)?, text(after, "not-done"), json).await,
        "cancel" => change::cancel(&*store, &id(after)?, json).await,
        _ => change::delete(&*store, text(after, "owner").unwrap_or_default(), json).await,
    }
}

/// Returns the server's store if other processes can use it.
fn outliving(store: Option<Arc<dyn TaskStore>>) -> Result<Arc<dyn TaskStore>, CommandError> {
    let store = store.filter(|store| store.outlives_process());
    store.ok_or_else(|| {
        "the server keeps its tasks in memory, so only the process that serves can see them. Set a backend whose tasks \
         outlive the process, such as SQLite or Redis"
            .to_owned()
            .into()
    })
}
