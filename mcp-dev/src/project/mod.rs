//! A server specified as a cargo project: builds it, connects to the program, and restarts it when its sources change.

mod build;
mod check;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, Package, TargetKind};
use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::target::{CargoSelection, Target};
use build::BuiltProgram;
use watch::Watch;

/// A program in a project.
pub(crate) struct Project {
    selection: CargoSelection,
    package: String,
    program: String,
    example: bool,
    metadata: Metadata,
}

impl Project {
    /// Finds the selected program.
    pub(crate) fn find(selection: &CargoSelection) -> Result<Self> {
        let manifest = selection.folder.join("Cargo.toml");
        if !manifest.is_file() {
            bail!(
                "there is no Cargo.toml in `{}`; run mcp-dev in a project, or specify a server: `mcp-dev -- COMMAND` or `mcp-dev URL`",
                selection.folder.display()
            );
        }
        let metadata = MetadataCommand::new().manifest_path(&manifest).exec();
        let metadata = metadata.context("cargo cannot read the project")?;
        let packages = chosen(&metadata, selection)?;

        let (kind, wanted) = match &selection.example {
            Some(name) => (TargetKind::Example, Some(name)),
            None => (TargetKind::Bin, selection.bin.as_ref()),
        };
        let mut programs = Vec::new();
        for package in packages {
            let found = package.targets.iter().filter(|target| {
                target.kind.contains(&kind) && wanted.is_none_or(|name| *name == target.name)
            });
            let found: Vec<_> = found.map(|target| (package, target.name.clone())).collect();
            let default = package.default_run.as_ref().filter(|_| wanted.is_none());
            match default {
                Some(run) => programs.extend(found.into_iter().filter(|(_, name)| name == run)),
                None => programs.extend(found),
            }
        }
        let names: Vec<_> = programs.iter().map(|(_, name)| name.as_str()).collect();
        let (package, program) = match programs.as_slice() {
            [one] => (one.0.name.to_string(), one.1.clone()),
            [] => bail!(
                "no program in this project matches; choose one with `--bin`, `--example` or `--package`"
            ),
            _ => bail!(
                "the project has several programs; choose one with `--bin`: {}",
                names.join(", ")
            ),
        };
        Ok(Self {
            selection: selection.clone(),
            package,
            program,
            example: kind == TargetKind::Example,
            metadata,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.program
    }
}

/// Returns the packages that may contain the program.
fn chosen<'a>(metadata: &'a Metadata, selection: &CargoSelection) -> Result<Vec<&'a Package>> {
    if let Some(name) = &selection.package {
        let all = metadata.workspace_packages();
        let found: Vec<_> = all
            .into_iter()
            .filter(|package| *package.name == **name)
            .collect();
        if found.is_empty() {
            bail!("the workspace has no package `{name}`");
        }
        return Ok(found);
    }
    match metadata.root_package() {
        Some(root) => Ok(vec![root]),
        None => Ok(metadata.workspace_packages()),
    }
}

/// A run of `check`, which is stopped when its report is no longer needed.
struct CheckTask(JoinHandle<()>);

impl Drop for CheckTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A project's builds: an initial build, and a new build after each change.
pub(crate) struct Builds {
    project: Arc<Project>,
    watch: Option<Watch>,
    begun: bool,
    /// The most recently built program, and the time at which it was written.
    program: Option<(PathBuf, Option<SystemTime>)>,
}

/// A build that succeeded.
pub(crate) struct SuccessfulBuild {
    pub(crate) program: PathBuf,
    /// `true` if the program has changed since the last build.
    pub(crate) changed: bool,
    pub(crate) warnings: String,
}

impl Builds {
    /// Watches the sources. The second value, if any, is the reason why changes to the sources cannot be detected.
    pub(crate) fn new(project: Project) -> (Self, Option<String>) {
        let (watch, problem) = match Watch::start(&project) {
            Ok(watch) => (Some(watch), None),
            Err(error) => (None, Some(format!("cannot watch the sources: {error:#}"))),
        };
        let builds = Self {
            project: Arc::new(project),
            watch,
            begun: false,
            program: None,
        };
        (builds, problem)
    }

    /// Waits until a build is needed. Returns `false` if no further builds will be needed.
    pub(crate) async fn change(&mut self) -> bool {
        if self.begun {
            match &mut self.watch {
                Some(watch) => watch.change().await,
                None => return false,
            }
        }
        self.begun = true;
        true
    }

    /// Builds the project. The error is the output of rustc or cargo.
    pub(crate) async fn build(&mut self) -> Result<SuccessfulBuild, String> {
        let BuiltProgram { program, warnings } = build::build(&self.project).await?;
        // Another process may have built a program that this process has not seen yet.
        let written = std::fs::metadata(&program).and_then(|file| file.modified());
        let found = Some((program.clone(), written.ok()));
        let changed = self.program != found || cfg!(windows);
        self.program = found;
        Ok(SuccessfulBuild {
            program,
            changed,
            warnings,
        })
    }
}

/// Builds the project and starts the server, and repeats this after each change until this program ends.
pub(crate) async fn keep_built(project: Project, engine: Arc<Engine>) {
    let hub = Arc::clone(&engine.hub);
    let (mut builds, problem) = Builds::new(project);
    if let Some(problem) = problem {
        hub.build("unwatched", &problem, 0.0);
    }
    let mut checking = None::<CheckTask>;
    while builds.change().await {
        // Windows cannot replace a running program.
        if cfg!(windows) && builds.program.is_some() {
            engine.stop("the server is being rebuilt").await;
        }
        hub.build("building", "", 0.0);
        let started = Instant::now();
        let built = builds.build().await;
        let seconds = started.elapsed().as_secs_f64();
        let success = match built {
            Ok(success) => success,
            Err(reason) => {
                hub.build("failed", &reason, seconds);
                continue;
            }
        };
        hub.build("built", &success.warnings, seconds);
        if !success.changed {
            continue;
        }
        let words = vec![success.program.display().to_string()];
        let connecting = engine
            .replace(Target::Command(words), "the server was rebuilt")
            .await;
        drop(checking.take());
        let hub = Arc::clone(&hub);
        checking = Some(CheckTask(tokio::spawn(async move {
            // The report waits, because serving the page is more urgent.
            let _ = connecting.await;
            check::check(&success.program, &hub).await;
        })));
    }
    // The last run of `check` may still be in progress.
    std::future::pending::<()>().await;
}
