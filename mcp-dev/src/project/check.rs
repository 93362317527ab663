//! Finds the problems in the definitions of a project's server, with their lines in the source.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::describe::Program;
use crate::hub::Hub;
use crate::inspect::{ConnectOptions, examine, findings};
use crate::target::Target;

/// Maximum duration of the check.
const PATIENCE: Duration = Duration::from_mins(1);

/// Shows the findings about a program, or none if its definitions cannot be read.
pub(super) async fn check(program: &Path, hub: &Hub) {
    let words = vec![program.display().to_string()];
    // First, because secrets should be hidden as soon as possible, also those of a server that does not start.
    let described = Program::from_words(words.clone());
    if let Ok(about) = described.describe_within(PATIENCE).await {
        let names: Vec<_> = about.secrets().map(str::to_owned).collect();
        hub.hide_variables(&names);
    }
    let options = ConnectOptions {
        era: None,
        patience: PATIENCE,
    };
    let target = Target::Command(words);
    let examined = tokio::time::timeout(PATIENCE, examine(&target, options));
    hub.findings(match examined.await {
        Ok(Ok(examined)) => findings(&examined),
        _ => Value::Null,
    });
}
