//! `#[main]`: an asynchronous `main`, on a runtime that the framework starts.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::expand::handler::runtime;
use crate::expand::with_error;
use crate::model::Errors;
use crate::parse::function::Function;
use crate::parse::item_options::parse_options;
use crate::parse::server::MainOptions;
use crate::parse::value::PathValue;

/// Expands `#[main]`. The user's function is nested in one of the same name, so that compiler errors in it read as usual.
pub(crate) fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    let function: Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return with_error(item, &error),
    };
    let mut errors = Errors::default();
    let options: MainOptions = errors.take(parse_options(options)).unwrap_or_default();
    check(&function, &mut errors);
    if let Err(error) = errors.finish() {
        return with_error(without_async(function).into_token_stream(), &error);
    }
    let Function {
        attributes,
        visibility,
        signature,
        body,
    } = function;
    let runtime = runtime(options.runtime.as_ref().map(|PathValue(path)| path));
    let (name, output) = (&signature.ident, &signature.output);
    quote!(
        #(#attributes)*
        #visibility fn #name() #output {
            #signature #body
            #runtime::__private::block_on(#name())
        }
    )
}

fn check(function: &Function, errors: &mut Errors) {
    let signature = &function.signature;
    if signature.asyncness.is_none() {
        errors.push(syn::Error::new_spanned(
            signature.fn_token,
            "`#[main]` belongs on an `async fn`",
        ));
    }
    if let Some(parameter) = signature.inputs.first() {
        errors.push(syn::Error::new_spanned(
            parameter,
            "`main` takes no parameters",
        ));
    }
}

/// Returns an invalid `main` without `async`, which rustc would reject as well.
fn without_async(mut function: Function) -> Function {
    if function.signature.asyncness.take().is_some() {
        function.signature.inputs.clear();
        function.signature.output = syn::ReturnType::Default;
        function.body = quote!({});
    }
    function
}
