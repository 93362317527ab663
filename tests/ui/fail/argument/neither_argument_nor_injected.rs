use mcp_runtime::prelude::*;

struct City;

#[tool]
fn visit(city: City) -> String {
    let _ = city;
    String::new()
}

#[tool]
fn tour(cities: Vec<City>) -> String {
    let _ = cities;
    String::new()
}

#[tool]
async fn walk(city: &City) -> String {
    let _ = city;
    String::new()
}

fn main() {}
