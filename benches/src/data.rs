//! Larger values that tools return and take: rows of a table, a page, an image, and a list of nested objects.

use std::fmt::Write as _;
use std::sync::LazyLock;

use mcp_runtime::prelude::*;

/// A row of a table.
#[data]
#[derive(Debug)]
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

/// One thousand rows.
pub static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
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
    (0..1000).map(row).collect()
});

/// A text of one mebibyte.
pub static PAGE: LazyLock<String> = LazyLock::new(|| {
    let line = "The quick brown fox jumps over the lazy dog, \"quoted\" café line\n";
    line.repeat((1 << 20) / line.len())
});

/// One mebibyte.
pub static PICTURE: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0_u8..=255).cycle().take(1 << 20).collect());

/// The kind of an [`Order`].
#[data]
#[derive(Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It leaves today.
    Express,
    /// It leaves this week.
    Standard,
}

/// The place to which an [`Order`] goes.
#[data]
#[derive(Debug)]
#[serde(deny_unknown_fields)]
pub struct Place {
    city: String,
    #[arg(range(1..))]
    number: i64,
}

/// One of many nested arguments.
#[data]
#[derive(Debug)]
#[serde(deny_unknown_fields)]
pub struct Order {
    kind: Kind,
    due: String,
    place: Place,
}

impl Order {
    /// Returns `true` if the values are in the range that the schema requires.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.place.number >= 1
    }

    /// Returns `true` if the order is to leave today and is due on a date.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        let is_date = self.due.len() == 10 && self.due.as_bytes().get(4) == Some(&b'-');
        is_date && matches!(self.kind, Kind::Express) && !self.place.city.is_empty()
    }
}

/// Returns a list of orders as JSON. Every other one is urgent.
#[must_use]
pub fn orders(count: usize) -> String {
    let mut orders = String::from("[");
    for number in 1..=count {
        let separator = if number == 1 { "" } else { "," };
        let kind = ["express", "standard"][number % 2];
        let _ = write!(
            orders,
            r#"{separator}{{"kind":"{kind}","due":"2026-07-28","place":{{"city":"Lyon","number":{number}}}}}"#
        );
    }
    orders.push(']');
    orders
}
