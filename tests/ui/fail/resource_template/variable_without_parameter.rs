use mcp_runtime::prelude::*;

#[resource_template("notes:///{id}")]
fn note(key: String) -> String {
    key
}

#[resource_template("pages:///{book}/{page}")]
fn page(book: String) -> String {
    book
}

fn main() {}
