//! The job in both eras: asked, done once, declined.

use std::fs;
use std::path::Path;

use mcp_runtime::ProtocolVersion;
use mcp_runtime::prelude::*;
use mcp_runtime::testing::{Notification, Response, TestClient};
use tempfile::TempDir;

use crate::{Approval, Settings, server};

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

/// Returns directories with a folder in one of them, and a client of a server that asks about every backup.
async fn client(version: ProtocolVersion) -> (TempDir, TestClient) {
    let directory = TempDir::new().unwrap();
    let path = |name| directory.path().join(name);
    fs::create_dir_all(path("from/letters/old")).unwrap();
    fs::create_dir(path("to")).unwrap();
    fs::write(path("from/letters/a.txt"), "Dear Ada").unwrap();
    fs::write(path("from/letters/old/b.txt"), "Dear Bob").unwrap();
    let settings = Settings {
        from: path("from"),
        to: path("to"),
        ask_from: 0,
    };
    (
        directory,
        TestClient::new(server().state(settings), version).await,
    )
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory.join("to")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[tokio::test]
async fn a_backup_is_asked_for_and_written_once() {
    for version in ERAS {
        let (directory, client) = client(version).await;
        client.answer(Approval { approve: true });
        let letters = json!({"folder": "letters", "name": "letters"});
        let done = client.call("back_up", letters.clone()).await.unwrap();
        assert_eq!(done.json()["files"], 2);
        assert_eq!(
            client.asked()[0].message(),
            "`letters` has 2 files of 0 MiB together."
        );
        let reported = client.notifications().await;
        assert_eq!(
            reported.last(),
            Some(&Notification::Progress((16, 16).into()))
        );
        assert_eq!(entries(directory.path()), ["letters.tar.gz"]);

        let archive = fs::File::open(directory.path().join("to/letters.tar.gz")).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
        let names = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string());
        assert!(names.eq(["a.txt", "old/b.txt"]));

        client.answer(Approval { approve: true });
        let again = client.call("back_up", letters).await.unwrap();
        assert_eq!(
            again.error_text(),
            "there is an archive of this name; choose another"
        );
    }
}

#[tokio::test]
async fn nothing_is_written_against_the_will_of_the_user() {
    for version in ERAS {
        let (directory, client) = client(version).await;
        for answer in [Approval { approve: false }.into(), Response::decline()] {
            client.answer(answer);
            let refused = client
                .call("back_up", json!({"folder": "letters", "name": "letters"}))
                .await
                .unwrap();
            assert!(refused.error_text().contains("the user d"));
        }
        assert!(entries(directory.path()).is_empty());
    }
}

#[tokio::test]
async fn folders_elsewhere_are_out_of_reach() {
    for version in ERAS {
        let (_directory, client) = client(version).await;
        for folder in ["../to", "none"] {
            let refused = client
                .call("back_up", json!({"folder": folder, "name": "x"}))
                .await
                .unwrap();
            assert!(refused.error_text().contains("folder"));
        }
    }
}
