//! Long work: a task that asks before it commits.

use serde_json::json;
use tests::{Process, Version};

// Covers: XTASK-03, TASK-05, TASK-09
#[tokio::test]
async fn ledger_goes_on_after_its_request_and_asks_before_it_commits() {
    for version in Version::ERAS {
        let process = Process::raw("ledger", &[], version);
        let mut client = process.client;
        client.capabilities = json!({
            "elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}},
        });
        let mut client = client.connect().await;
        let params = json!({"name": "import", "arguments": {"rows": 3}, "task": {}});
        let created = client.ok("tools/call", params).await;
        let accepted = || json!({"action": "accept", "content": {"sure": true}});
        let result = if version.is_modern() {
            let params = json!({"taskId": created["taskId"]});
            let settled = async |client: &mut tests::Client| loop {
                let task = client.ok("tasks/get", params.clone()).await;
                if task["status"] != "working" {
                    return task;
                }
            };
            let asking = settled(&mut client).await;
            let questions = asking["inputRequests"].as_object().unwrap();
            let answers = questions.keys().map(|key| (key.clone(), accepted()));
            let answers: serde_json::Map<_, _> = answers.collect();
            let mut update = params.clone();
            update["inputResponses"] = answers.into();
            client.ok("tasks/update", update).await;
            settled(&mut client).await["result"].clone()
        } else {
            client.answer(move |_| tests::Answer::Result(accepted()));
            let params = json!({"taskId": created["task"]["taskId"]});
            client.ok("tasks/result", params).await
        };
        assert_eq!(result["content"][0]["text"], "3 rows committed");
    }
}
