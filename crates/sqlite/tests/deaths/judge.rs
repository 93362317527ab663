//! Decides whether a task ended in a way that was promised.

use mcp_runtime::backend::{StoredTask, TaskOutcome, TaskStatus};
use mcp_runtime::serde_json::{Value, from_str};

use crate::tools::{Kind, Tool};

/// The outcome of a task.
#[derive(Default)]
pub(crate) struct Verdict {
    /// Number of times that each step was done.
    pub(crate) done: Vec<usize>,
    /// The step in which the task says that a process died, if any.
    pub(crate) told: Option<&'static str>,
    /// `true` if a step that may be repeated was done more than once.
    pub(crate) has_repeated: bool,
    /// `true` if a step that should be done at most once was done more often.
    pub(crate) has_doubled: bool,
    /// The promise that was not kept, if any.
    pub(crate) problem: Option<String>,
}

/// Judges a task by the steps that were done, and by the seams that each of its processes passed.
pub(crate) fn judge(
    tool: &'static Tool,
    task: &StoredTask,
    done: &[String],
    logs: &[Vec<String>],
) -> Verdict {
    let (text, is_error) = match &task.outcome {
        Some(TaskOutcome::Result { json, is_error }) => {
            let result: Value = from_str(json).unwrap_or_default();
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            (text.to_owned(), *is_error)
        }
        other => (format!("{other:?}"), true),
    };
    let mut verdict = Verdict::default();
    let mut problems = Vec::new();
    for (step, kind) in tool.steps {
        let times = done.iter().filter(|line| line == step).count();
        verdict.done.push(times);
        let may_repeat = *kind != Kind::Once;
        verdict.has_repeated |= may_repeat && times > 1;
        if times > 1 && !may_repeat {
            verdict.has_doubled = true;
            problems.push(format!("`{step}` was done {times} times"));
        }
        if !is_error && times == 0 && *kind != Kind::Failing {
            problems.push(format!("`{step}` was not done"));
        }
    }
    if task.status != TaskStatus::Completed {
        problems.push(format!("it is {:?}: {:?}", task.status, task.message));
    } else if is_error {
        // An error must name a step that is done at most once and in which a process died.
        let told = tool.steps.iter().find(|(step, kind)| {
            let is_named = text.contains(&format!("`{step}` in this call was started before"));
            is_named && *kind == Kind::Once
        });
        verdict.told = told.map(|(step, _)| *step);
        let was_cut_off = |step| logs.iter().any(|log| was_cut_off(log, step));
        if !verdict.told.is_some_and(was_cut_off) {
            problems.push(format!("it failed: {text}"));
        }
    } else if text != (tool.text)() {
        problems.push(format!("its result is {text:.100}"));
    }
    verdict.problem = (!problems.is_empty()).then(|| problems.join("; "));
    verdict
}

/// Returns `true` if a process may have begun a step without recording its end.
fn was_cut_off(log: &[String], step: &str) -> bool {
    let begun = format!("before begin {step}");
    let starts = log.iter().enumerate().filter(|(_, seam)| **seam == begun);
    let mut starts = starts.map(|(index, _)| index).peekable();
    while let Some(start) = starts.next() {
        let end = starts.peek().copied().unwrap_or(log.len());
        let rest = log.get(start + 1..end).unwrap_or_default();
        let has_ended = ["after complete", "after abandon", "after replay"]
            .iter()
            .any(|seam| rest.contains(&format!("{seam} {step}")));
        // If this is the last seam, the process died there and has not begun the step.
        if !has_ended && start + 1 < log.len() {
            return true;
        }
    }
    false
}
