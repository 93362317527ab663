//! Splits an `impl` block into its header and its items. Only the items that are functions are parsed further.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream};

use crate::parse::annotations::Annotations;
use crate::parse::function::Function;

/// An `impl` block, as written.
pub(crate) struct ImplBlock {
    pub(crate) attributes: Vec<syn::Attribute>,
    unsafety: Option<syn::Token![unsafe]>,
    impl_token: syn::Token![impl],
    pub(crate) generics: syn::Generics,
    /// The implemented trait, if any. A trait implementation is reported as an error later.
    pub(crate) of_trait: Option<(syn::Path, syn::Token![for])>,
    pub(crate) self_type: syn::Type,
    brace: syn::token::Brace,
    pub(crate) items: Vec<Item>,
}

/// An item of an `impl` block.
pub(crate) enum Item {
    /// A method or associated function, with its annotations once they have been parsed.
    Function(Box<Function>, Option<Box<Annotations>>),
    /// Any other item, unchanged.
    Other(TokenStream),
}

impl Parse for ImplBlock {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(syn::Attribute::parse_outer)?;
        let unsafety = input.parse()?;
        let impl_token = input.parse()?;
        let mut generics: syn::Generics = input.parse()?;
        let of_trait = parse_trait(input);
        let self_type = input.parse()?;
        generics.where_clause = input.parse()?;
        let content;
        let brace = syn::braced!(content in input);
        let mut items = Vec::new();
        while !content.is_empty() {
            items.push(content.parse()?);
        }
        Ok(Self {
            attributes,
            unsafety,
            impl_token,
            generics,
            of_trait,
            self_type,
            brace,
            items,
        })
    }
}

/// Parses `Trait for` in the header, if present.
fn parse_trait(input: ParseStream<'_>) -> Option<(syn::Path, syn::Token![for])> {
    let fork = input.fork();
    let path = fork.parse::<syn::Path>().ok()?;
    let for_token = fork.parse().ok()?;
    input.advance_to(&fork);
    Some((path, for_token))
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let fork = input.fork();
        let attributes = fork.call(syn::Attribute::parse_outer)?;
        let visibility = fork.parse()?;
        if is_function(&fork) {
            let function = Function {
                attributes,
                visibility,
                signature: fork.parse()?,
                body: parse_body(&fork)?,
            };
            input.advance_to(&fork);
            return Ok(Self::Function(Box::new(function), None));
        }
        parse_other(input, &fork)
    }
}

fn is_function(input: ParseStream<'_>) -> bool {
    input.peek(syn::Token![fn])
        || input.peek(syn::Token![async])
        || input.peek(syn::Token![unsafe])
        || input.peek(syn::Token![extern])
        || (input.peek(syn::Token![const])
            && (input.peek2(syn::Token![fn])
                || input.peek2(syn::Token![async])
                || input.peek2(syn::Token![unsafe])
                || input.peek2(syn::Token![extern])))
}

/// Parses a function body, or the semicolon that replaces it.
fn parse_body(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    input.parse::<TokenTree>().map(ToTokens::into_token_stream)
}

/// Parses any other item. A constant or type ends with `;`; a macro call ends with `;` or a closing brace.
fn parse_other(input: ParseStream<'_>, after_head: ParseStream<'_>) -> syn::Result<Item> {
    let ends_at_brace = !after_head.peek(syn::Token![const]) && !after_head.peek(syn::Token![type]);
    let mut tokens = TokenStream::new();
    while !input.is_empty() {
        let tree: TokenTree = input.parse()?;
        let ends = match &tree {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => {
                ends_at_brace && group.delimiter() == proc_macro2::Delimiter::Brace
            }
            _ => false,
        };
        tokens.extend([tree]);
        if ends {
            break;
        }
    }
    Ok(Item::Other(tokens))
}

impl ImplBlock {
    /// Returns the `#[cfg(…)]` attributes of the block.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = syn::Attribute> {
        self.attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"))
            .cloned()
    }
}

impl ToTokens for ImplBlock {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for attribute in &self.attributes {
            attribute.to_tokens(tokens);
        }
        self.unsafety.to_tokens(tokens);
        self.impl_token.to_tokens(tokens);
        self.generics.to_tokens(tokens);
        if let Some((path, for_token)) = &self.of_trait {
            path.to_tokens(tokens);
            for_token.to_tokens(tokens);
        }
        self.self_type.to_tokens(tokens);
        self.generics.where_clause.to_tokens(tokens);
        self.brace.surround(tokens, |tokens| {
            for item in &self.items {
                match item {
                    Item::Function(function, _) => function.to_tokens(tokens),
                    Item::Other(other) => other.to_tokens(tokens),
                }
            }
        });
    }
}
