use mcp_runtime::prelude::*;

struct Notes<T>(T);

#[server]
impl<T> Notes<T> {
    #[tool]
    fn add(&self) -> String {
        String::new()
    }
}

fn main() {}
