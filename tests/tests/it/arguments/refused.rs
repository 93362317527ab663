//! Values that match the schema and that their Rust type refuses.

use mcp_runtime::prelude::*;
use tests::Version;

use super::{call, server};
use crate::support::connect;

/// A currency.
#[data(input)]
#[serde(try_from = "String")]
struct Currency(String);

impl TryFrom<String> for Currency {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() == 3 {
            Ok(Self(text))
        } else {
            Err("not a currency".to_owned())
        }
    }
}

/// An account.
#[data(input)]
struct Account {
    name: String,
    currency: Currency,
}

/// A transfer.
#[data(input)]
struct Transfer {
    amount: u32,
    from: Account,
    others: Option<Vec<Currency>>,
    to: Currency,
}

/// A range of days.
#[data(input)]
#[serde(try_from = "Days")]
struct Range(u8);

/// Two days.
#[data(input)]
struct Days {
    from: u8,
    until: u8,
}

impl TryFrom<Days> for Range {
    type Error = String;

    fn try_from(days: Days) -> Result<Self, String> {
        let length = days.until.checked_sub(days.from);
        length.map(Self).ok_or("ends before it begins".to_owned())
    }
}

/// Transfers money.
#[tool(tags("arguments"))]
fn transfer_flat(#[arg(flatten)] transfer: Transfer, note: Option<Currency>) -> String {
    let note = note.map(|note| note.0);
    format!("{} {note:?}", transfer_nested(transfer))
}

/// Transfers money.
#[tool(tags("arguments"))]
fn transfer_nested(transfer: Transfer) -> String {
    let Transfer {
        amount,
        from,
        others,
        to,
    } = transfer;
    let others = others.map_or(0, |others| others.len());
    format!(
        "{amount} {} {} {others} {}",
        from.name, from.currency.0, to.0
    )
}

/// Counts days.
#[tool(tags("arguments"))]
fn count_days(range: Range) -> u8 {
    range.0
}

#[tokio::test]
async fn all_values_that_types_refuse_are_reported_at_once() {
    let refused = |pointers: &[&str]| {
        let line = |pointer: &&str| format!("{pointer}: not a currency; received \"x\"");
        Err(pointers.iter().map(line).collect::<Vec<_>>().join("\n"))
    };
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (tool, arguments, expected) in [
            (
                "transfer_flat",
                r#"{"amount":1,"from":{"name":"a","currency":"EUR"},"to":"USD"}"#,
                Ok("1 a EUR 0 USD None".to_owned()),
            ),
            (
                "transfer_flat",
                r#"{"amount":1,"from":{"name":"a","currency":"EUR"},"to":"x"}"#,
                refused(&["/to"]),
            ),
            (
                "transfer_flat",
                r#"{"amount":1,"from":{"currency":"x","name":"a"},"note":"x","to":"x"}"#,
                refused(&["/note", "/from/currency", "/to"]),
            ),
            (
                "transfer_flat",
                r#"{"amount":1,"from":{"currency":"EUR","name":"a"},"others":["EUR","x","x"],"to":"x"}"#,
                refused(&["/others/1", "/to"]),
            ),
            (
                "transfer_flat",
                r#"{"amount":"one","from":{"currency":"x"},"to":"x"}"#,
                Err("/amount: expected integer, received \"one\"\n\
                     /from: missing property `name`; expected string\n\
                     /from/currency: not a currency; received \"x\"\n\
                     /to: not a currency; received \"x\""
                    .to_owned()),
            ),
            (
                "transfer_nested",
                r#"{"transfer":{"amount":1,"from":{"currency":"x","name":"a"},"to":"x"}}"#,
                refused(&["/transfer/from/currency", "/transfer/to"]),
            ),
            (
                "count_days",
                r#"{"range":{"from":2,"until":4}}"#,
                Ok("2".to_owned()),
            ),
            (
                "count_days",
                r#"{"range":{"from":4,"until":2}}"#,
                Err("/range: ends before it begins; received an object".to_owned()),
            ),
        ] {
            let answer = call(&mut client, tool, arguments).await;
            assert_eq!(answer, expected, "{tool} {arguments}");
        }
    }
}
