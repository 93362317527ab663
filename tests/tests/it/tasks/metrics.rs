//! Task metrics.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use tests::wait::until;

use super::{LEGACY, MODERN, connect, count, create, settled};
use crate::telemetry::capture::Counted;

fn counts<const N: usize>(expected: [(&str, i64); N]) -> BTreeMap<String, i64> {
    let with_tool = |(labels, count)| (format!("gen_ai.tool.name={labels}"), count);
    expected.map(with_tool).into()
}

#[tokio::test]
async fn tasks_are_counted_by_tool_from_their_creation_to_their_end() {
    for version in [LEGACY, MODERN] {
        let (mut counted, _guard) = Counted::begin();
        let (mut client, bench) = connect(version).await;
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let one = create(&mut client, "narrow_job", json!({})).await;
        let other = create(&mut client, "narrow_job", json!({})).await;
        until(async || count(&bench.started) == 1).await;
        client.pass().await;
        let narrow = |count| counts([("narrow_job", count)]);
        assert_eq!(counted.all("mcp.server.created_tasks"), narrow(2));
        assert_eq!(counted.all("mcp.server.active_tasks"), narrow(1));
        assert_eq!(counted.all("mcp.server.queued_tasks"), narrow(1));
        assert_eq!(counted.all("mcp.server.task_attempts"), narrow(1));
        let oldest = counted.all("mcp.server.oldest_task")["gen_ai.tool.name=narrow_job"];
        let age = oldest - i64::try_from(before.as_secs()).unwrap();
        assert!((0..30).contains(&age), "{age}");

        bench.go_on.add_permits(1);
        until(async || count(&bench.started) == 2).await;
        client.pass().await;
        assert_eq!(counted.all("mcp.server.queued_tasks"), narrow(0));
        assert_eq!(counted.all("mcp.server.task_attempts"), narrow(2));
        bench.go_on.add_permits(1);
        for task in [one, other] {
            settled(&mut client, &task).await;
        }

        for how in ["error", "protocol", "done"] {
            let task = create(&mut client, "end", json!({"how": how})).await;
            settled(&mut client, &task).await;
        }
        let task = create(&mut client, "deploy", json!({})).await;
        settled(&mut client, &task).await;
        client
            .ok("tasks/cancel", json!({"taskId": task["taskId"]}))
            .await;
        client.pass().await;
        assert_eq!(
            counted.all("mcp.server.tasks"),
            counts([
                ("deploy outcome=cancelled", 1),
                ("end outcome=error", 1),
                ("end outcome=ok", 1),
                ("end outcome=tool_error", 1),
                ("narrow_job outcome=ok", 2),
            ])
        );
        let none = counts([("deploy", 0), ("end", 0), ("narrow_job", 0)]);
        until(async || {
            tokio::task::yield_now().await;
            counted.all("mcp.server.active_tasks") == none
        })
        .await;
        assert_eq!(counted.all("mcp.server.queued_tasks"), none);
        assert_eq!(counted.all("mcp.server.task_lapses"), BTreeMap::new());
    }
}
