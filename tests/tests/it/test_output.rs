//! What the client for testing servers prints.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;

/// Fails for a reason only the log sees.
#[tool(tags("test-output"))]
fn break_down() -> Result<String> {
    Err(std::io::Error::other("secret"))?
}

/// Prints the cause of a failure, as a failed test would. Run by the test below.
#[tokio::test]
#[ignore = "is run by another test, which reads what it prints"]
async fn prints_a_cause() {
    let client = TestClient::both(new_server!().only(Selected::tag("test-output"))).await;
    drop(client.call("break_down", json!({})).await);
}

#[test]
fn the_cause_of_an_internal_error_is_in_the_output_of_a_test() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = tests::run::output(command.args([
        "--ignored",
        "--exact",
        "--nocapture",
        "test_output::prints_a_cause",
    ]));
    let printed = String::from_utf8_lossy(&output.stderr);
    let cause = "`break_down`: a handler failed: secret (reference ";
    assert_eq!(printed.matches(cause).count(), 2, "{printed}");
}
