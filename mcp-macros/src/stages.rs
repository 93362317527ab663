//! Runs the three stages of each macro.

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::errors::Errors;
use crate::expand;
use crate::model;
use crate::model::app::App;
use crate::model::data::Data;
use crate::model::elicit::Elicited;
use crate::model::expose::Exposed;
use crate::model::handler::Handler;
use crate::model::server::Server;
#[cfg(feature = "skills")]
use crate::model::skills::IncludedSkills;
use crate::parse::annotations::parse_function;
use crate::parse::app::parse_app;
use crate::parse::data_field::take_data_fields;
use crate::parse::elicit::parse_elicit;
use crate::parse::function::Function;
use crate::parse::kind::Kind;
use crate::parse::options::{CrateOption, parse_attribute};
use crate::parse::server::parse_server;
#[cfg(feature = "skills")]
use crate::parse::skills::parse_skills;

/// Runs the stages of one macro and collects the mistakes that they find.
///
/// If `item` cannot be parsed, it is returned unchanged; if it contains mistakes that prevent it from being expanded,
/// the output of `recover` replaces it. A `compile_error!` for each mistake is appended.
fn run_stages<Parsed, Model>(
    item: TokenStream,
    parse: impl FnOnce(TokenStream, &mut Errors) -> syn::Result<Parsed>,
    model: impl FnOnce(Parsed, &mut Errors) -> Model,
    expand: impl FnOnce(Model) -> TokenStream,
    recover: impl FnOnce(Model) -> TokenStream,
) -> TokenStream {
    let mut errors = Errors::default();
    let parsed = match parse(item.clone(), &mut errors) {
        Ok(parsed) => parsed,
        Err(error) => return expand::with_error(item, &error),
    };
    let model = model(parsed, &mut errors);
    let output = if errors.can_expand() {
        expand(model)
    } else {
        recover(model)
    };
    match errors.into_error() {
        None => output,
        Some(error) => expand::with_error(output, &error),
    }
}

/// Expands the attribute for this kind of handler.
pub(crate) fn expand_handler(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    run_stages(
        item,
        |item, errors| parse_function(kind, options, item, errors),
        |(function, annotations), errors| {
            let handler = Handler::new(&function, annotations, None, errors);
            (function, handler)
        },
        |(function, handler)| expand::expand_function(function, &handler),
        |(function, _)| function.into_token_stream(),
    )
}

/// Expands `#[server]`.
pub(crate) fn expand_server(options: TokenStream, item: TokenStream) -> TokenStream {
    run_stages(
        item,
        |item, errors| parse_server(options, item, errors),
        Server::new,
        expand::expand_server,
        |server| server.block.into_token_stream(),
    )
}

/// Expands `#[app]`.
pub(crate) fn expand_app(options: TokenStream, item: TokenStream) -> TokenStream {
    run_stages(
        item,
        |item, errors| parse_app(options, item, errors),
        App::new,
        |app| expand::expand_app(&app),
        |app| expand::expand_app_without_page(&app),
    )
}

/// Expands `#[main]`.
pub(crate) fn expand_main(options: TokenStream, item: TokenStream) -> TokenStream {
    run_stages(
        item,
        |item, errors| {
            let expected = "`#[main]` belongs on an `async fn`";
            parse_attribute::<Function, CrateOption>(options, item, expected, errors)
        },
        |(function, options), errors| {
            model::main::check_main_signature(&function.signature, errors);
            (function, options)
        },
        |(function, options)| expand::expand_main(function, &options),
        |(function, _)| expand::without_async(function),
    )
}

/// Expands `skills!` for the package in a directory. If there are mistakes, the output is an expression of the same
/// type, so that the mistakes do not cause further errors.
#[cfg(feature = "skills")]
pub(crate) fn expand_skills(
    input: TokenStream,
    package: Option<std::path::PathBuf>,
) -> TokenStream {
    let folder = match parse_skills(input) {
        Ok(folder) => folder,
        Err(error) => return error.to_compile_error(),
    };
    let mut errors = Errors::default();
    let included = IncludedSkills::new(folder, package, &mut errors);
    match errors.into_error() {
        None => expand::expand_skills(&included),
        Some(error) => expand::expand_failed_skills(&included, &error),
    }
}

/// Expands `#[derive(Elicit)]`. The output never includes the item, because the compiler adds a derive macro's output
/// to the item rather than replacing the item with it.
pub(crate) fn expand_elicit(item: TokenStream) -> TokenStream {
    run_stages(
        TokenStream::new(),
        |_, errors| parse_elicit(item, errors),
        Elicited::new,
        |elicited| expand::expand_elicit(&elicited),
        |_| TokenStream::new(),
    )
}

/// Expands `#[expose]`.
pub(crate) fn expand_expose(options: TokenStream, item: TokenStream) -> TokenStream {
    run_stages(
        item,
        |item, errors| {
            let expected = "`#[expose]` belongs on an error type, a struct or an enum";
            parse_attribute::<syn::DeriveInput, CrateOption>(options, item, expected, errors)
        },
        |(ty, options), errors| (Exposed::new(ty, errors), options),
        |(exposed, options)| expand::expand_expose(&exposed, &options),
        |(exposed, _)| exposed.ty.into_token_stream(),
    )
}

/// Expands `#[data]`. The derives are generated even if there are mistakes, so that missing implementations do not
/// cause further errors.
pub(crate) fn expand_data(options: TokenStream, item: TokenStream) -> TokenStream {
    run_stages(
        item,
        |item, errors| {
            let expected = "`#[data]` belongs on a struct or an enum";
            let (mut ty, options) = parse_attribute(options, item, expected, errors)?;
            let fields = take_data_fields(&mut ty, errors);
            Ok((ty, fields, options))
        },
        |(ty, fields, options), errors| Data::new(ty, fields, options, errors),
        |data| expand::expand_data(&data),
        |data| expand::expand_data(&data),
    )
}
