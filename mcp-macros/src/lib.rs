//! The attribute macros of `mcp-runtime`; use them through that crate, whose documentation describes each of them.
//!
//! Three stages, one folder each: `parse` turns tokens into options and a split function, `model` decides every default
//! and checks everything that needs no types, `expand` writes the tokens. Checks that need types are left to constants and
//! trait bounds in the expansion.

mod expand;
mod model;
mod parse;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

use crate::model::Kind;

/// A function that models can call.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::Tool, options.into(), item.into()).into()
}

/// A function that returns messages for a conversation.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::Prompt, options.into(), item.into()).into()
}

/// A function that reads the resource at one URI.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::Resource, options.into(), item.into()).into()
}

/// A function that reads the resources whose URIs match a template.
#[proc_macro_attribute]
pub fn resource_template(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::ResourceTemplate, options.into(), item.into()).into()
}

/// A function that suggests values for an argument.
#[proc_macro_attribute]
pub fn completer(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::Completer, options.into(), item.into()).into()
}

/// An `impl` block whose methods carry the attributes above.
#[proc_macro_attribute]
pub fn server(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::server(options.into(), item.into()).into()
}

/// An asynchronous `main`.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::main(options.into(), item.into()).into()
}

/// A form that a user fills in, or a choice in such a form.
#[proc_macro_derive(Elicit, attributes(elicit))]
pub fn elicit(item: TokenStream) -> TokenStream {
    expand::elicit(item.into()).into()
}

/// An error type whose message the model may read.
#[proc_macro_attribute]
pub fn expose(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::expose(options.into(), item.into()).into()
}

/// A type for arguments and results.
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::data(options.into(), item.into()).into()
}
