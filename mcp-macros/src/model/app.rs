//! Models a page: the struct that names it and the file that contains it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_schema::suggest::closest;

use crate::errors::Errors;
use crate::model::name::Name;
use crate::model::{scopes, text};
use crate::parse::app::{AnnotatedApp, AppOptions};
use crate::parse::doc_comment::Description;

/// Maximum size of a page, in bytes. When encoded as JSON, such a page is still smaller than the default maximum size
/// of a result.
const MAX_BYTES: u64 = 4 << 20;

/// A page, ready to be expanded.
pub(crate) struct App {
    pub(crate) item: syn::ItemStruct,
    pub(crate) path: Option<syn::LitStr>,
    pub(crate) name: Name,
    pub(crate) description: Option<Description>,
    pub(crate) options: AppOptions,
}

impl App {
    /// Builds the model and checks the file.
    pub(crate) fn new(annotated: AnnotatedApp, errors: &mut Errors) -> Self {
        let AnnotatedApp {
            item,
            path,
            options,
        } = annotated;
        scopes::check_scopes(&options.listed, errors);
        text::check_app_texts(&options, errors);
        if let Some(path) = &path
            && let Err(problem) = check_page(&package_root(), &path.value())
        {
            errors.push(syn::Error::new(path.span(), problem));
        }
        Self {
            name: Name::new(options.listed.name.as_ref(), &item.ident),
            description: Description::new(options.listed.description.as_ref(), &item.attrs),
            item,
            path,
            options,
        }
    }

    /// Returns the percent-encoded path, used as the last part of the page's URI if the author does not specify a URI.
    pub(crate) fn encoded_path(&self) -> String {
        let path = self.path.as_ref().map(syn::LitStr::value);
        let mut encoded = String::new();
        for byte in path.unwrap_or_default().replace('\\', "/").bytes() {
            match byte {
                b'/' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
                _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
                _ => {
                    // Writing to a `String` cannot fail.
                    let _ = write!(encoded, "%{byte:02X}");
                }
            }
        }
        encoded
    }
}

/// Returns the directory of the package that is being compiled.
fn package_root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .unwrap_or_default()
}

/// Checks that a page can be embedded.
fn check_page(root: &Path, path: &str) -> Result<(), String> {
    if path.is_empty() || Path::new(path).has_root() {
        return Err(
            "a page's path is relative to the folder that contains the package's `Cargo.toml`: \
                    `#[app(\"ui/chart.html\")]`"
                .to_owned(),
        );
    }
    let file = root.join(path);
    let Ok(metadata) = fs::metadata(&file) else {
        return Err(match similar_page_path(root, path) {
            Some(similar) => format!("page `{path}` not found; did you mean `{similar}`?"),
            None => format!(
                "page `{path}` not found; its path is relative to the folder that contains the package's `Cargo.toml`"
            ),
        });
    };
    if !metadata.is_file() {
        return Err(format!("`{path}` is not a file"));
    }
    if metadata.len() > MAX_BYTES {
        return Err(format!(
            "the page `{path}` is {} bytes, but the maximum is {MAX_BYTES}; load large parts from an origin in \
             `csp(resource_domains(…))`, or through a tool",
            metadata.len()
        ));
    }
    let bytes = fs::read(&file).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    match String::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("the page `{path}` is not UTF-8")),
    }
}

/// Returns the path of the file whose name is most similar to the missing file's name, searching the same directory.
fn similar_page_path(root: &Path, path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let entries = fs::read_dir(root.join(folder)).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let meant = closest(name, names.iter().map(String::as_str))?;
    Some(path.strip_suffix(name).unwrap_or_default().to_owned() + meant)
}
