//! The server to measure.

use neva::prelude::*;
use rivals_data::{DESCRIPTION, Lookup, TABLE, Table};

#[tool(descr = "Adds two integers.")]
async fn add(a: i64, b: i64) -> String {
    a.wrapping_add(b).to_string()
}

#[tool(descr = "Says what it was told.")]
async fn echo(text: String) -> String {
    text
}

#[tool(descr = "Returns a thousand rows of a table.")]
async fn rows() -> Json<&'static Table> {
    Json(&*TABLE)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = rivals_data::options();
    let mut app = App::new().with_options(|server| {
        let server = server.with_name("bench").with_version("1.0.0");
        if !options.over_http {
            return server.with_stdio();
        }
        // It cannot say which port it was given, so one that is free now is chosen.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.expect("a free port").to_string();
        println!("{address}");
        rivals_data::end_with_input();
        server.with_http(|http| http.bind(&address))
    });
    for number in 0..options.tools {
        app.map_tool(
            rivals_data::name(number),
            |key: String, _limit: Option<u32>| async { key },
        )
        .with_description(DESCRIPTION)
        .with_input_schema(schema)
        .with_arg_names(["key", "limit"]);
    }
    app.run().await;
}

#[cfg(feature = "legacy")]
fn schema(schema: neva::types::ToolInputSchema) -> neva::types::ToolInputSchema {
    schema.with_schema::<Lookup>()
}

#[cfg(not(feature = "legacy"))]
fn schema(_: neva::types::ToolInputSchema) -> neva::types::ToolInputSchema {
    neva::types::schema_2020::InputSchema::from_value(schemars::schema_for!(Lookup).into())
}
