//! Decides whether a call ended in a way that was promised.

use std::collections::BTreeSet;

use crate::calls::{CallRun, ENDED, STEPS};

/// Returns the promise that was not kept, if any.
pub(crate) fn judge(run: &CallRun) -> Option<String> {
    let scenario = run.scenario;
    // The run without deaths shows that nothing else leads to an error.
    if run.deaths.is_empty() && run.is_error {
        return Some(format!("it failed: {}", run.text));
    }
    if run.died + 1 < run.logs.len() {
        return Some("a process did not come by its seam".into());
    }
    for step in STEPS {
        let of_step: Vec<_> = run
            .done
            .iter()
            .filter(|line| line.ends_with(&format!(" {step}")))
            .collect();
        let calls: BTreeSet<_> = of_step.iter().collect();
        // With a key, all repeats are one call.
        let is_done_again = of_step.len() > calls.len() || scenario.has_key && of_step.len() > 1;
        if is_done_again && !scenario.may_repeat {
            return Some(format!("`{step}` was done again: {:?}", run.done));
        }
        if !run.is_error && of_step.is_empty() {
            return Some(format!("`{step}` was not done"));
        }
    }
    if !run.is_error {
        return (run.text != ENDED).then(|| format!("its result is {}", run.text));
    }
    let is_told = if scenario.has_key
        && run
            .text
            .contains("its outcome is unknown; it was not run again")
    {
        // The call had claimed its key, and its end was not recorded.
        run.dead().any(|log| has_begun(log, "call"))
            && !run.dead().any(|log| has(log, "after complete end 1"))
    } else {
        // A step has begun in the same call, and its end was not recorded.
        STEPS.iter().any(|step| {
            run.text
                .contains(&format!("`{step}` in this call was started before"))
                && run.dead().any(|log| {
                    has_begun(log, step) && !has(log, &format!("after complete {step} 1"))
                })
        })
    };
    (!is_told).then(|| format!("it failed: {}", run.text))
}

impl CallRun {
    /// Returns the seams that each process that has died has passed.
    fn dead(&self) -> impl Iterator<Item = &Vec<String>> {
        self.logs.iter().take(self.died)
    }
}

fn has(log: &[String], seam: &str) -> bool {
    log.iter().any(|passed| passed == seam)
}

/// Returns `true` if a process may have begun this entry in the store: it has gone on after the seam before it.
fn has_begun(log: &[String], entry: &str) -> bool {
    let seam = format!("before begin {entry} 1");
    log.iter().rev().skip(1).any(|passed| *passed == seam)
}
