//! The tools.

use mcp_runtime::prelude::*;

use crate::Settings;

/// Greets a user.
#[tool(read_only)]
fn greet(
    settings: &State<Settings>,
    /// First name of the user
    #[arg(length(1..=100))]
    name: &str,
) -> Result<String> {
    if name.contains(' ') {
        bail!("first names only");
    }
    Ok(format!("{}, {name}!", settings.greeting))
}
