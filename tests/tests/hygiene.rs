//! Attributes work in a crate without a prelude, whose own names shadow everything an expansion might lean on, under a
//! renamed runtime and strict lints.
#![no_implicit_prelude]
#![deny(
    warnings,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    single_use_lifetimes,
    unused_results
)]
#![deny(
    missing_debug_implementations,
    elided_lifetimes_in_paths,
    clippy::all,
    clippy::pedantic
)]

extern crate mcp_runtime as mcp;

/// Not the standard library.
pub mod std {}
/// Not the core library.
pub mod core {}

/// Not a result.
#[derive(Debug)]
pub struct Result;
/// Not an option.
#[derive(Debug)]
pub struct Option;
/// Not text.
#[derive(Debug)]
pub struct String;
/// Not a box.
#[derive(Debug)]
pub struct Box;
/// Not a value.
#[derive(Debug)]
pub struct Some;
/// Not a vector.
#[derive(Debug)]
pub struct Vec;

type Text = ::std::string::String;

/// Adds.
#[::mcp::tool(crate = ::mcp, icons = ["https://example.com/a.png"], timeout = "5s", requires(roots))]
fn add(
    /// Left
    #[arg(range(0..=5), default = 1)]
    a: u8,
    #[arg(default)] b: i64,
    #[arg(length(..=5))] text: &str,
) -> i64 {
    let _ = text;
    <i64 as ::std::convert::From<u8>>::from(a) + b
}

/// Waits.
#[::mcp::tool(crate = ::mcp)]
async fn wait(text: Text, ctx: &::mcp::Context) -> ::std::result::Result<Text, Text> {
    let _ = ctx;
    ::std::future::ready(()).await;
    ::std::result::Result::Ok(text)
}

/// Blocks.
#[::mcp::tool(crate = ::mcp, blocking)]
fn block(r#type: u8) -> u8 {
    r#type
}

/// Asks.
#[::mcp::prompt(crate = ::mcp)]
fn review(#[complete(codes)] code: Text) -> Text {
    code
}

/// Codes.
#[::mcp::completer(crate = ::mcp, prompt = review, argument = "code")]
fn codes(partial: &str) -> ::std::vec::Vec<&'static str> {
    let _ = partial;
    ::std::vec::Vec::new()
}

/// A note.
#[::mcp::resource_template("notes:///{id}", crate = ::mcp)]
fn note(id: u32) -> Text {
    ::std::string::ToString::to_string(&id)
}

/// Settings.
#[::mcp::resource("config://app", crate = ::mcp)]
fn config() -> &'static str {
    "{}"
}

/// Never there.
#[::mcp::tool(crate = ::mcp)]
#[cfg(any())]
fn never(missing: Missing) -> Missing {
    missing
}

/// Notes.
#[derive(Debug)]
pub struct Notes;

#[::mcp::server(crate = ::mcp)]
impl Notes {
    /// Deletes.
    #[tool(destructive)]
    async fn delete<'a>(&'a self, id: &'a str) -> Text {
        let _ = self;
        ::std::future::ready(()).await;
        ::std::string::ToString::to_string(id)
    }

    /// Shows itself.
    #[prompt]
    fn show(&self) -> &'static str {
        let _ = self;
        "notes"
    }
}

/// The derive of schemars wants a trait of the prelude.
mod place {
    use ::std::convert::Into as _;

    /// A place.
    #[::mcp::data(crate = ::mcp)]
    #[derive(Debug)]
    pub(crate) struct Place {
        /// The city.
        pub(crate) city: super::Text,
    }
}
use place::Place;

/// Visits.
#[::mcp::tool(crate = ::mcp)]
fn visit(place: Place) -> ::mcp::Json<Place> {
    ::mcp::Json(place)
}

#[::std::prelude::v1::test]
fn functions_stay_ordinary_functions() {
    /// Inside of a function.
    #[::mcp::tool(crate = ::mcp)]
    fn inner(a: i64) -> i64 {
        a
    }

    ::std::assert_eq!(add(2, 3, ""), 5);
    ::std::assert_eq!(inner(1), 1);
    ::std::assert_eq!(block(1), 1);
    ::std::assert_eq!(review(note(1)), "1");
    ::std::assert_eq!(config(), "{}");
}

#[::std::prelude::v1::test]
fn functions_are_selected_by_their_items() {
    ::std::assert_eq!(::mcp::tool(add), ::mcp::tool(add));
    ::std::assert_ne!(::mcp::tool(wait), ::mcp::tool(visit));
    ::std::assert_ne!(::mcp::tool(Notes::delete), ::mcp::prompt(Notes::show));
    ::std::assert_eq!(::mcp::completer(codes), ::mcp::completer(codes));
}
