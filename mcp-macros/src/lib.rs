//! Attribute and derive macros for `mcp-runtime`. Use them through that crate, which documents each macro.
//!
//! The `stages` module runs three stages. Each stage has its own folder and uses only the stages before it:
//!
//! - `parse` turns tokens into options and parsed items. This stage also removes any attributes that Rust would not
//!   accept.
//! - `model` determines all defaults and checks every rule that does not need type information. This stage works with
//!   values from `parse`, types from `syn` and plain Rust values, all with their spans; it neither reads nor produces
//!   tokens.
//! - `expand` produces the tokens and is the only stage that uses `quote!`. Checks that need type information are left
//!   to constants and trait bounds in the expansion.
//!
//! Each stage reports the mistakes that it finds through `errors`. The `guide` module is separate from the stages and
//! prepares the documentation of `mcp-runtime`.

mod errors;
mod expand;
mod guide;
mod model;
mod parse;
mod stages;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

use crate::parse::kind::Kind;

/// Turns a function into a tool that models can call.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_handler(Kind::Tool, options.into(), item.into()).into()
}

/// Turns a function into a prompt, which returns messages for a conversation.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_handler(Kind::Prompt, options.into(), item.into()).into()
}

/// Turns a function into a resource with a fixed URI.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_handler(Kind::Resource, options.into(), item.into()).into()
}

/// Turns a function into a resource template, which reads every resource whose URI matches the template.
#[proc_macro_attribute]
pub fn resource_template(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_handler(Kind::ResourceTemplate, options.into(), item.into()).into()
}

/// Turns a function into a completer, which suggests values for an argument.
#[proc_macro_attribute]
pub fn completer(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_handler(Kind::Completer, options.into(), item.into()).into()
}

/// Allows handler attributes such as `tool` on the methods of an `impl` block.
#[proc_macro_attribute]
pub fn server(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_server(options.into(), item.into()).into()
}

/// Embeds a page that hosts display next to tool results.
#[proc_macro_attribute]
pub fn app(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_app(options.into(), item.into()).into()
}

/// Makes `main` asynchronous.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_main(options.into(), item.into()).into()
}

/// Turns a struct into a form that a user fills in, or an enum into a choice in such a form.
#[proc_macro_derive(Elicit, attributes(arg, elicit, serde))]
pub fn elicit(item: TokenStream) -> TokenStream {
    stages::expand_elicit(item.into()).into()
}

/// Embeds the skills from a folder in the program.
#[cfg(feature = "skills")]
#[proc_macro]
pub fn skills(input: TokenStream) -> TokenStream {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(Into::into);
    stages::expand_skills(input.into(), package).into()
}

/// Marks an error type whose message the model may read.
#[proc_macro_attribute]
pub fn expose(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_expose(options.into(), item.into()).into()
}

/// Derives everything that a type needs to be used in arguments and results.
#[proc_macro_attribute]
pub fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    stages::expand_data(options.into(), item.into()).into()
}

/// Expands to a page of the guide as a string, with links for rustdoc: `guide_page!("state.md", "src/items.txt")`.
#[doc(hidden)]
#[proc_macro]
pub fn guide_page(input: TokenStream) -> TokenStream {
    guide::expand(
        input.into(),
        std::env::var_os("CARGO_MANIFEST_DIR").map(Into::into),
    )
    .into()
}
