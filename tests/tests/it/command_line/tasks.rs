//! `tasks`: operators inspect a server's tasks from another process.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tests::process::Program;
use tests::wait::until;
use tests::{Process, Version};

use super::{Ran, Scratch, run};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A server whose tasks are in a file.
struct Kept {
    scratch: Scratch,
    server: Process,
}

impl Kept {
    async fn start(name: &str, version: Version) -> Self {
        let scratch = Scratch::new(name);
        scratch.write("tasks.count", "once");
        let server = serve(&scratch, version).await;
        Self { scratch, server }
    }

    /// Creates a task and returns its id.
    async fn create(&mut self, tool: &str, arguments: Value) -> String {
        let client = &mut self.server.client;
        let mut params = json!({"name": tool, "arguments": arguments});
        if !client.version().is_modern() {
            params["task"] = json!({});
        }
        let created = client.ok("tools/call", params).await;
        let task = created.get("task").unwrap_or(&created);
        task["taskId"].as_str().unwrap().to_owned()
    }

    /// Runs a command in another process.
    fn tasks(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(tests::binary("kept_tasks"));
        command
            .arg("tasks")
            .args(arguments)
            .env("KEPT_TASKS", self.scratch.path().join("tasks.db"));
        let output = tests::run::output(&mut command);
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let printed = self.tasks(&[arguments, &["--json"]].concat()).good();
        serde_json::from_str(&printed).unwrap()
    }

    /// Waits until a task has a status.
    async fn reaches(&self, id: &str, status: &str) -> Value {
        until(async || self.json(&["show", id])["status"] == status).await;
        self.json(&["show", id])
    }
}

async fn serve(scratch: &Scratch, version: Version) -> Process {
    let file = scratch.path().join("tasks.db");
    let variables = [("KEPT_TASKS", file.to_str().unwrap())];
    let mut server = Process::with_environment("kept_tasks", &[], &variables, version);
    server.client.capabilities = json!({"elicitation": {}, "extensions": {TASKS: {}}});
    server.client = server.client.connect().await;
    server
}

fn ids(list: &Value) -> Vec<&str> {
    let tasks = list.as_array().unwrap().iter();
    tasks.map(|task| task["taskId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn operators_see_tasks_without_their_secrets() {
    for version in Version::ERAS {
        let mut kept = Kept::start("tasks-list", version).await;
        assert_eq!(kept.tasks(&[]).good(), "none\n");
        let asks = kept.create("ask", json!({"secret": "SECRET"})).await;
        let works = kept.create("work", json!({})).await;
        let details = kept.reaches(&asks, "input_required").await;
        until(async || kept.json(&["show", &works])["steps"][0]["isDone"] == true).await;

        let list = kept.json(&[]);
        assert_eq!(ids(&list), [&*asks, &*works]);
        assert_eq!(list[0]["owner"], "trusted");
        assert_eq!(list[1]["tool"], "work");
        for (filter, expected) in [
            (&["--status", "input_required"][..], &[&*asks][..]),
            (&["--status", "failed", "--status", "working"], &[&*works]),
            (&["--tool", "ask"], &[&*asks]),
            (
                &["--owner", "trusted", "--older-than", "0s"],
                &[&*asks, &*works],
            ),
            (&["--owner", ""], &[]),
            (&["--older-than", "1h"], &[]),
        ] {
            assert_eq!(ids(&kept.json(filter)), expected, "{filter:?}");
        }
        let table = kept.tasks(&[]).good();
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[0].starts_with("task "), "{table}");
        assert!(lines[1].starts_with(&asks) && lines[2].contains(" working "));

        assert_eq!(details["steps"], json!([{"name": "keep", "isDone": true}]));
        assert_eq!(details["dueInMs"], Value::Null);
        let details = kept.json(&["show", &works]);
        assert!((1..=30_000).contains(&details["dueInMs"].as_u64().unwrap()));
        let shown = kept.tasks(&["show", &asks]).good();
        assert!(shown.contains("input_required") && shown.contains("keep  done"));
        for printed in [table, shown, list.to_string(), details.to_string()] {
            assert!(!printed.contains("SECRET"), "{printed}");
        }
    }
}

#[tokio::test]
async fn a_failed_task_is_retried_with_what_it_has_done() {
    for version in Version::ERAS {
        let mut kept = Kept::start("tasks-retry", version).await;
        let id = kept.create("repair", json!({})).await;
        let failed = kept.reaches(&id, "failed").await;
        assert_eq!(failed["statusMessage"], "it is not fixed");
        assert_eq!(failed["canBeRetried"], true);
        let refused = kept.tasks(&["retry", &id, "--not-done", "count"]).bad();
        assert!(refused.contains("no step `count`"), "{refused}");

        // Steps that are done are not repeated.
        kept.scratch.write("tasks.count", "twice");
        kept.scratch.write("tasks.fixed", "");
        let retried = kept.tasks(&["retry", &id]).good();
        assert_eq!(retried, "the task is due again\n");
        let done = kept.reaches(&id, "completed").await;
        assert_eq!(done["attempts"], 2);
        let result = if version.is_modern() {
            let task = kept
                .server
                .client
                .ok("tasks/get", json!({"taskId": id}))
                .await;
            task["result"].clone()
        } else {
            let params = json!({"taskId": id});
            kept.server.client.ok("tasks/result", params).await
        };
        assert_eq!(result["content"][0]["text"], "repaired, counted once");
        let refused = kept.tasks(&["retry", &id]).bad();
        assert!(refused.contains("this one is completed"), "{refused}");
    }
}

#[tokio::test]
async fn a_task_is_cancelled_and_a_callers_tasks_are_deleted() {
    for version in Version::ERAS {
        let mut kept = Kept::start("tasks-cancel", version).await;
        let asks = kept.create("ask", json!({"secret": "x"})).await;
        let works = kept.create("work", json!({})).await;
        kept.reaches(&asks, "input_required").await;
        for id in [&asks, &works] {
            let cancelled = kept.json(&["cancel", id]);
            assert_eq!(cancelled["status"], "cancelled");
            let params = json!({"taskId": id});
            let seen = kept.server.client.ok("tasks/get", params).await;
            assert_eq!(seen["statusMessage"], "cancelled by an operator");
        }
        let refused = kept.tasks(&["cancel", &asks]).bad();
        assert!(refused.contains("already ended"), "{refused}");
        assert_eq!(
            kept.json(&["delete", "--owner", "x"]),
            json!({"deleted": 0})
        );
        let deleted = kept.tasks(&["delete", "--owner", "trusted"]).good();
        assert_eq!(deleted, "2 tasks deleted\n");
        assert_eq!(kept.tasks(&[]).good(), "none\n");
        for command in ["show", "retry", "cancel"] {
            for id in [&*asks, "x"] {
                let unknown = kept.tasks(&[command, id]).bad();
                assert!(unknown.contains("there is no task"), "{unknown}");
            }
        }
    }
}

#[tokio::test]
async fn tasks_of_a_process_that_died_are_seen_and_cancelled() {
    let mut kept = Kept::start("tasks-dead", Version::V2026_07_28).await;
    let id = kept.create("work", json!({})).await;
    kept.server.child.kill().await.unwrap();
    let left = kept.json(&["show", &id])["dueInMs"].as_u64().unwrap();
    assert!(Duration::from_millis(left) <= Duration::from_secs(30));
    assert_eq!(kept.json(&["cancel", &id])["status"], "cancelled");
    assert_eq!(kept.json(&["show", &id])["dueInMs"], Value::Null);
}

#[test]
fn only_servers_with_tasks_that_outlive_them_can_show_tasks() {
    let memory = run("ledger", &["tasks"]).bad();
    assert!(memory.contains("keeps its tasks in memory"), "{memory}");
    assert!(run("ledger", &["--help"]).good().contains("  tasks "));
    let unknown = run("garden", &["tasks"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    assert!(!run("garden", &["--help"]).good().contains("  tasks "));
}

#[test]
#[cfg(unix)]
fn an_interrupt_cancels_the_task_of_a_call_as_soon_as_its_id_is_known() {
    // Scripts and `nohup` start programs with signals that are ignored.
    for before in ["", "trap '' INT; "] {
        for date in ["2025-11-25", "2026-07-28"] {
            let scratch = Scratch::new("interrupted-task");
            let store = scratch.path().join("tasks.db");
            let mut call = Program::start(
                Command::new("sh")
                    .args(["-c", &format!("{before}exec \"$0\" \"$@\"")])
                    .arg(tests::binary("kept_tasks"))
                    .args(["call", "work", "--task", "--protocol-version", date])
                    .env("KEPT_TASKS", &store)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped()),
            );
            let line = call.line();
            let id = line.strip_prefix("task ").unwrap();
            let pid = rustix::process::Pid::from_child(&call.0);
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
            assert!(!call.ended().success());
            let mut show = Command::new(tests::binary("kept_tasks"));
            show.args(["tasks", "show", id, "--json"])
                .env("KEPT_TASKS", &store);
            let show = tests::run::output(&mut show);
            let task: Value = serde_json::from_slice(&show.stdout).unwrap();
            assert_eq!(task["status"], "cancelled", "{before}{date}: {task}");
        }
    }
}
