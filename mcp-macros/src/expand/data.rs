//! `#[data]`: the derives an argument or result needs, through the re-exports of the runtime.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::expand::handler::runtime;
use crate::expand::with_error;
use crate::parse::item_options::parse_options;
use crate::parse::server::DataOptions;
use crate::parse::value::PathValue;

/// Expands `#[data]`.
pub(crate) fn data(options: TokenStream, item: TokenStream) -> TokenStream {
    let options: DataOptions = match parse_options(options) {
        Ok(options) => options,
        Err(error) => return with_error(item, &error),
    };
    if options.input.is_present() && options.output.is_present() {
        let error = syn::Error::new(
            options.output.span(),
            "`input` and `output` together are what `#[data]` means by itself; leave both out",
        );
        return with_error(item, &error);
    }
    let runtime = runtime(options.runtime.as_ref().map(|PathValue(path)| path));
    let serialize = (!options.input.is_present()).then(|| quote!(#runtime::serde::Serialize,));
    let deserialize = (!options.output.is_present()).then(|| quote!(#runtime::serde::Deserialize,));
    let serde = path_text(&quote!(#runtime::serde));
    let schemars = path_text(&quote!(#runtime::schemars));
    quote!(
        #[derive(#serialize #deserialize #runtime::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        #item
    )
}

/// A path as the text that serde and schemars want.
fn path_text(path: &TokenStream) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
