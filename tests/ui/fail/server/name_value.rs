use mcp_runtime::prelude::*;

struct Notes;

#[server]
impl Notes {
    #[tool = "add"]
    fn add(&self) -> String {
        String::new()
    }
}

fn main() {}
