//! Every fault that `check` reports, in one server that starts and works: `cargo run -p examples --bin faulty -- check`.

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;

#[tool(name = "files.read")]
fn files_read(path: &str) -> String {
    path.to_owned()
}

#[prompt]
fn greet(name: &str) -> String {
    format!("Greet {name}.")
}

#[resource("faulty://nothing")]
fn nothing() -> &'static str {
    ""
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let server = Server::new("faulty", "0.1.0");
    // A schema as other generators write it.
    let schema = json!({
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/Place", "description": "Where"},
            "when": {"type": ["string", "null"], "description": "When"},
            "count": {"type": "integer", "format": "uint32", "description": "How many"},
            "size": {"type": "integer", "enum": [1, 2], "description": "How large"},
            "tags": {"type": "array", "description": "Which"},
            "who is it": {"type": "string", "description": "Who"},
        },
        "anyOf": [{"required": ["place"]}, {"required": ["when"]}],
        "$defs": {"Place": {"type": "string"}},
    });
    let book = |_: Arguments, _: Context| async { "booked" };
    let book = DynamicTool::new("book", schema, book).description("x".repeat(1_100));
    server.handle().tools().insert(book)?;
    server.run().await
}
