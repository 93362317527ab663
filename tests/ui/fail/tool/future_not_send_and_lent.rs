use mcp_runtime::prelude::*;

use std::rc::Rc;

#[tool]
async fn add(a: &str) -> String {
    let a = Rc::new(a);
    std::future::ready(()).await;
    a.to_string()
}

fn main() {}
