use mcp_runtime::prelude::*;

#[data(output)]
struct Report {
    text: String,
}

#[tool]
fn send(report: Report) -> String {
    report.text
}

fn main() {}
