use mcp_runtime::prelude::*;

struct Counter(u64);

#[server]
impl Counter {
    #[tool]
    fn count(&mut self) -> String {
        self.0 += 1;
        self.0.to_string()
    }
}

fn main() {}
