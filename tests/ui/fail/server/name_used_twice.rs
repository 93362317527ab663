use mcp_runtime::prelude::*;

struct Notes;

#[server]
impl Notes {
    #[tool]
    fn add(&self) -> String {
        String::new()
    }

    #[tool(name = "add")]
    fn insert(&self) -> String {
        String::new()
    }
}

fn main() {}
