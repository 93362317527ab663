//! `#[main]`: runs an asynchronous `main` on a runtime that the framework starts.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::expand::tokens::runtime_path;
use crate::parse::function::Function;
use crate::parse::options::CrateOption;

/// Returns `main`. The user's function is nested in a function with the same name, so that compiler errors refer to it
/// as `main`.
pub(crate) fn expand_main(function: Function, options: &CrateOption) -> TokenStream {
    let runtime = runtime_path(options.runtime.as_ref());
    let Function {
        attributes,
        visibility,
        signature,
        body,
    } = function;
    let (name, output) = (&signature.ident, &signature.output);
    quote!(
        #(#attributes)*
        #visibility fn #name() #output {
            #signature #body
            #runtime::__private::block_on(#name(), |__mcp_outcome| {
                use #runtime::__private::{MainBoxedError as _, MainError as _, MainOther as _};
                (&&__mcp_outcome).exit_on_error()
            })
        }
    )
}

/// Removes `async` from an invalid `main`, because rustc would otherwise report an additional error.
pub(crate) fn without_async(mut function: Function) -> TokenStream {
    if function.signature.asyncness.take().is_some() {
        function.signature.inputs.clear();
        function.signature.output = syn::ReturnType::Default;
        function.body = quote!({});
    }
    function.into_token_stream()
}
