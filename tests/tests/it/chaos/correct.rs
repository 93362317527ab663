//! Tools without faults.

use super::*;

/// Charges once, after a question.
#[tool(tags("chaos"), task)]
async fn charges(ctx: &Context, world: State<World>) -> Result<String> {
    let Sure { sure } = ctx.elicit("Charge?").key("sure").await?;
    let receipt = ctx.once("charge", async || world.charge("A").await).await?;
    Ok(format!("{sure} {receipt}"))
}

/// Downloads as often as it must, and then loads each part once.
#[tool(tags("chaos"), task)]
async fn downloads(ctx: &Context, world: State<World>) -> Result<String> {
    let download = ctx.step("download", async || {
        world.effects.record("download");
        Ok(3)
    });
    let parts = download.await?;
    for part in 0..parts {
        let name = format!("part-{part}");
        ctx.once(&*name, async || world.charge(&name).await).await?;
    }
    Ok(format!("{parts} parts"))
}

/// Does several steps at once, and asks two questions at once.
#[tool(tags("chaos"), task)]
async fn gathers(ctx: &Context, world: State<World>) -> Result<String> {
    let (left, right) = tokio::try_join!(
        ctx.once("left", async || world.charge("left").await),
        ctx.once("right", async || world.charge("right").await),
    )?;
    let (one, other) = ctx
        .ask((
            ctx.elicit::<Sure>("One?").key("one"),
            ctx.elicit::<Sure>("Other?").key("other"),
        ))
        .await?;
    ctx.once("last", async || world.charge("last").await)
        .await?;
    Ok(format!("{left} {right} {} {}", one.sure, other.sure))
}

/// A plain tool.
#[tool(tags("chaos"))]
async fn asks_only(ctx: &Context) -> Result<bool> {
    let Sure { sure } = ctx.elicit("Sure?").await?;
    Ok(sure)
}

/// Inserts a row under a key of its own, so that a second time changes nothing.
#[tool(tags("chaos"))]
async fn upserts(world: State<World>) -> Result<()> {
    tokio::task::yield_now().await;
    let mut rows = world.rows.lock().unwrap();
    if !rows.contains(&"A".to_owned()) {
        rows.push("A".to_owned());
    }
    Ok(())
}

#[test]
fn correct_tools_pass() {
    for tool in ["charges", "downloads", "gathers"] {
        let report = chaos().histories(150).call(tool, json!({}));
        report.assert_no_faults();
        assert!(report.deaths() > 50, "{report}");
        let text = report.to_string();
        assert!(text.contains("a plain call of 2026-07-28"), "{text}");
        assert!(
            text.contains("a task of 2025-11-25, a task of 2026-07-28"),
            "{text}"
        );
    }
}

#[test]
fn correct_plain_tools_pass() {
    for tool in ["asks_only", "upserts"] {
        let chaos = chaos().observe(|world: &World| world.rows.lock().unwrap().clone());
        let report = chaos
            .repeat_lost_calls()
            .histories(100)
            .call(tool, json!({}));
        report.assert_no_faults();
        assert!(!report.to_string().contains("a task"), "{report}");
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let report = |seed| chaos().seed(seed).histories(100).call("charges", json!({}));
    assert_eq!(report(1).to_string(), report(1).to_string());
    assert_eq!(report(1).histories(), 100);
}
