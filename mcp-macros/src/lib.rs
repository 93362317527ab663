//! The attribute macros of `mcp-runtime`; use them through that crate, whose documentation describes each of them.
//!
//! Three stages, one folder each: `parse` turns tokens into options and a split function, `model` decides every default
//! and checks what can be checked without types, `expand` writes the tokens. What needs types is left to constants and
//! trait bounds in the expansion.

mod expand;
mod model;
mod parse;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

use crate::model::Kind;

/// A function a model can call.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::Tool, options.into(), item.into()).into()
}

/// A function that writes messages for a conversation.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::Prompt, options.into(), item.into()).into()
}

/// A function that reads the resource at one address.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::Resource, options.into(), item.into()).into()
}

/// A function that reads the resources of a family of addresses.
#[proc_macro_attribute]
pub fn resource_template(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(Kind::ResourceTemplate, options.into(), item.into()).into()
}

/// A function that offers values for an argument.
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

/// A form a person fills in, or a choice in one.
#[proc_macro_derive(Elicit, attributes(elicit))]
pub fn elicit(item: TokenStream) -> TokenStream {
    expand::elicit(item.into()).into()
}

/// An error type whose text the model reads.
#[proc_macro_attribute]
pub fn shown(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::shown(options.into(), item.into()).into()
}

/// A type that arguments or results are made of.
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::data(options.into(), item.into()).into()
}
