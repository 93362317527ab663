//! Parses the options in `#[app("page.html", …)]`, and the options of a tool that has a page.

use darling::ast::NestedMeta;
use darling::util::Flag;
use darling::{Error, FromMeta, Result};
use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::parse::access::parse_strings;
use crate::parse::listed::ListedOptions;
use crate::parse::options::parse_item;
use crate::parse::reword::reworded_error;
use crate::parse::value::{CacheScopeValue, DurationValue, Keyed, flag, text};

const EXPECTED: &str = "`#[app]` belongs on a struct without fields: `struct Chart;`";
const NEEDS_PATH: &str =
    "`app` needs the path of a page as its first argument: `#[app(\"ui/chart.html\")]`";

/// An annotated struct, and the options of its attribute.
pub(crate) struct AnnotatedApp {
    pub(crate) item: syn::ItemStruct,
    /// The path of the page, or `None` if it is missing.
    pub(crate) path: Option<syn::LitStr>,
    pub(crate) options: AppOptions,
}

/// Options that follow the path in `#[app(…)]`.
#[derive(Default, FromMeta)]
pub(crate) struct AppOptions {
    /// The URI of the page.
    #[darling(with = text)]
    pub(crate) uri: Option<syn::LitStr>,
    /// The origins that the page may use.
    pub(crate) csp: Option<Csp>,
    /// The browser features that the page requests.
    pub(crate) permissions: Option<Permissions>,
    /// The origin on which the host serves the page.
    #[darling(with = text)]
    pub(crate) domain: Option<syn::LitStr>,
    /// `true` if the host should draw a border around the page.
    #[darling(with = flag)]
    pub(crate) prefers_border: Option<Keyed<bool>>,
    /// `true` if tools should also have the deprecated `_meta` key.
    #[darling(with = flag)]
    pub(crate) deprecated_key: Option<Keyed<bool>>,
    /// The duration for which a client may cache the page.
    pub(crate) ttl: Option<DurationValue>,
    /// The scope in which the page may be cached.
    pub(crate) cache: Option<CacheScopeValue>,
    #[darling(flatten)]
    pub(crate) listed: ListedOptions,
}

/// Options in `csp(…)`. Each option lists origins.
#[derive(Default, FromMeta)]
#[allow(
    clippy::struct_field_names,
    reason = "the specification names the fields"
)]
pub(crate) struct Csp {
    /// Origins that scripts may connect to.
    pub(crate) connect_domains: Option<Origins>,
    /// Origins of scripts, styles, images, fonts and media.
    pub(crate) resource_domains: Option<Origins>,
    /// Origins of nested frames.
    pub(crate) frame_domains: Option<Origins>,
    /// Origins that the page may use in its base URI.
    pub(crate) base_uri_domains: Option<Origins>,
}

impl Csp {
    /// Returns each list with the name of its field in the run-time type.
    pub(crate) fn lists(&self) -> [(&'static str, &[syn::LitStr]); 4] {
        fn origins(list: Option<&Origins>) -> &[syn::LitStr] {
            list.map_or(&[], |Origins(origins)| origins)
        }
        [
            ("connect_domains", origins(self.connect_domains.as_ref())),
            ("resource_domains", origins(self.resource_domains.as_ref())),
            ("frame_domains", origins(self.frame_domains.as_ref())),
            ("base_uri_domains", origins(self.base_uri_domains.as_ref())),
        ]
    }
}

/// An option such as `connect_domains("https://api.example.com")`.
pub(crate) struct Origins(pub(crate) Vec<syn::LitStr>);

impl FromMeta for Origins {
    fn from_meta(item: &syn::Meta) -> Result<Self> {
        let name = item.path().get_ident().map(ToString::to_string);
        let name = name.unwrap_or_default();
        let form =
            format!("`{name}` takes origins in parentheses: `{name}(\"https://api.example.com\")`");
        parse_strings(item, &form).map(Self)
    }
}

/// Options in `permissions(…)`.
#[derive(Default, FromMeta)]
pub(crate) struct Permissions {
    /// Permission to use the camera.
    pub(crate) camera: Flag,
    /// Permission to use the microphone.
    pub(crate) microphone: Flag,
    /// Permission to access the user's location.
    pub(crate) geolocation: Flag,
    /// Permission to write to the clipboard.
    pub(crate) clipboard_write: Flag,
}

/// The `visibility(model, app)` option for a tool.
#[derive(Default, FromMeta)]
pub(crate) struct Visibility {
    /// The model sees the tool.
    pub(crate) model: Flag,
    /// The page may call the tool.
    pub(crate) app: Flag,
}

/// Parses an annotated struct and the options of its attribute.
pub(crate) fn parse_app(
    options: TokenStream,
    item: TokenStream,
    errors: &mut Errors,
) -> syn::Result<AnnotatedApp> {
    let item: syn::ItemStruct = parse_item(item, EXPECTED)?;
    if !matches!(item.fields, syn::Fields::Unit) || !item.generics.params.is_empty() {
        errors.push(syn::Error::new(item.ident.span(), EXPECTED));
    }
    let parsed = errors.ok_or_push(parse_options(options));
    let (path, options) = parsed.unzip();
    Ok(AnnotatedApp {
        item,
        path,
        options: options.unwrap_or_default(),
    })
}

fn parse_options(tokens: TokenStream) -> syn::Result<(syn::LitStr, AppOptions)> {
    let options = NestedMeta::parse_meta_list(tokens)?;
    match options.split_first() {
        Some((NestedMeta::Lit(syn::Lit::Str(path)), options)) => {
            let options = AppOptions::from_list(options).map_err(reworded_error)?;
            Ok((path.clone(), options))
        }
        Some((other, _)) => Err(syn::Error::new(other.span(), NEEDS_PATH)),
        None => Err(syn::Error::new(Span::call_site(), NEEDS_PATH)),
    }
}

/// Parses `visibility(…)`, which names at least one of its options.
pub(crate) fn parse_visibility(item: &syn::Meta) -> Result<Option<Visibility>> {
    let parsed = Visibility::from_meta(item)?;
    if parsed.model.is_present() || parsed.app.is_present() {
        return Ok(Some(parsed));
    }
    let form = "`visibility` takes `model`, `app` or both: `visibility(app)`";
    Err(Error::custom(form).with_span(item))
}
