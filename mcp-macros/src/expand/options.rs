//! Expands the options of a definition into a list of `ItemOption`s. Options without a runtime part are named here, too, so
//! that a new one cannot be forgotten.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::expand::tokens::replace_self_and_lifetimes;
use crate::expand::{completer, resource, tool};
use crate::model::handler::Handler;
use crate::parse::access::{Scopes, Tags};
use crate::parse::guard::{GuardOptions, PositiveCount};
use crate::parse::listed::{CommonOptions, ListedOptions};
use crate::parse::options::Options;
use crate::parse::value::{Expression, PathValue};

/// The options of a definition.
#[derive(Default)]
pub(crate) struct OptionList(TokenStream);

impl OptionList {
    /// Adds an option, if it has a value.
    pub(crate) fn set(&mut self, option: &str, value: Option<impl ToTokens>) {
        if let Some(value) = value {
            let option = Ident::new(option, Span::call_site());
            self.0.extend(quote!(__mcp::ItemOption::#option(#value),));
        }
    }

    /// Adds an option whose value is a string.
    pub(crate) fn set_text(&mut self, option: &str, text: Option<impl ToTokens>) {
        self.set(option, text.map(|text| quote!(__mcp::Cow::Borrowed(#text))));
    }

    /// Adds an option whose value is a list of strings.
    fn set_texts(&mut self, option: &str, texts: Option<&[syn::LitStr]>) {
        let texts =
            texts.map(|texts| quote!(__mcp::Cow::Borrowed(&[#(__mcp::Cow::Borrowed(#texts)),*])));
        self.set(option, texts);
    }

    /// Adds an option whose value is returned by a closure.
    pub(crate) fn set_made(&mut self, option: &str, closure: Option<impl ToTokens>) {
        self.set(
            option,
            closure.map(|closure| quote!(__mcp::Made::By(#closure))),
        );
    }

    /// Adds an option that an add-on defines. Its path leads to the add-on, so only a program with the option contains it.
    pub(crate) fn attach(&mut self, option: Option<impl ToTokens>) {
        let option = option.map(|option| quote!(__mcp::AttachedOption::Declared(&#option)));
        self.set("Attached", option);
    }

    /// Returns the constant slice.
    pub(crate) fn into_expression(self) -> TokenStream {
        let options = self.0;
        quote!(&[#options])
    }
}

/// Returns the options of a handler. `output` is the handler's return type.
pub(crate) fn handler_options(handler: &Handler, output: &TokenStream) -> TokenStream {
    let mut list = OptionList::default();
    let self_type = handler.self_type.as_ref();
    let description = handler.description.as_ref();
    let description =
        description.map(|description| replace_self_and_lifetimes(description, self_type, "_"));
    list.set_text("Description", description);
    let mut meta = None;
    if let Some(listed) = handler.options.listed() {
        set_listed_options(&mut list, listed, self_type);
        meta = listed.meta.as_ref().map(|Expression(meta)| quote!(#meta));
    }
    let CommonOptions { guards, runtime: _ } = handler.options.common();
    set_guard_options(&mut list, guards);
    if let Options::Tool(tool) = &handler.options {
        meta = tool::tool_meta_expression(tool, self_type, meta);
    }
    list.set_made("Meta", meta.map(|meta| quote!(|| #meta)));
    match &handler.options {
        Options::Tool(tool) => tool::set_tool_options(&mut list, tool),
        Options::Resource(uri, resource) => {
            resource::set_resource_options(&mut list, uri, resource, output);
        }
        Options::Prompt(_) | Options::Completer(_) => {}
    }
    let target = handler.target.as_ref();
    let completes = target.map(|target| completer::target_expression(target, self_type));
    list.set("Completes", completes);
    list.into_expression()
}

/// Adds the options that every listed definition has, except for those that depend on the definition's kind.
pub(crate) fn set_listed_options(
    list: &mut OptionList,
    listed: &ListedOptions,
    self_type: Option<&syn::Type>,
) {
    let ListedOptions {
        name: _,
        title,
        description: _,
        icons,
        meta: _,
        tags,
        scopes,
        visible_if,
        common: _,
    } = listed;
    list.set_text("Title", title.as_ref());
    list.set_made("Icons", icons.as_ref());
    list.set_texts("Tags", tags.as_ref().map(|Tags(tags)| &**tags));
    list.set_texts("Scopes", scopes.as_ref().map(|Scopes(scopes)| &**scopes));
    let visible_if = visible_if.as_ref().map(|PathValue(path)| {
        let path = replace_self_and_lifetimes(path, self_type, "_");
        quote!(__mcp::VisibleIf::Declared(#path))
    });
    list.set("VisibleIf", visible_if);
}

/// Adds the limits.
pub(crate) fn set_guard_options(list: &mut OptionList, guards: &GuardOptions) {
    let GuardOptions {
        timeout,
        rate,
        concurrency,
        max_output,
    } = guards;
    list.set("Timeout", timeout.as_ref());
    list.set_text("Rate", rate.as_ref());
    let calls = concurrency.as_ref().map(|PositiveCount(calls)| calls);
    list.set("Concurrency", calls);
    list.set("MaxOutput", max_output.as_ref());
}
