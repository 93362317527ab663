//! Serving a directory.

use std::fs;

use serde_json::{Value, json};
use tests::{Directory, Process, Version};

use super::{completed, follow};

async fn start(directory: &Directory, version: Version) -> Process {
    let root = directory.join("root");
    let variables = [("FILES_ROOT", root.to_str().unwrap())];
    super::start("files", &variables, version).await
}

#[tokio::test]
async fn files_are_listed_and_read_and_subscribed() {
    for version in Version::ERAS {
        let directory = Directory::new("files", version);
        fs::create_dir_all(directory.join("root/deep/.git")).unwrap();
        for (path, contents) in [
            ("root/a.txt", &b"text"[..]),
            ("root/deep/100% sure?.bin", b"\xff\0"),
            ("root/deep/.git/config", b"hidden"),
            ("root/.env", b"hidden"),
            ("root/large", &vec![b'x'; (1 << 20) + 1]),
            ("outside", b"outside"),
        ] {
            fs::write(directory.join(path), contents).unwrap();
        }
        let mut process = start(&directory, version).await;
        let client = &mut process.client;

        let (resources, _) = client.list("resources/list", "resources").await;
        let uris: Vec<_> = resources.iter().map(|resource| &resource["uri"]).collect();
        let binary = "files:///deep/100%25%20sure%3F.bin";
        assert_eq!(uris, ["files:///a.txt", binary, "files:///large"]);
        let read = |uri: &str| json!({"uri": uri});
        let text = client.ok("resources/read", read("files:///a.txt")).await;
        assert_eq!(text["contents"][0]["text"], "text");
        let blob = client.ok("resources/read", read(binary)).await;
        assert_eq!(blob["contents"][0]["blob"], "/wA=");
        let large = client
            .request("resources/read", read("files:///large"))
            .await
            .unwrap_err();
        assert!(large.message.contains("larger"), "{large:?}");
        for uri in [
            "files:///.env",
            "files:///deep/.git/config",
            "files:///deep",
            "files:///missing",
            "files:///../outside",
            "files:///%2e%2e/outside",
            "files:////etc/passwd",
        ] {
            client
                .request("resources/read", read(uri))
                .await
                .unwrap_err();
        }
        let reference = json!({"type": "ref/resource", "uri": "files:///{+path}"});
        let paths = completed(client, reference, "path", "sure").await;
        assert_eq!(paths, json!(["deep/100% sure?.bin"]));

        follow(client, "files:///a.txt").await;
        fs::write(directory.join("root/a.txt"), "changed").unwrap();
        let updated = client.notification("notifications/resources/updated").await;
        assert_eq!(updated["uri"], "files:///a.txt");
        let text = client.ok("resources/read", read("files:///a.txt")).await;
        assert_eq!(text["contents"][0]["text"], "changed");
        fs::write(directory.join("root/b.txt"), "new").unwrap();
        client
            .notification("notifications/resources/list_changed")
            .await;
        fs::remove_file(directory.join("root/a.txt")).unwrap();
        client.notification("notifications/resources/updated").await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_do_not_lead_out_and_pipes_do_not_hang() {
    let directory = Directory::new("links", Version::V2026_07_28);
    fs::create_dir_all(directory.join("root")).unwrap();
    fs::write(directory.join("outside"), "outside").unwrap();
    std::os::unix::fs::symlink("../outside", directory.join("root/link")).unwrap();
    std::os::unix::fs::symlink("..", directory.join("root/up")).unwrap();
    let mut command = std::process::Command::new("mkfifo");
    let made = tests::run::output(command.arg(directory.join("root/pipe")));
    assert!(made.status.success());
    let mut process = start(&directory, Version::V2026_07_28).await;
    let client = &mut process.client;
    let (resources, _) = client.list("resources/list", "resources").await;
    assert_eq!(resources, Vec::<Value>::new());
    fs::write(directory.join("root/.env"), "hidden").unwrap();
    std::os::unix::fs::symlink(".env", directory.join("root/visible")).unwrap();
    for path in ["link", "up/outside", "pipe", "visible"] {
        let params = json!({"uri": format!("files:///{path}")});
        client.request("resources/read", params).await.unwrap_err();
    }
}
