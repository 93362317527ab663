//! The data that the servers return and take, the same for all of them.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row of a table.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Row {
    id: i64,
    stock: i64,
    price: f64,
    since: String,
    name: String,
    maker: String,
    place: String,
    notes: String,
}

/// A table.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Table {
    rows: Vec<Row>,
}

/// A table of one thousand rows.
pub static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let row = |id: i32| Row {
        id: id.into(),
        stock: i64::from(id) * 7 % 1000,
        price: f64::from(id) / 4.0,
        since: format!("2026-{:02}-{:02}", id % 12 + 1, id % 28 + 1),
        name: format!("Article {id}"),
        maker: "Müller & Söhne".into(),
        place: format!("Shelf {}, \"upper\" row", id % 40),
        notes: "Sold by the dozen\nKept dry".into(),
    };
    Table {
        rows: (0..1000).map(row).collect(),
    }
});

/// The arguments of each of many tools.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Lookup {
    /// Under which it is stored
    pub key: String,
    /// Most entries
    pub limit: Option<u32>,
}

/// The description of each of many tools.
pub const DESCRIPTION: &str = "Looks up what is stored under a key, and says when it was stored";

/// The options that every server takes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Serves HTTP on a free port and writes the address to the first line of standard output, instead of serving
    /// standard input and output.
    pub over_http: bool,
    /// Adds this many tools.
    pub tools: usize,
}

/// Reads the options: `(stdio|http) [--tools N]`.
///
/// # Panics
///
/// Panics if the number of tools is not a number.
#[must_use]
pub fn options() -> Options {
    let mut arguments = std::env::args().skip(1);
    let over_http = arguments.next().as_deref() == Some("http");
    let tools = arguments.nth(1);
    let tools = tools.map_or(0, |number| number.parse().expect("a number"));
    Options { over_http, tools }
}

/// Returns the name of one of many tools.
#[must_use]
pub fn name(number: usize) -> String {
    format!("tool_{number:04}")
}

/// Ends the process when standard input ends, which is how the client stops a server over HTTP.
pub fn end_with_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
}
