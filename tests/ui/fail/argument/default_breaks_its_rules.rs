use mcp_runtime::prelude::*;

#[tool]
fn add(
    #[arg(default = 9, range(0..=5))] most: u8,
    #[arg(default = -3, range(0.5..))] least: f64,
    #[arg(default = "Zürich", length(..6))] city: String,
    #[arg(default = ["a", ""], length(3..), items(length(1..)))] tags: Vec<String>,
) -> String {
    format!("{most}{least}{city}{tags:?}")
}

fn main() {}
