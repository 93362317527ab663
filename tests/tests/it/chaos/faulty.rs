//! Tools with planted faults, each of which is found in plain calls and in tasks.

use super::*;

/// Inserts a row outside any step.
#[tool(tags("chaos"), task)]
async fn inserts_outside(ctx: &Context, world: State<World>) -> Result<()> {
    world.insert("row").await;
    world.effects.record("insert");
    let _: Sure = ctx.elicit("Commit?").await?;
    ctx.once("charge", async || world.charge("A").await).await?;
    Ok(())
}

/// Inserts a row that nothing records.
#[tool(tags("chaos"), task)]
async fn inserts_silently(ctx: &Context, world: State<World>) -> Result<()> {
    world.insert("row").await;
    let _: Sure = ctx.elicit("Commit?").await?;
    Ok(())
}

/// Has a step whose name depends on the clock.
#[tool(tags("chaos"), task)]
async fn names_by_clock(ctx: &Context, world: State<World>) -> Result<()> {
    let key = format!("charge-{}", world.seconds());
    ctx.once(key, async || world.charge("A").await).await?;
    let _: Sure = ctx.elicit("Commit?").await?;
    Ok(())
}

/// Asks a question that depends on the clock.
#[tool(tags("chaos"), task)]
async fn asks_by_clock(ctx: &Context, world: State<World>) -> Result<()> {
    let message = format!("Commit at {} s?", world.seconds());
    let _: Sure = ctx.elicit(message).await?;
    ctx.once("charge", async || world.charge("A").await).await?;
    Ok(())
}

/// Goes on without a step that cannot be done again.
#[tool(tags("chaos"), task = required)]
async fn loses_a_step(ctx: &Context, world: State<World>) -> Result<()> {
    let charged = ctx.once("charge", async || world.charge("A").await);
    let _ = charged.await;
    Ok(())
}

/// Its only fault shows in tasks, because a plain call without questions runs once.
#[tool(tags("chaos"), task)]
async fn inserts_before(ctx: &Context, world: State<World>) -> Result<()> {
    world.effects.record("insert");
    ctx.once("charge", async || world.charge("A").await).await?;
    Ok(())
}

/// Returns the end of a location in this file: the line that contains the code, with its number.
fn place_of(code: &str) -> String {
    let source = include_str!("faulty.rs");
    let line = source.lines().position(|line| line.contains(code));
    format!("faulty.rs:{}", line.unwrap() + 1)
}

const OLD: &str = "a plain call of 2025-11-25";
const PLAIN: &str = "a plain call of 2026-07-28";
const TASKS: [&str; 2] = ["a task of 2025-11-25", "a task of 2026-07-28"];

/// Checks that the fault is found in exactly these ways of serving the tool. A plain call runs again from its start
/// once a question has been answered.
fn assert_found_as(report: &ChaosReport, kind: FaultKind, ways: &[&str]) {
    let fault = report.faults().iter().find(|fault| fault.kind() == kind);
    assert_eq!(fault.unwrap().served_as(), ways, "{report}");
}

fn message_of(report: &ChaosReport, kind: FaultKind) -> String {
    let fault = report.faults().iter().find(|fault| fault.kind() == kind);
    fault.map_or_else(|| panic!("{report}"), |fault| fault.message().to_owned())
}

#[test]
fn an_effect_outside_of_steps_is_found() {
    let report = tried(&chaos(), "inserts_outside");
    let message = message_of(&report, FaultKind::RepeatedEffect);
    assert_eq!(kinds(&report), [FaultKind::RepeatedEffect], "{report}");
    assert!(message.contains("`insert`"), "{message}");
    assert!(message.contains("outside any `once`"), "{message}");
    assert!(
        message.contains(&place_of("record(\"insert\")")),
        "{message}"
    );
    assert!(report.to_string().contains("seed 0"), "{report}");
    assert_found_as(
        &report,
        FaultKind::RepeatedEffect,
        &[OLD, PLAIN, TASKS[0], TASKS[1]],
    );
}

#[test]
fn an_unrecorded_effect_is_found_by_observed_state() {
    let chaos = chaos().observe(|world: &World| world.rows.lock().unwrap().len());
    let report = tried(&chaos, "inserts_silently");
    assert_eq!(kinds(&report), [FaultKind::DifferentState], "{report}");
    assert_found_as(
        &report,
        FaultKind::DifferentState,
        &[PLAIN, TASKS[0], TASKS[1]],
    );
}

#[test]
fn a_step_whose_name_changes_is_found() {
    let report = tried(&chaos(), "names_by_clock");
    let message = message_of(&report, FaultKind::ChangedStep);
    assert!(message.contains(&place_of("ctx.once(key")), "{message}");
    assert!(message.contains("`charge-0` in one run"), "{message}");
    assert!(
        kinds(&report).contains(&FaultKind::RepeatedEffect),
        "{report}"
    );
    assert_found_as(
        &report,
        FaultKind::ChangedStep,
        &[OLD, PLAIN, TASKS[0], TASKS[1]],
    );
}

#[test]
fn a_changed_elicitation_is_found() {
    let report = tried(&chaos(), "asks_by_clock");
    let message = message_of(&report, FaultKind::ChangedQuestion);
    assert!(
        message.contains(&place_of("ctx.elicit(message)")),
        "{message}"
    );
    assert!(message.contains("`Commit at 0 s?` in one run"), "{message}");
    assert_found_as(
        &report,
        FaultKind::ChangedQuestion,
        &[OLD, PLAIN, TASKS[0], TASKS[1]],
    );
}

#[test]
fn a_lost_step_is_found() {
    let report = tried(&chaos(), "loses_a_step");
    assert_eq!(kinds(&report), [FaultKind::LostEffect], "{report}");
    let history = report.faults()[0].history().join("\n");
    assert!(
        history.contains("dies after step `charge` begins"),
        "{history}"
    );
    assert_found_as(&report, FaultKind::LostEffect, &TASKS);
}

#[test]
fn a_fault_that_needs_a_process_death_is_reported_with_its_history() {
    let report = tried(&chaos(), "inserts_before");
    assert_eq!(kinds(&report), [FaultKind::RepeatedEffect], "{report}");
    let text = report.to_string();
    assert!(text.contains("as a task of 2025-11-25"), "{text}");
    let history = report.faults()[0].history();
    assert!(history.len() < 12, "{text}");
    assert!(
        history
            .iter()
            .any(|line| line.starts_with("the process dies")),
        "{text}"
    );
    assert_found_as(&report, FaultKind::RepeatedEffect, &TASKS);
}
