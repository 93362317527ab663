use mcp_runtime::prelude::*;

struct Notes(std::cell::Cell<u8>);

#[server]
impl Notes {
    #[tool]
    fn add(&self) -> String {
        self.0.set(1);
        String::new()
    }
}

fn main() {}
