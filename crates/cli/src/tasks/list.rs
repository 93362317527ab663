//! Lists tasks.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, SystemTime};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use mcp_stores::{StoredTask, TaskOutcome, TaskStatus, TaskStore};
use serde_json::{Value, json};

use crate::print;
use crate::session::{CommandError, CommandResult};
use crate::tasks::show;
use crate::tasks::show::{owner, text, unavailable};

/// Number of tasks read from the store at a time.
const TASKS_PER_READ: usize = 500;

/// Maximum number of characters of a message that are shown in a table row.
const MAX_MESSAGE: usize = 60;

const STATUSES: [TaskStatus; 5] = [
    TaskStatus::Working,
    TaskStatus::InputRequired,
    TaskStatus::Completed,
    TaskStatus::Failed,
    TaskStatus::Cancelled,
];

pub(super) fn arguments() -> [Arg; 4] {
    let status = Arg::new("status")
        .long("status")
        .value_name("STATUS")
        .action(ArgAction::Append)
        .value_parser(PossibleValuesParser::new(STATUSES.map(TaskStatus::as_str)))
        .help("Only tasks with this status; may be repeated");
    let tool = Arg::new("tool")
        .long("tool")
        .value_name("NAME")
        .help("Only tasks of this tool");
    let older_than = Arg::new("older-than")
        .long("older-than")
        .value_name("AGE")
        .value_parser(read)
        .help("Only tasks that are older than this, such as `90s`, `15m`, `2h` or `3d`");
    [status, tool, owner(), older_than]
}

/// The tasks to list.
struct TaskFilter<'m> {
    statuses: Vec<&'m str>,
    tool: Option<&'m str>,
    owner: Option<&'m str>,
    older_than: Duration,
}

impl<'m> TaskFilter<'m> {
    fn read(matches: &'m ArgMatches) -> Self {
        let statuses = matches.get_many::<String>("status");
        let older_than = matches.get_one::<Duration>("older-than");
        Self {
            statuses: statuses.into_iter().flatten().map(String::as_str).collect(),
            tool: text(matches, "tool"),
            owner: text(matches, "owner"),
            older_than: older_than.copied().unwrap_or_default(),
        }
    }

    fn selects(&self, task: &StoredTask, now: SystemTime) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&show::status(task)))
            && self.tool.is_none_or(|tool| *task.tool == *tool)
            && self.owner.is_none_or(|owner| *task.owner == *owner)
            && show::age(task, now) >= self.older_than
    }
}

pub(super) async fn run(store: &dyn TaskStore, matches: &ArgMatches, json: bool) -> CommandResult {
    let now = SystemTime::now();
    let tasks = all(store, &TaskFilter::read(matches), now).await?;
    if json {
        let tasks = tasks
            .iter()
            .map(|task| Value::Object(show::task_object(task)));
        print::json(&tasks.collect());
        return Ok(true);
    }
    let rows: Vec<_> = tasks.iter().map(|task| row(task, now)).collect();
    let stdout = io::stdout();
    let table = print::table(&Value::Array(rows), usize::MAX / 2, |text, style| {
        print::styled(text, style, &stdout)
    });
    print::styled_line(&table.unwrap_or_else(|| "none".to_owned()));
    Ok(true)
}

/// Returns the selected tasks, oldest first.
async fn all(
    store: &dyn TaskStore,
    filter: &TaskFilter<'_>,
    now: SystemTime,
) -> Result<Vec<StoredTask>, CommandError> {
    let (mut tasks, mut cursor) = (Vec::<StoredTask>::new(), None::<String>);
    let mut seen = HashSet::new();
    loop {
        let page = store.list_all(cursor.as_deref(), TASKS_PER_READ).await;
        let page = page.map_err(unavailable)?;
        let page = page.ok_or_else(|| "the task store lost its place; try again".to_owned())?;
        for task in page.tasks {
            if filter.selects(&task, now) && seen.insert(task.id.clone()) {
                tasks.push(without_texts(task));
            }
        }
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    // The sort is stable, so tasks created at the same moment stay in the store's order.
    tasks.sort_by_key(|task| task.created_at);
    Ok(tasks)
}

/// Returns a task without the contents that are not listed, because there can be many tasks.
fn without_texts(mut task: StoredTask) -> StoredTask {
    task.state = "".into();
    if let Some(TaskOutcome::Result { json, .. } | TaskOutcome::Error { json }) = &mut task.outcome
    {
        *json = "".into();
    }
    task
}

fn row(task: &StoredTask, now: SystemTime) -> Value {
    let message = task.message.as_deref().map(|message| {
        let shown = print::visible(message);
        match shown.char_indices().nth(MAX_MESSAGE) {
            Some((end, _)) => format!("{}…", &shown[..end]),
            None => shown,
        }
    });
    json!({
        "task": task.id.as_str(),
        "tool": print::visible(&task.tool),
        "status": show::status(task),
        "owner": match &*task.owner {
            "" => "(anonymous)".to_owned(),
            owner => print::visible(owner),
        },
        "age": write(show::age(task, now)),
        "attempts": task.attempt,
        "message": message,
    })
}

// --- Durations as people write and read them.

/// The units, largest first, with their lengths in seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Reads a duration such as `90s`, `15m`, `2h` or `3d`.
pub(super) fn read(text: &str) -> Result<Duration, String> {
    let invalid = || format!("`{text}` is not a duration such as `90s`, `15m`, `2h` or `3d`");
    let unit = text.chars().last().ok_or_else(invalid)?;
    let (_, seconds) = UNITS
        .into_iter()
        .find(|(known, _)| *known == unit)
        .ok_or_else(invalid)?;
    let number = text.strip_suffix(unit).unwrap_or_default();
    let number: u64 = number.parse().map_err(|_| invalid())?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// Writes a duration with its two largest units, such as `2h 5m`.
pub(super) fn write(duration: Duration) -> String {
    let mut left = duration.as_secs();
    let mut parts = Vec::new();
    for (unit, seconds) in UNITS {
        let number = left / seconds;
        left %= seconds;
        if number > 0 || (unit == 's' && parts.is_empty()) {
            parts.push(format!("{number}{unit}"));
        } else if !parts.is_empty() {
            break;
        }
        if parts.len() == 2 {
            break;
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    mod list {
        use mcp_stores::{MemoryTaskStore, NewTask};

        use crate::tasks::list::*;

        #[tokio::test]
        async fn tasks_are_selected_by_all_that_is_asked_for() {
            let store = MemoryTaskStore::default();
            for (owner, tool) in [("alice", "import"), ("bob", "import"), ("", "export")] {
                store.create(NewTask::new(owner, tool)).await.unwrap();
            }
            let everything = TaskFilter {
                statuses: Vec::new(),
                tool: None,
                owner: None,
                older_than: Duration::ZERO,
            };
            let now = SystemTime::now() + Duration::from_mins(1);
            let tasks = all(&store, &everything, now).await.unwrap();
            let selected = |filter: TaskFilter<'_>| {
                let selected = tasks.iter().filter(|task| filter.selects(task, now));
                let owners = selected.map(|task| format!("{};", task.owner));
                owners.collect::<String>()
            };
            let filter = || TaskFilter {
                statuses: vec!["working", "failed"],
                ..everything
            };
            assert_eq!(selected(filter()), "alice;bob;;");
            let tool = Some("import");
            assert_eq!(selected(TaskFilter { tool, ..filter() }), "alice;bob;");
            let owner = Some("");
            assert_eq!(selected(TaskFilter { owner, ..filter() }), ";");
            let statuses = vec!["failed"];
            assert_eq!(
                selected(TaskFilter {
                    statuses,
                    ..filter()
                }),
                ""
            );
            for (seconds, count) in [(30, 3), (3_600, 0)] {
                let older_than = Duration::from_secs(seconds);
                let filter = TaskFilter {
                    older_than,
                    ..filter()
                };
                let selected = tasks.iter().filter(|task| filter.selects(task, now));
                assert_eq!(selected.count(), count);
            }
        }
    }

    mod age {
        use crate::tasks::list::*;

        #[test]
        fn durations_have_a_number_and_a_unit() {
            for (text, seconds) in [
                ("0s", Some(0)),
                ("90s", Some(90)),
                ("15m", Some(900)),
                ("2h", Some(7_200)),
                ("3d", Some(259_200)),
                ("", None),
                ("5", None),
                ("m", None),
                ("-1m", None),
                ("1.5h", None),
                ("1w", None),
                ("5µ", None),
            ] {
                let expected = seconds.map(Duration::from_secs);
                assert_eq!(read(text).ok(), expected, "{text}");
            }
        }

        #[test]
        fn the_two_largest_units_are_written() {
            for (seconds, text) in [
                (0, "0s"),
                (59, "59s"),
                (60, "1m"),
                (61, "1m 1s"),
                (3_600, "1h"),
                (3_601, "1h"),
                (7_500, "2h 5m"),
                (90_061, "1d 1h"),
            ] {
                assert_eq!(write(Duration::from_secs(seconds)), text);
            }
        }
    }
}
