//! A server as a cargo project: builds it, speaks to the program, and starts again when its sources change.

mod build;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, Package, TargetKind};

use crate::engine::Engine;
use crate::target::{Selection, Target};
use build::Built;
use watch::Watch;

/// A program of a project.
pub(crate) struct Project {
    selection: Selection,
    package: String,
    program: String,
    example: bool,
    metadata: Metadata,
}

impl Project {
    /// Finds the program that is meant.
    pub(crate) fn find(selection: &Selection) -> Result<Self> {
        let manifest = selection.folder.join("Cargo.toml");
        if !manifest.is_file() {
            bail!(
                "there is no Cargo.toml in `{}`. In a project: `mcp-dev`. Any program: `mcp-dev -- COMMAND`. A server at a URL: `mcp-dev URL`",
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
                "the project has no such program; `--bin`, `--example` and `--package` choose one"
            ),
            _ => bail!(
                "the project has several programs: choose one with `--bin`: {}",
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

/// Returns the packages that may have the program.
fn chosen<'a>(metadata: &'a Metadata, selection: &Selection) -> Result<Vec<&'a Package>> {
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

/// Builds the project and starts the server, again after each change, until the program ends.
pub(crate) async fn keep_built(project: Project, engine: Arc<Engine>) {
    let hub = Arc::clone(&engine.hub);
    let mut watch = match Watch::start(&project) {
        Ok(watch) => Some(watch),
        Err(error) => {
            hub.build(
                "unwatched",
                &format!("changes are not seen: {error:#}"),
                0.0,
            );
            None
        }
    };
    let mut running: Option<PathBuf> = None;
    loop {
        // Windows does not replace a program that runs.
        if cfg!(windows) && running.is_some() {
            engine.stop("the server is built again").await;
        }
        hub.build("building", "", 0.0);
        let started = Instant::now();
        let built = build::build(&project).await;
        let seconds = started.elapsed().as_secs_f64();
        match built {
            Ok(Built {
                program,
                fresh,
                warnings,
            }) => {
                hub.build("built", &warnings, seconds);
                if !fresh || running.as_ref() != Some(&program) || cfg!(windows) {
                    let words = vec![program.display().to_string()];
                    engine
                        .replace(Target::Command(words), "the server was built again")
                        .await;
                    running = Some(program);
                }
            }
            Err(reason) => hub.build("failed", &reason, seconds),
        }
        match &mut watch {
            Some(watch) => watch.change().await,
            None => return,
        }
    }
}
