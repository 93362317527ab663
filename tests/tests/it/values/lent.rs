//! Parameters that are borrowed: slices, paths and types of the author.

use std::path::Path;

use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;

use super::server;
use crate::support::connect;

/// A day.
#[data(input)]
struct Day {
    number: u8,
}

/// Adds numbers.
#[tool(tags("values"))]
fn lent_slice(numbers: &[u32]) -> u32 {
    numbers.iter().sum()
}

/// Joins days.
#[tool(tags("values"))]
async fn lent_structs(days: &[Day], names: &[String]) -> String {
    let days: Vec<_> = days.iter().map(|day| day.number.to_string()).collect();
    format!("{} {}", days.join("+"), names.join("+"))
}

/// Takes a path apart.
#[tool(tags("values"))]
fn lent_path(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str());
    name.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn slices_and_paths_can_be_borrowed() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        for (tool, arguments, expected) in [
            ("lent_slice", json!({"numbers": [1, 2]}), "3"),
            ("lent_slice", json!({"numbers": []}), "0"),
            (
                "lent_structs",
                json!({"days": [{"number": 1}, {"number": 2}], "names": ["a", "b"]}),
                "1+2 a+b",
            ),
            ("lent_path", json!({"path": "/tmp/a.txt"}), "a.txt"),
        ] {
            let result = client.tool(tool, arguments).await;
            assert_eq!(result["content"][0]["text"], expected, "{tool}");
        }
    }
}
