//! The page's files, which are part of the program. A debug build reads them from `page/`, so changes to the page do
//! not require a new build.

use std::borrow::Cow;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Declares the files in `page/`, so that each file is named only once.
macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../page/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files! {
    "index.html" "style.css" "icon.svg"
    "main.js" "link.js" "client.js" "dom.js" "exact.js" "form.js" "schema.js" "result.js" "markdown.js" "tree.js" "wire.js"
    "questions.js" "lists.js" "call.js" "compare.js" "tasks.js" "apps.js" "snippets.js" "recording.js"
};

/// Returns a file as a response.
pub(super) fn get(name: &str) -> Response {
    let Some((_, text)) = FILES.iter().find(|(file, _)| *file == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kind = match name.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
    let edited =
        cfg!(debug_assertions).then(|| std::fs::read_to_string(format!("{folder}/{name}")).ok());
    let text = edited.flatten().map_or(Cow::Borrowed(*text), Cow::Owned);
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
