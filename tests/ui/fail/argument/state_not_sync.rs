use mcp_runtime::prelude::*;

struct Notes(std::cell::RefCell<Vec<String>>);

#[tool]
fn count(notes: State<Notes>) -> usize {
    notes.0.borrow().len()
}

fn main() {}
