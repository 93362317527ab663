use mcp_runtime::prelude::*;

struct Notes;

#[server(name = "notes")]
impl Notes {
    #[tool]
    fn add(&self) -> String {
        String::new()
    }
}

fn main() {}
