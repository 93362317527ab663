//! Prompts.

use mcp_runtime::prelude::*;

/// Plans a meeting.
#[prompt]
fn plan_meeting(
    /// Subject of the meeting
    topic: &str,
    /// Names of the people
    people: &str,
    /// Length of the meeting
    #[complete(["half an hour", "one hour", "half a day"])]
    length: &str,
) -> String {
    format!(
        "Find a room for {length}, for a meeting on {topic} with {people}. Ask me when, look for rooms that are free, \
         and book one when I have agreed."
    )
}
