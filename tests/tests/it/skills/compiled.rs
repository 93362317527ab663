//! Skills that are part of the program.

use mcp_runtime::prelude::*;
use mcp_runtime::skills::Skills;
use serde_json::json;
use tests::Version;

use super::{modern, server, skill};
use crate::support::connect;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/skills");

#[tokio::test]
async fn a_program_serves_the_same_as_a_server_that_reads_the_folder() {
    let compiled = || skills!("../examples/skills/");
    let mut program = modern(compiled()).await;
    let mut reader = modern(Skills::dir(FOLDER)).await;
    let list = program.ok("skills/list", json!({})).await;
    assert_eq!(list, reader.ok("skills/list", json!({})).await);
    assert_eq!(list["skills"].as_array().map(Vec::len), Some(2));
    let keys = list["skills"][0]["frontmatter"].as_object().unwrap().keys();
    assert_eq!(
        keys.collect::<Vec<_>>(),
        ["name", "description", "license", "metadata"]
    );
    for skill in list["skills"].as_array().unwrap() {
        for file in skill["resources"].as_array().unwrap() {
            let uri = json!({"uri": file["uri"]});
            let read = program.ok("resources/read", uri.clone()).await;
            assert_eq!(read, reader.ok("resources/read", uri).await);
        }
    }
    for version in Version::ALL {
        let mut client = connect(server(compiled()), version).await;
        let uri = json!({"uri": "skill://writing/style-guide/SKILL.md"});
        let read = client.ok("resources/read", uri).await;
        assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
    }
}

#[tokio::test]
async fn other_skills_can_be_added_to_those_of_the_program() {
    let skills = mcp_runtime::skills!("../examples/skills", crate = mcp_runtime)
        .skill(skill("more", "More."))
        .visible_if(|_, path| path != "release-notes");
    let mut client = modern(skills).await;
    let list = client.ok("skills/list", json!({})).await;
    assert_eq!(
        super::uris(&list["skills"]),
        [
            "skill://more/SKILL.md",
            "skill://writing/style-guide/SKILL.md"
        ]
    );
}
