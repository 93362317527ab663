//! `check`: reports definitions that clients or models reject, and changes that break clients. Suitable for both
//! people and pipelines.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{ArgMatches, Command, value_parser};
use mcp_check::{
    CheckReport, Finding, Judged, ReadPage, ReadSkill, Surface, SurfaceChange, SurfaceList,
    compare_surfaces, read_pages, read_skills,
};
use serde_json::{Map, Value};

use super::client::{ConnectOptions, ServerClient};
use super::connection;
use crate::describe::{Description, Program};
use crate::lines::{note, say_json, say_text};
use crate::target::{Target, flag, option};

pub(super) fn command() -> Command {
    Command::new("check")
        .about("Check a server's definitions for problems with clients and models")
        .long_about(
            "Checks for names and schemas that clients or models reject, and for changes that break clients.\n\n\
             Exits with status 1 if a client or model rejects something, or if a change breaks clients.",
        )
        .arg(
            option("surface", "FILE", "Compare the server with this saved file")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            flag("save", "Save the current server to that file after comparing")
                .requires("surface"),
        )
        .arg(flag("strict", "Exit with status 1 for advice too"))
        .arg(flag("json", "Print JSON, for programs"))
}

/// Maximum time that a program may take to describe itself. Most programs do not know the option and ignore it.
const MAX_DESCRIBING: Duration = Duration::from_secs(10);

pub(super) async fn run(matches: &ArgMatches, target: &Target) -> Result<bool> {
    let Examined {
        surface,
        mut report,
        description,
        unread,
    } = examine(target, connection(matches)).await?;
    if let Some(reason) = unread {
        note(&format!(
            "the server does not start without its settings, so its pages and skills were not read: {reason}"
        ));
    }
    let file = matches.get_one::<PathBuf>("surface");
    let saves = matches.get_flag("save");
    if let Some(file) = file {
        report.changes = changes_since(file, &surface, saves)?;
        if saves {
            let text = surface.to_text();
            fs::write(file, text).with_context(|| file.display().to_string())?;
        }
    }
    let place = |finding: &Finding| place(description.as_ref(), finding);
    if matches.get_flag("json") {
        let mut json = report.to_json(place);
        let secrets = description.iter().flat_map(Description::secrets);
        json["secretVariables"] = secrets.collect();
        say_json(&json)?;
    } else {
        say_text(&report.to_text(place))?;
    }
    // Saving the surface accepts the changes.
    Ok(report.is_fine(matches.get_flag("strict")) && (saves || !report.breaks_clients()))
}

/// Returns the changes since the file was saved.
fn changes_since(file: &Path, surface: &Surface, saves: bool) -> Result<Vec<SurfaceChange>> {
    let before = match fs::read_to_string(file) {
        Ok(before) => before,
        Err(error) if saves && error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => bail!("{}: {error}; create it with `--save`", file.display()),
    };
    match Surface::parse(&before) {
        Ok(before) => Ok(compare_surfaces(&before, surface)),
        Err(error) => bail!("{} is not a saved surface: {error}", file.display()),
    }
}

/// A server and its problems.
pub(crate) struct Examined {
    surface: Surface,
    report: CheckReport,
    /// What the program tells of itself, if it was made with mcp-runtime.
    pub(crate) description: Option<Description>,
    /// The reason why only the description was judged, if the server does not start without its settings.
    unread: Option<String>,
}

/// Reads a server's declarations, pages and skills, and judges them.
pub(crate) async fn examine(target: &Target, options: ConnectOptions) -> Result<Examined> {
    let (mut read, description, unread) = readable(target, options).await?;
    let declared = description.as_ref().and_then(|about| about.surface.clone());
    let surface = Surface::new(declared.unwrap_or_else(|| std::mem::take(&mut read.declared)));
    let report = CheckReport::new(&Judged {
        surface: &surface,
        listed: &read.listed,
        pages: &read.pages,
        skills: &read.skills,
    });
    Ok(Examined {
        surface,
        report,
        description,
        unread,
    })
}

/// What can be read of a server: as a client reads it, what its program tells of itself, and the reason why nothing but
/// the latter is known.
type Readable = (ServerAsRead, Option<Description>, Option<String>);

/// Reads a server. A server made with mcp-runtime may lack the settings without which it does not start.
pub(super) async fn readable(target: &Target, options: ConnectOptions) -> Result<Readable> {
    let read = ServerAsRead::read(target, options).await;
    // Afterwards, so that the program does not run twice at the same time.
    let description = match target {
        Target::Command(words) => {
            let program = Program::from_words(words.clone());
            program.describe_within(MAX_DESCRIBING).await.ok()
        }
        Target::Url { .. } | Target::Project(_) => None,
    };
    match (read, description) {
        (Ok(read), description) => Ok((read, description, None)),
        (Err(error), Some(described)) if described.lacks_settings() => {
            let read = ServerAsRead {
                listed: described.tools.clone(),
                ..ServerAsRead::default()
            };
            Ok((read, Some(described), Some(format!("{error:#}"))))
        }
        (Err(error), _) => Err(error),
    }
}

/// Returns the findings of a program as the page shows them, or `None` if it cannot be read.
pub(crate) fn findings(examined: &Examined) -> Value {
    let place = |finding: &Finding| place(examined.description.as_ref(), finding);
    examined.report.to_json(place)["findings"].take()
}

/// What a client can read without calling anything.
#[derive(Default)]
pub(super) struct ServerAsRead {
    declared: Map<String, Value>,
    /// The tools that clients list.
    pub(super) listed: Vec<Value>,
    pages: Vec<ReadPage>,
    skills: Vec<ReadSkill>,
}

impl ServerAsRead {
    async fn read(target: &Target, options: ConnectOptions) -> Result<Self> {
        let client = ServerClient::open(target, options).await?;
        let declared = client.declarations().await?;
        let items = |list: SurfaceList| {
            let items = declared.get(list.member()).and_then(Value::as_array);
            items.map_or(&[][..], Vec::as_slice)
        };
        let listed = items(SurfaceList::Tools).to_vec();
        let pages = read_pages(&client, &listed, items(SurfaceList::Resources)).await;
        let skills = read_skills(&client, &client.status["capabilities"]).await;
        let skills = skills.map_err(anyhow::Error::msg)?;
        client.close().await;
        Ok(Self {
            declared,
            listed,
            pages,
            skills,
        })
    }
}

/// Returns the place of a definition in the source.
fn place(description: Option<&Description>, finding: &Finding) -> Option<String> {
    let list = SurfaceList::ALL
        .into_iter()
        .find(|list| list.word() == finding.word)?;
    let source = description?.sources.get(list.member())?;
    let source = source.get(finding.key.as_ref()?)?;
    let (file, line) = (source["file"].as_str()?, source["line"].as_u64()?);
    Some(format!("{file}:{line}"))
}
