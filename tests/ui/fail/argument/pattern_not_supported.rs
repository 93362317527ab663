use mcp_runtime::prelude::*;

#[tool]
fn find(
    #[arg(pattern = r"^\p{L}+$")] name: String,
    #[arg(pattern = "^(?=a)")] first: String,
    #[arg(items(pattern = r"(.)\1"))] doubled: Vec<String>,
) -> String {
    format!("{name} {first} {doubled:?}")
}

fn main() {}
