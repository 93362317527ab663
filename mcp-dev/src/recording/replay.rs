//! Replays a recording against the current server in both eras, and reports the differences that clients would see.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use serde_json::json;

use super::compare::{Change, Comparison};
use super::read::{Outcome, Recorded, Recording};
use super::replay_connection::ReplayConnection;
use super::report::{EraReport, Report, title};
use super::secrets::MASK;
use super::{now, test};
use crate::lines::say;
use crate::project::{Builds, Project};
use crate::session::Era;
use crate::target::Target;

/// A recording to replay, and the options for it.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) file: PathBuf,
    /// `true` to write a test instead of replaying the recording.
    pub(crate) test: bool,
    /// `true` to replay the recording even if the server has a different name.
    pub(crate) anyway: bool,
    pub(crate) json: bool,
    /// JSON pointers to values that are not compared.
    pub(crate) ignored: Vec<String>,
}

/// Handles a recording as requested on the command line. Returns `true` if clients would not see any differences.
pub(crate) async fn replay(options: &Replay, target: Target) -> Result<bool> {
    if options.test {
        say(&as_test(&options.file).await?)?;
        return Ok(true);
    }
    // The recording is read first, because a build is unnecessary if the recording cannot be read.
    let recording = read(&options.file).await?;
    let target = match target {
        Target::Project(selection) => {
            let mut builds = Builds::new(Project::find(&selection)?).0;
            let built = builds.build().await.map_err(|reason| anyhow!("{reason}"))?;
            Target::Command(vec![built.program.display().to_string()])
        }
        other => other,
    };
    let report = play_read(recording, options, &target).await?;
    if options.json {
        say(&format!("{}\n", json!(report)))?;
    } else {
        say(&report.to_string())?;
    }
    Ok(report.is_same())
}

/// Returns a recording as a Rust test.
pub(crate) async fn as_test(file: &Path) -> Result<String> {
    let recording = read(file).await?;
    for warning in &recording.warnings {
        eprintln!("mcp-dev: {warning}");
    }
    let name = file.file_stem().map(|name| name.to_string_lossy());
    Ok(test::write(&recording, &name.unwrap_or_default()))
}

/// Replays a recording against a server.
pub(crate) async fn play(options: &Replay, target: &Target) -> Result<Report> {
    play_read(read(&options.file).await?, options, target).await
}

async fn read(file: &Path) -> Result<Recording> {
    let file = file.to_owned();
    tokio::task::spawn_blocking(move || Recording::read(&file)).await?
}

async fn play_read(recording: Recording, options: &Replay, target: &Target) -> Result<Report> {
    let mut eras = Vec::new();
    let mut spoken = false;
    for era in Era::BOTH {
        let mut report = EraReport::new(era.name());
        match ReplayConnection::open(target, era).await {
            Ok(mut connection) => {
                spoken = true;
                if !options.anyway {
                    same_server(recording.server.as_deref(), connection.server.as_deref())?;
                }
                play_all(&recording, options, era, &mut connection, &mut report).await;
                connection.close().await;
            }
            Err(reason) => report.failure = Some(reason),
        }
        eras.push(report);
    }
    if !spoken {
        let reason = eras.iter().find_map(|era| era.failure.as_deref());
        bail!(
            "cannot communicate with the server: {}",
            reason.unwrap_or_default()
        );
    }
    let recorded_in = |era: &EraReport| {
        recording
            .calls
            .iter()
            .any(|call| call.era.name() == era.era)
    };
    let same = eras.iter().all(|era| {
        // A failure in an era that was never used in the recording does not matter.
        era.differing == 0 && (era.failure.is_none() || !recorded_in(era))
    });
    Ok(Report {
        file: options.file.display().to_string(),
        same,
        warnings: recording.warnings,
        eras,
    })
}

fn same_server(recorded: Option<&str>, present: Option<&str>) -> Result<()> {
    match (recorded, present) {
        (Some(recorded), Some(present)) if recorded != present => bail!(
            "the recording is from the server `{recorded}`, but this server is `{present}`; use `--anyway` to replay it regardless"
        ),
        _ => Ok(()),
    }
}

/// Replays all calls in an era.
async fn play_all(
    recording: &Recording,
    options: &Replay,
    era: Era,
    connection: &mut ReplayConnection,
    report: &mut EraReport,
) {
    for call in chosen(&recording.calls, era) {
        let Some(outcome) = &call.outcome else {
            report.unfinished += 1;
            continue;
        };
        if hides_something(call) {
            report.hidden.push(title(call));
            continue;
        }
        let comparison = Comparison {
            recorded: recording.started,
            now: now(),
            across_eras: call.era != era,
            ignored: &options.ignored,
        };
        let before = Outcome {
            kind: outcome.kind,
            value: outcome.value.clone(),
        };
        let changes = match connection.play(call).await {
            Ok((present, mut changes)) => {
                changes.extend(comparison.changes(&call.method, before, present));
                changes
            }
            Err(reason) => vec![Change {
                place: format!("no response: {reason}"),
                before: None,
                now: None,
            }],
        };
        report.add(call, changes);
    }
}

/// Returns the calls to replay in an era: its own calls, and calls in the other era that have no equivalent in this
/// era. Lists differ between eras, so only the most recent list recorded in this era is replayed.
pub(super) fn chosen(calls: &[Recorded], era: Era) -> Vec<&Recorded> {
    let is_newest = |at: usize, call: &Recorded| {
        let mut later = calls.iter().skip(at + 1);
        !later.any(|later| later.era == era && later.outcome.is_some() && later.asks_as(call))
    };
    let has_twin = |call: &Recorded| {
        let mut others = calls.iter();
        others.any(|other| other.era == era && other.asks_as(call))
    };
    let chosen = calls.iter().enumerate().filter(|(at, call)| {
        if call.is_list() {
            call.era == era && is_newest(*at, call)
        } else {
            call.era == era || !has_twin(call)
        }
    });
    chosen.map(|(_, call)| call).collect()
}

/// Returns `true` if the call requires a hidden secret.
pub(super) fn hides_something(call: &Recorded) -> bool {
    call.params.to_string().contains(MASK)
        || call
            .answers
            .iter()
            .any(|answer| answer.result.to_string().contains(MASK))
}
