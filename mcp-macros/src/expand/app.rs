//! Expands `#[app]`: implements `App` for the struct and registers the page as a resource.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::handler::location_expression;
use crate::expand::options::{OptionList, set_guard_options, set_listed_options};
use crate::expand::tokens::{option_expression, runtime_path};
use crate::expand::value::{Fields, flagged_variants};
use crate::model::app::App;
use crate::parse::app::{Csp, Permissions};
use crate::parse::value::Expression;

/// Returns the struct with its implementation and definition.
pub(crate) fn expand_app(app: &App) -> TokenStream {
    let App { item, options, .. } = app;
    let runtime = runtime_path(options.listed.common.runtime.as_ref());
    let ident = &item.ident;
    let cfgs = item.attrs.iter();
    let cfgs = cfgs.filter(|attribute| attribute.path().is_ident("cfg"));
    let uri = app_uri(app);
    let page = page_expression(app);
    let name = &app.name.value;
    let location = location_expression(ident);
    let mut list = OptionList::default();
    list.set_text("Description", app.description.as_ref());
    set_listed_options(&mut list, &options.listed, None);
    set_guard_options(&mut list, &options.listed.common.guards);
    list.set("Uri", Some(&uri));
    list.set_text("MimeType", Some(quote!(__mcp::APP_MIME_TYPE)));
    list.set("Ttl", options.ttl.as_ref());
    list.set("Cache", options.cache);
    list.attach(Some(quote!(__mcp::InApp)));
    let meta = options.listed.meta.as_ref();
    let meta = option_expression(meta.map(|Expression(meta)| quote!(#meta)));
    let meta = quote!(|| __mcp::page_meta(<#ident as __mcp::App>::PAGE, #meta));
    list.set_made("Meta", Some(meta));
    let definition_options = list.into_expression();
    quote!(
        #item
        #(#cfgs)*
        #[allow(clippy::needless_update, reason = "an author may set every option")]
        const _: () = {
            use #runtime::__private as __mcp;
            impl __mcp::App for #ident {
                const URI: &'static str = #uri;
                const PAGE: &'static __mcp::AppPage = &#page;
            }
            static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                kind: __mcp::Kind::Resource,
                name: #name,
                function: ::core::any::TypeId::of::<#ident>(),
                receiver: ::core::option::Option::None,
                location: #location,
                parameters: &[],
                options: #definition_options,
                output_schema: ::core::option::Option::None,
                conforms: false,
                run: __mcp::Run::Sync(|__mcp_call| {
                    __mcp_call.decode(&mut [])?;
                    ::core::result::Result::Ok(__mcp::page_contents(<#ident as __mcp::App>::PAGE))
                }),
            };
            __mcp::inventory::submit! { __mcp::Submitted(&__MCP_DEFINITION) }
        };
    )
}

/// Returns the struct with an implementation for an empty page, so that a mistake in the attribute is not reported
/// again for each tool that refers to the struct.
pub(crate) fn expand_app_without_page(app: &App) -> TokenStream {
    let item = &app.item;
    let ident = &item.ident;
    let runtime = runtime_path(app.options.listed.common.runtime.as_ref());
    let (before, ty, clause) = item.generics.split_for_impl();
    quote!(
        #item
        impl #before #runtime::__private::App for #ident #ty #clause {
            const URI: &'static str = "";
            const PAGE: &'static #runtime::__private::AppPage = &#runtime::__private::AppPage::NONE;
        }
    )
}

/// Returns the URI chosen by the author, or a URI derived from the names of the package and the file.
fn app_uri(app: &App) -> TokenStream {
    if let Some(uri) = &app.options.uri {
        return quote!(#uri);
    }
    let path = app.encoded_path();
    quote!(::core::concat!("ui://", ::core::env!("CARGO_PKG_NAME"), "/", #path))
}

/// Returns an expression of type `AppPage`. The expression includes the file, so the program is recompiled when the
/// file changes.
fn page_expression(app: &App) -> TokenStream {
    let options = &app.options;
    let mut fields = Fields::default();
    let uri = app_uri(app);
    fields.set("uri", Some(uri));
    let path = app.path.as_ref();
    fields.set(
        "html",
        path.map(|path| {
            quote!(::core::include_str!(
                ::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #path)
            ))
        }),
    );
    fields.set_some("csp", options.csp.as_ref().map(csp_expression));
    let permissions = options.permissions.as_ref();
    fields.set_some("permissions", permissions.map(permissions_expression));
    fields.set_some("domain", options.domain.as_ref());
    fields.set_some("prefers_border", options.prefers_border.as_ref());
    fields.set("deprecated_key", options.deprecated_key.as_ref());
    fields.into_expression(&quote!(__mcp::AppPage))
}

fn csp_expression(csp: &Csp) -> TokenStream {
    let mut fields = Fields::default();
    for (name, origins) in csp.lists() {
        let origins = (!origins.is_empty()).then(|| quote!(&[#(#origins),*]));
        fields.set(name, origins);
    }
    fields.into_expression(&quote!(__mcp::AppCsp))
}

fn permissions_expression(permissions: &Permissions) -> TokenStream {
    flagged_variants(
        &quote!(__mcp::AppPermission),
        &[
            (permissions.camera, "Camera"),
            (permissions.microphone, "Microphone"),
            (permissions.geolocation, "Geolocation"),
            (permissions.clipboard_write, "ClipboardWrite"),
        ],
    )
}
