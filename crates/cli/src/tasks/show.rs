//! Shows a task; what the task commands share.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, SystemTime};

use clap::{Arg, ArgMatches};
use mcp_stores::{StoredTask, TaskDetails, TaskId, TaskOutcome, TaskStatus, TaskStore, timestamp};
use serde_json::{Map, Value, json};

use crate::print;
use crate::print::Style;
use crate::session::{CommandError, CommandResult};
use crate::tasks::list;

pub(super) async fn run(store: &dyn TaskStore, id: &TaskId, json: bool) -> CommandResult {
    let details = store.inspect(id).await.map_err(unavailable)?;
    let mut details = details.ok_or_else(|| unknown(id))?;
    details.steps.sort();
    if json {
        print::json(&details_object(&details));
    } else {
        let stdout = io::stdout();
        let styled = |name: &str| print::styled(name, Style::Aside, &stdout);
        print::styled_line(&task_text(&details, SystemTime::now(), styled));
    }
    Ok(true)
}

fn details_object(details: &TaskDetails) -> Value {
    let mut members = task_object(&details.task);
    let due_in = details.due_in.map(|due_in| due_in.as_millis());
    let due_in = due_in.and_then(|due_in| u64::try_from(due_in).ok());
    members.insert("dueInMs".to_owned(), due_in.into());
    let steps = details.steps.iter();
    let steps = steps.map(|step| json!({"name": step.name, "isDone": step.is_done}));
    members.insert("steps".to_owned(), steps.collect());
    Value::Object(members)
}

/// Describes a task for people. `styled` applies the style to names.
fn task_text(details: &TaskDetails, now: SystemTime, styled: impl Fn(&str) -> String) -> String {
    let task = &details.task;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{} {value}", styled(&format!("{name:9}")));
    };
    line("task", task.id.as_str());
    line("tool", &print::visible(&task.tool));
    let message = task.message.as_deref().map(print::visible);
    let message = message.map_or_else(String::new, |message| format!(": {message}"));
    line("status", &format!("{}{message}", status(task)));
    let owner = match &*task.owner {
        "" => "(anonymous)".to_owned(),
        owner => print::visible(owner),
    };
    line("owner", &owner);
    let ago = |time: SystemTime| {
        let ago = list::write(now.duration_since(time).unwrap_or_default());
        format!("{} ({ago} ago)", timestamp(time))
    };
    line("created", &ago(task.created_at));
    line("changed", &ago(task.updated_at));
    line("expires", &format!("in {}", list::write(left(task, now))));
    line("attempts", &attempts(details));
    if let Some(due_in) = details.due_in {
        let lease = match due_in {
            Duration::ZERO => "none; the task is due".to_owned(),
            left => format!("lapses in {}", list::write(left)),
        };
        line("lease", &lease);
    }
    if let Some(outcome) = &task.outcome {
        line("outcome", outcome_name(outcome));
    }
    for (number, step) in details.steps.iter().enumerate() {
        let is_running = task.status == TaskStatus::Working && !step.is_done;
        let end = match (step.is_done, is_running) {
            (true, _) => "done",
            (false, true) => "begun",
            (false, false) => "begun; outcome unknown",
        };
        let name = if number == 0 { "steps" } else { "" };
        line(name, &format!("{}  {end}", print::visible(&step.name)));
    }
    if task.can_be_retried() {
        line("retry", "`tasks retry` lets it run again");
    }
    text
}

fn attempts(details: &TaskDetails) -> String {
    let task = &details.task;
    if u64::from(task.tries) == task.attempt {
        return task.attempt.to_string();
    }
    format!(
        "{}, of which {} count since it was created, asked or was retried",
        task.attempt, task.tries
    )
}

// --- A task as operators see it: without arguments, answers and results, which can contain secrets.

/// Returns the time since a task was created.
pub(super) fn age(task: &StoredTask, now: SystemTime) -> Duration {
    now.duration_since(task.created_at).unwrap_or_default()
}

/// Returns the time until a task expires.
pub(super) fn left(task: &StoredTask, now: SystemTime) -> Duration {
    task.ttl.saturating_sub(age(task, now))
}

/// Returns a task's status. A task whose tool reported a failure counts as failed, as it does for 2025-11-25 clients.
pub(super) fn status(task: &StoredTask) -> &'static str {
    if task.has_failed() {
        TaskStatus::Failed.as_str()
    } else {
        task.status.as_str()
    }
}

/// Describes a task for programs.
pub(super) fn task_object(task: &StoredTask) -> Map<String, Value> {
    let mut members = Map::new();
    let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
    add("taskId", task.id.as_str().into());
    add("tool", (*task.tool).into());
    add("status", status(task).into());
    if let Some(message) = &task.message {
        add("statusMessage", (**message).into());
    }
    add("owner", (*task.owner).into());
    add("createdAt", timestamp(task.created_at).into());
    add("lastUpdatedAt", timestamp(task.updated_at).into());
    let expires = task.created_at.checked_add(task.ttl);
    add("expiresAt", expires.map(timestamp).into());
    add("attempts", task.attempt.into());
    add("tries", task.tries.into());
    if let Some(outcome) = &task.outcome {
        add("outcome", json!(outcome_name(outcome)));
    }
    add("canBeRetried", task.can_be_retried().into());
    members
}

/// Returns the kind of a task's outcome.
const fn outcome_name(outcome: &TaskOutcome) -> &'static str {
    match outcome {
        TaskOutcome::Result {
            is_error: false, ..
        } => "result",
        TaskOutcome::Result { .. } => "failure of the tool",
        TaskOutcome::Error { .. } => "protocol error",
    }
}

// --- Arguments and errors that the task commands share.

pub(super) fn owner() -> Arg {
    Arg::new("owner")
        .long("owner")
        .value_name("CALLER")
        .help("The key of the caller, as listed; an empty string for anonymous callers")
}

pub(super) fn text<'m>(matches: &'m ArgMatches, name: &str) -> Option<&'m str> {
    matches.get_one::<String>(name).map(String::as_str)
}

pub(super) fn id(matches: &ArgMatches) -> Result<TaskId, CommandError> {
    let text = text(matches, "id").unwrap_or_default();
    TaskId::parse(text).ok_or_else(|| unknown(text))
}

pub(super) fn unknown(id: impl std::fmt::Display) -> CommandError {
    format!("there is no task `{id}`, or its time to live has ended").into()
}

#[allow(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn unavailable(error: Box<dyn std::error::Error + Send + Sync>) -> CommandError {
    format!("the task store failed: {error}").into()
}

#[cfg(test)]
mod tests {
    use mcp_stores::{NewTask, StoredTask, TaskChange, TaskOutcome, TaskStep};

    use crate::tasks::show::*;

    #[test]
    fn showing_a_task_hides_its_arguments_answers_and_results() {
        let mut new = NewTask::new("alice", "import");
        new.call = "SECRET".into();
        new.state = "SECRET".into();
        let now = SystemTime::now();
        let mut task = StoredTask::created(&new, now);
        let json = "{\"SECRET\":1}".into();
        let outcome = TaskOutcome::Error { json };
        let failed = TaskChange::to(TaskStatus::Failed).message("it \u{1b}[2J broke");
        task.apply(failed.outcome(outcome), now);
        let steps = vec![TaskStep::new("pay", false), TaskStep::new("post", true)];
        let details = TaskDetails::new(task, None, steps);
        let later = now + Duration::from_secs(125);
        let shown = task_text(&details, later, str::to_owned);
        for expected in [
            "status    failed: it \\u{1b}[2J broke\n",
            "owner     alice\n",
            " (2m 5s ago)\n",
            "expires   in 57m 55s\n",
            "attempts  1\n",
            "outcome   protocol error\n",
            "steps     pay  begun; outcome unknown\n",
            "          post  done\n",
            "retry     ",
        ] {
            assert!(shown.contains(expected), "{shown}");
        }
        let printed = details_object(&details);
        assert_eq!(printed["canBeRetried"], true);
        assert_eq!(printed["steps"][0], json!({"name": "pay", "isDone": false}));
        assert!(!shown.contains("SECRET") && !printed.to_string().contains("SECRET"));
    }
}
