//! Mistakes in skills, which a server reports at start-up.

use std::fs;

use mcp_runtime::skills::{Skill, Skills};
use mcp_runtime::transport::memory;

use super::{server, skill};
use tests::Directory;

async fn problem(skills: Skills) -> String {
    let (transport, stream) = memory();
    drop(stream);
    let served = server(skills).serve(transport).await;
    served
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_server_does_not_start_with_an_invalid_skill() {
    let good = || skill("good", "");
    let many = (0..512).fold(good(), |skill, index| skill.file(format!("{index}"), ""));
    for (skill, expected) in [
        (
            Skill::new("a", "no front matter"),
            "`a/SKILL.md`: it does not start with front matter",
        ),
        (
            Skill::new("other", good_text()),
            "`other/SKILL.md`: the name in the front matter is `good`, but the directory is `other`",
        ),
        (
            Skill::new("good", [0xff]),
            "`good/SKILL.md`: it is not UTF-8",
        ),
        (Skill::new("a/../good", good_text()), "without `.`, `..`"),
        (good().file("../x", ""), "`good/../x`: a path"),
        (good().file("/x", ""), "`good//x`: a path"),
        (
            good().file("inner/SKILL.md", ""),
            "a skill cannot contain another one",
        ),
        (
            good().file("big", vec![0; 16 << 20]),
            "`good/big`: with this file, the skill has more than 16777216 bytes",
        ),
        (many, "with this file, the skill has more than 512 files"),
    ] {
        let problem = problem(Skills::new().skill(skill)).await;
        assert!(problem.contains(expected), "{expected}\n{problem}");
    }
    let twice = Skills::new().skill(good()).skill(good());
    assert_eq!(problem(twice).await, "skill `good` exists twice");
    let inside = Skills::new().skill(good()).skill(skill("good/x/inner", ""));
    assert_eq!(
        problem(inside).await,
        "skill `good/x/inner` is inside skill `good`"
    );
}

fn good_text() -> &'static str {
    "---\nname: good\ndescription: Good\n---\n"
}

#[cfg(unix)]
#[tokio::test]
async fn a_skill_directory_with_links_or_non_utf_8_names_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let directory = Directory::new("skills-start", tests::Version::V2026_07_28);
    let good = directory.join("good");
    fs::create_dir_all(&good).unwrap();
    fs::write(good.join("SKILL.md"), good_text()).unwrap();
    fs::write(good.join(".hidden"), "x").unwrap();
    assert_eq!(problem(Skills::dir(good.parent().unwrap())).await, "");
    let link = good.join("link");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    let root = good.parent().unwrap();
    assert!(
        problem(Skills::dir(root))
            .await
            .contains("good/link`: it is a link")
    );
    fs::remove_file(&link).unwrap();
    fs::write(good.join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    assert!(problem(Skills::dir(root)).await.contains("is not UTF-8"));
    assert!(
        problem(Skills::dir(root.join("none")))
            .await
            .contains("none")
    );
}
