use mcp_runtime::prelude::*;

#[data(display)]
enum Shape {
    Circle { radius: f64 },
    Point,
}

#[data(display)]
struct Place {
    city: String,
}

#[data(input, display)]
enum Unit {
    Celsius,
}

#[data(display)]
#[serde(tag = "is")]
enum Tagged {
    Off,
}

fn main() {}
