//! Skills that are part of the program, over a real transport.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tests::{Process, Version};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");

#[tokio::test]
async fn skills_are_those_of_the_folder_and_of_the_caller() {
    for version in Version::ERAS {
        let mut process = Process::start("skills", &[], version).await;
        let client = &mut process.client;
        let read = |uri: &str| json!({"uri": uri});
        for path in [
            "release-notes/SKILL.md",
            "release-notes/references/template.md",
            "writing/style-guide/SKILL.md",
        ] {
            let uri = format!("skill://{path}");
            let result = client.ok("resources/read", read(&uri)).await;
            let written = fs::read_to_string(Path::new(FOLDER).join(path)).unwrap();
            assert_eq!(result["contents"][0]["text"], written);
        }
        let habits = client
            .ok("resources/read", read("skill://own/habits/SKILL.md"))
            .await;
        let habits = habits["contents"][0]["text"].as_str().unwrap();
        assert!(habits.contains("Habits of anonymous"), "{habits}");
        if !version.is_modern() {
            continue;
        }
        let (skills, _) = client.list("skills/list", "skills").await;
        let uris: Vec<_> = skills.iter().map(|skill| &skill["uri"]).collect();
        assert_eq!(
            uris,
            [
                "skill://own/habits/SKILL.md",
                "skill://release-notes/SKILL.md",
                "skill://writing/style-guide/SKILL.md"
            ]
        );
        assert_eq!(
            skills[1]["frontmatter"]["metadata"],
            json!({"audience": "maintainers"})
        );
        let files: Vec<&Value> = skills[1]["resources"].as_array().unwrap().iter().collect();
        assert_eq!(files.len(), 3);
        assert_eq!(
            files[1]["uri"],
            "skill://release-notes/references/examples.md"
        );
    }
}
