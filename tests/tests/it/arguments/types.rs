//! The type of the schema is enforced, even if the Rust type accepts more.

use std::collections::BTreeMap;

use mcp_runtime::prelude::*;
use tests::Version;

use super::{call, server};
use crate::support::connect;

/// A type that serde also reads from a number.
#[data(input)]
#[serde(untagged)]
enum Either {
    Number(f64),
    Text(String),
}

/// An amount of money, as a string.
#[data(input)]
#[serde(transparent)]
struct Amount(
    #[schemars(with = "String")]
    #[arg(pattern = r"^\d{1,10}(\.\d{1,2})?$")]
    Either,
);

impl Amount {
    fn text(self) -> String {
        match self.0 {
            Either::Number(number) => format!("number {number}"),
            Either::Text(text) => text,
        }
    }
}

/// A bill to pay.
#[data(input)]
struct Bill {
    amount: Amount,
    note: Option<String>,
    #[arg(range(1..=9))]
    copies: Option<u8>,
}

/// A way to pay.
#[data(input)]
#[serde(tag = "how", rename_all = "lowercase")]
enum Payment {
    Once {
        amount: Amount,
        note: Option<String>,
    },
    Number {
        amount: f64,
    },
}

/// Pays an amount.
#[tool(tags("arguments"))]
fn pay(amount: Amount) -> String {
    amount.text()
}

/// Pays an amount, or nothing.
#[tool(tags("arguments"))]
fn pay_some(amount: Option<Amount>) -> String {
    amount.map_or("nothing".to_owned(), Amount::text)
}

/// Pays amounts.
#[tool(tags("arguments"))]
fn pay_all(amounts: Vec<Amount>, named: Option<BTreeMap<String, Amount>>) -> String {
    let named = named.unwrap_or_default().into_values();
    let all: Vec<String> = amounts.into_iter().chain(named).map(Amount::text).collect();
    all.join(" ")
}

/// Pays a bill.
#[tool(tags("arguments"))]
fn pay_bill(bill: Bill) -> String {
    let Bill {
        amount,
        note,
        copies,
    } = bill;
    format!("{} {note:?} {copies:?}", amount.text())
}

/// Pays a bill.
#[tool(tags("arguments"))]
fn pay_flat(#[arg(flatten)] bill: Bill) -> String {
    pay_bill(bill)
}

/// Pays a bill in someone's name.
#[tool(tags("arguments"))]
fn pay_for(payer: &str, #[arg(flatten)] bill: Bill) -> String {
    format!("{payer}: {}", pay_bill(bill))
}

/// Pays in one way or another.
#[tool(tags("arguments"))]
fn pay_somehow(payment: Payment) -> String {
    match payment {
        Payment::Once { amount, note } => format!("{} {note:?}", amount.text()),
        Payment::Number { amount } => amount.to_string(),
    }
}

// Covers: TOOL-10
#[tokio::test]
async fn the_schema_type_is_enforced_if_the_rust_type_accepts_more() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (tool, arguments, expected) in [
            ("pay", r#"{"amount":"12.50"}"#, Ok("12.50")),
            ("pay", r#"{"amount":12.5}"#, Err("/amount: expected string")),
            ("pay", r#"{"amount":"12.555"}"#, Err("does not match")),
            ("pay_some", r#"{"amount":"1"}"#, Ok("1")),
            ("pay_some", r#"{"amount":null}"#, Ok("nothing")),
            (
                "pay_some",
                r#"{"amount":1}"#,
                Err("/amount: expected string"),
            ),
            ("pay_all", r#"{"amounts":["1","2"]}"#, Ok("1 2")),
            (
                "pay_all",
                r#"{"amounts":["1",2]}"#,
                Err("/amounts/1: expected string"),
            ),
            (
                "pay_all",
                r#"{"amounts":[],"named":{"a":"1","b":2}}"#,
                Err("/named/b: expected string"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":"1","note":null,"copies":9}}"#,
                Ok("1 None Some(9)"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":1}}"#,
                Err("/bill/amount: expected string"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":"1,5"}}"#,
                Err("does not match"),
            ),
            (
                "pay_bill",
                r#"{"bill":{"amount":"1","copies":10}}"#,
                Err("/bill/copies: 10 is more than 9"),
            ),
            (
                "pay_bill",
                r#"{"bill":["1",null,1]}"#,
                Err("/bill: expected object"),
            ),
            (
                "pay_bill",
                r#"{"bill":"{\"amount\":1}"}"#,
                Err("/bill/amount: expected string"),
            ),
            (
                "pay_bill",
                r#"{"bill":"{\"amount\":\"1\"}"}"#,
                Ok("1 None None"),
            ),
            (
                "pay_flat",
                r#"{"amount":"1","note":null}"#,
                Ok("1 None None"),
            ),
            (
                "pay_flat",
                r#"{"amount":1}"#,
                Err("/amount: expected string"),
            ),
            (
                "pay_for",
                r#"{"payer":"Ada","amount":"1","note":null}"#,
                Ok("Ada: 1 None None"),
            ),
            (
                "pay_for",
                r#"{"payer":"Ada","amount":1}"#,
                Err("/amount: expected string"),
            ),
            (
                "pay_somehow",
                r#"{"payment":{"how":"once","amount":"1","note":null}}"#,
                Ok("1 None"),
            ),
            (
                "pay_somehow",
                r#"{"payment":{"how":"number","amount":1.5}}"#,
                Ok("1.5"),
            ),
            (
                "pay_somehow",
                r#"{"payment":{"how":"once","amount":1}}"#,
                Err("/payment"),
            ),
        ] {
            let answer = call(&mut client, tool, arguments).await;
            match expected {
                Ok(expected) => assert_eq!(answer.as_deref(), Ok(expected), "{tool} {arguments}"),
                Err(words) => {
                    let refusal = answer.expect_err(arguments);
                    assert!(refusal.contains(words), "{tool} {arguments}: {refusal}");
                }
            }
        }
    }
}
