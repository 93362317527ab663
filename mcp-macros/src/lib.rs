//! The attribute macros of `mcp-runtime`; use them through that crate, whose documentation describes each of them.
//!
//! Three stages, one folder each, run by `stages`; each uses only those before it:
//!
//! - `parse` turns tokens into options and split items. It removes what Rust would not accept from the item.
//! - `model` decides every default and checks everything that needs no types. Its values are those of `parse`, the types of `syn`
//!   and plain Rust, each with its spans; it neither reads nor makes tokens.
//! - `expand` makes the tokens: it is the only stage that quotes. Checks that need types are left to constants and trait bounds in
//!   the expansion.
//!
//! Mistakes are `errors` of the stage that finds them.

mod errors;
mod expand;
mod model;
mod parse;
mod stages;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

use crate::parse::kind::Kind;

/// A function that models can call.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::function(Kind::Tool, options.into(), item.into()).into()
}

/// A function that returns messages for a conversation.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::function(Kind::Prompt, options.into(), item.into()).into()
}

/// A function that reads the resource at one URI.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::function(Kind::Resource, options.into(), item.into()).into()
}

/// A function that reads the resources whose URIs match a template.
#[proc_macro_attribute]
pub fn resource_template(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::function(Kind::ResourceTemplate, options.into(), item.into()).into()
}

/// A function that suggests values for an argument.
#[proc_macro_attribute]
pub fn completer(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::function(Kind::Completer, options.into(), item.into()).into()
}

/// An `impl` block whose methods carry the attributes above.
#[proc_macro_attribute]
pub fn server(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::server(options.into(), item.into()).into()
}

/// An asynchronous `main`.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::main(options.into(), item.into()).into()
}

/// A form that a user fills in, or a choice in such a form.
#[proc_macro_derive(Elicit, attributes(elicit))]
pub fn elicit(item: TokenStream) -> TokenStream {
    stages::elicit(item.into()).into()
}

/// An error type whose message the model may read.
#[proc_macro_attribute]
pub fn expose(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expose(options.into(), item.into()).into()
}

/// A type for arguments and results.
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::data(options.into(), item.into()).into()
}
