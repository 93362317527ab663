//! `#[data]` and `#[derive(Elicit)]` with `#[arg(…)]` on fields.

use expect_test::expect;
use proc_macro2::TokenStream;

use super::{check_tokens, tokens};
use crate::stages;

#[test]
fn options_of_a_field_become_attributes_of_serde_and_schemars() {
    let item = r#"
        struct Ticket<T> {
            /// Urgency
            #[arg(range(1..=5), default = 3)]
            urgency: u8,
            #[arg(name = "who", description = "Person responsible", default)]
            owner: Option<T>,
            other: String,
        }
    "#;
    check_tokens(
        &stages::expand_data(tokens("input"), tokens(item)),
        &expect![[""]],
    );
}

#[test]
fn options_of_a_field_of_a_form_become_those_of_its_field() {
    let item = r#"
        struct Stay {
            #[arg(range(1..10), title = "Nights", default = 2)]
            nights: u8,
        }
    "#;
    check_tokens(&stages::expand_elicit(tokens(item)), &expect![[""]]);
}

#[test]
fn options_of_a_type_that_is_also_a_form_stay_for_its_derive() {
    let item = "#[derive(Elicit)] struct Stay { #[arg(length(1..))] name: String }";
    let expanded = stages::expand_data(TokenStream::new(), tokens(item)).to_string();
    assert!(expanded.contains("# [arg (length (1 ..))]"), "{expanded}");
}
