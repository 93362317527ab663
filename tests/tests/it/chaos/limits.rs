//! Limits, and tests that cannot work.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_runtime::server::Selected;

use super::*;

/// Always fails.
#[tool(tags("chaos"))]
fn fails() -> Result<()> {
    bail!("it does not work")
}

fn panic_of(f: impl FnOnce() -> ChaosReport) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_call_that_cannot_succeed_fails_the_test() {
    let panic = panic_of(|| chaos().call("fails", json!({})));
    assert!(
        panic.contains("without any disruption: the call fails"),
        "{panic}"
    );
    assert!(panic.contains("it does not work"), "{panic}");
}

#[test]
fn an_elicitation_without_an_answer_fails_the_test() {
    let without = Chaos::new(World::new, |world| {
        new_server!()
            .only(Selected::tag("chaos"))
            .state(world.clone())
    });
    let panic = panic_of(|| without.call("asks_only", json!({})));
    assert!(
        panic.contains("no answer to `elicitation/create`"),
        "{panic}"
    );
}

#[test]
fn the_number_of_histories_is_bounded() {
    let report = chaos().histories(10).call("charges", json!({}));
    assert_eq!(report.histories(), 10);
    assert!(report.to_string().contains("were not tried"), "{report}");
    assert!(report.faults().is_empty());
    let panic = panic_of(|| {
        report.assert_no_faults();
        report.clone()
    });
    assert!(panic.contains("set `.histories(…)` to at least"), "{panic}");
}

// A client that repeats a lost call makes a second call.
#[test]
fn a_lost_call_is_repeated_on_demand() {
    let report = chaos().repeat_lost_calls().call("charges", json!({}));
    assert_eq!(kinds(&report), [FaultKind::RepeatedEffect], "{report}");
}
