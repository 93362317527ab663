//! An app: a page that shows the result of a tool, and calls another tool.
//!
//! The page is `examples/ui/chart.html`. `chart check` compares it with this file, and `chart types` describes the
//! tools for editors of the page.

use mcp_runtime::prelude::*;

/// Bars for the sales of each month.
#[app("ui/chart.html", title = "Sales", prefers_border)]
struct Chart;

/// The sales of a year.
#[data(output)]
struct Sales {
    year: u16,
    /// Thousands of euros, beginning with January
    months: Vec<f64>,
}

/// The best customers of a month.
#[data(output)]
struct Customers {
    month: u8,
    names: Vec<String>,
}

/// Returns the sales of each month of a year, in thousands of euros.
#[tool(app = Chart, read_only)]
fn sales(
    /// The year, such as 2025
    #[arg(range(2000..=2100))]
    year: u16,
) -> Json<Sales> {
    let months = (0..12).map(|month| f64::from((u32::from(year) * 7 + month * 31) % 97) + 20.0);
    Json(Sales {
        year,
        months: months.collect(),
    })
}

/// Returns the best customers of a month. Only the page needs it.
#[tool(app = Chart, visibility(app), read_only)]
fn customers(
    /// 1 for January
    #[arg(range(1..=12))]
    month: u8,
) -> Json<Customers> {
    let names = [
        "Abel & Sons",
        "Birch Ltd",
        "Cedar Works",
        "Dunn Bros",
        "Elm Street",
    ];
    let names = names.into_iter().cycle().skip(usize::from(month)).take(3);
    Json(Customers {
        month,
        names: names.map(str::to_owned).collect(),
    })
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!()
        .only([tool(sales), tool(customers)])
        .run()
        .await
}
