//! The server that is killed.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::Backend;
use mcp_runtime::prelude::*;

use crate::mortal::Mortal;
use crate::store;
use crate::tools::Folder;

/// The environment variable for the name of the file that lists the seams that the process passes.
pub(crate) const SEAMS: &str = "SEAMS";
/// The environment variable for the seam at which the process dies.
pub(crate) const DEATH: &str = "DEATH";

/// Appends a line to a file.
pub(crate) fn append(file: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(format!("{line}\n").as_bytes())
}

pub(crate) async fn serve(folder: &Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let store = store::open(folder).await?;
    let limits = Limits::default().with(|limits| {
        limits.tasks.lease = Duration::from_millis(600);
        // On a busy machine, a lease can lapse even though its process is alive.
        limits.tasks.max_attempts = 20;
    });
    let seams = folder.join(std::env::var(SEAMS)?);
    let store = Mortal::new(store, seams, std::env::var(DEATH).ok());
    let server = new_server!()
        .limits(limits)
        .state(Folder(folder.to_owned()));
    Ok(server
        .backend(Backend::new().tasks(Arc::new(store)))
        .run()
        .await?)
}
