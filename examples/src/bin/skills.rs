//! Skills: those of `examples/skills/`, which are part of the program, and one that is different for each caller.

use mcp_runtime::prelude::*;
use mcp_runtime::skills::Skill;

/// Lists the merged changes since a release.
#[tool(read_only)]
fn changes(
    /// Tag of the release, such as `v1.2.0`
    since: &str,
) -> String {
    format!("since {since}: beds can be shared; watering a missing bed is an error")
}

/// Returns the skills that only this caller has. A real server would ask its database.
async fn own_skills(ctx: Context) -> Result<Vec<Skill>> {
    let name = ctx.principal().map_or("anonymous", Principal::subject);
    let text = format!(
        "---\nname: habits\ndescription: Habits of {name}. Use it before you plan anything for this user.\n---\n\
         Plan nothing before ten in the morning.\n"
    );
    Ok(vec![Skill::new("own/habits", text)])
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    // Mistakes in the folder are compile errors.
    let skills = skills!("skills/")
        .dynamic(own_skills)
        .visible_if(|caller, path| path != "release-notes" || caller.has_scope("maintainer"));
    Server::new("skills", "1.0.0").with(skills).run().await
}
