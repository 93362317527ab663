use mcp_runtime::prelude::*;

struct Notes;

trait Add {
    fn add(&self) -> String;
}

#[server]
impl Add for Notes {
    #[tool]
    fn add(&self) -> String {
        String::new()
    }
}

fn main() {}
