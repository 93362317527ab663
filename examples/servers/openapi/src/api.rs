//! The API: its URL, the requests, and the results and errors that a model reads.

use mcp_runtime::handler::IntoToolResult as _;
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::{self, Map, Value};
use mcp_runtime::types::CallToolResult;
use mcp_runtime::values::strip_invisible;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url};

use crate::document::is_json;
use crate::operation::Operation;
use crate::settings::{Settings, SetupError};

/// The size in bytes up to which responses are read.
const MAX_RESPONSE: usize = 2 << 20;
/// Characters of the body of a failed response that the model reads.
const MAX_ERROR: usize = 500;

/// A failed request. Models read the messages; the causes, which contain URLs, are only logged.
#[expose]
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[expose]
    #[error("the API did not answer in time")]
    Timeout(#[source] reqwest::Error),
    #[expose]
    #[error("the API cannot be reached; try again later")]
    Unreachable(#[source] reqwest::Error),
    #[expose]
    #[error("the response has more than {0} bytes; ask for less")]
    TooLarge(usize),
}

impl From<reqwest::Error> for ApiError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() {
            Self::Timeout(error)
        } else {
            Self::Unreachable(error)
        }
    }
}

pub struct Api {
    client: Client,
    base: Url,
    /// The credentials, which only requests to the base get.
    authorization: Option<HeaderValue>,
}

impl Api {
    pub fn new(settings: &Settings, document: &Value) -> Result<Self, SetupError> {
        let authorization = match &settings.token {
            Some(token) => {
                let value = HeaderValue::try_from(format!("Bearer {}", token.expose_secret()));
                let invalid = |_| SetupError::new("OPENAPI_TOKEN: a header cannot contain it");
                let mut value = value.map_err(invalid)?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self {
            client: settings.client()?,
            base: base(settings, document)?,
            authorization,
        })
    }

    /// Calls an operation. A response of 4xx or 5xx is an error that the model reads.
    pub async fn call(
        &self,
        operation: &Operation,
        arguments: &Map<String, Value>,
    ) -> Result<CallToolResult> {
        let parts = operation.request(arguments)?;
        let mut url = self.url(&parts.path)?;
        if !parts.query.is_empty() {
            url.query_pairs_mut().extend_pairs(parts.query);
        }
        let mut request = self.client.request(operation.method.clone(), url);
        request = request.headers(parts.headers);
        request = request.header(ACCEPT, "application/json, text/*;q=0.5, */*;q=0.1");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        if let Some(body) = &parts.body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(ApiError::from)?;
        result(response).await
    }

    /// Appends a path to that of the base.
    fn url(&self, path: &str) -> Result<Url> {
        let path = format!("{}{path}", self.base.path().trim_end_matches('/'));
        let mut url = self.base.clone();
        url.set_path(&path);
        // Setting a path resolves `..`, however it is written.
        if url.path().split('/').count() != path.split('/').count() {
            bail!("the arguments lead to another path of the API");
        }
        Ok(url)
    }
}

/// Returns the URL of the API. The document decides on the host only if it comes from that host, or if it is a file and
/// there are no credentials to lose.
fn base(settings: &Settings, document: &Value) -> Result<Url, SetupError> {
    let listed = first_server(document);
    let set = "set OPENAPI_BASE_URL to the URL of the API";
    let base = match (&settings.base_url, settings.document_url()) {
        (Some(base), _) => base.clone(),
        (None, Some(from)) => {
            let base = from.join(&listed).map_err(|error| {
                SetupError::new(format!("the server `{listed}`: {error}; {set}"))
            })?;
            if base.origin() != from.origin() {
                return Err(SetupError::new(format!(
                    "the document comes from another host than its server `{base}`; if you trust it, {set}"
                )));
            }
            base
        }
        (None, None) if settings.token.is_some() => {
            return Err(SetupError::new(format!(
                "a file does not decide which host gets OPENAPI_TOKEN: {set}"
            )));
        }
        (None, None) => Url::parse(&listed).map_err(|error| {
            SetupError::new(format!(
                "the server `{listed}` of the document: {error}; {set}"
            ))
        })?,
    };
    let mut base = base;
    if !matches!(base.scheme(), "http" | "https") {
        return Err(SetupError::new(format!(
            "`{base}` is not an HTTP URL; {set}"
        )));
    }
    base.set_query(None);
    base.set_fragment(None);
    Ok(base)
}

/// Returns the URL of the first server, whose variables have their defaults.
fn first_server(document: &Value) -> String {
    let server = &document["servers"][0];
    let mut url = server["url"].as_str().unwrap_or("/").to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let default = variable["default"].as_str().unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), default);
    }
    url
}

async fn result(response: Response) -> Result<CallToolResult> {
    let status = response.status();
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let body = read_body(response, MAX_RESPONSE).await;
    if status.is_redirection() {
        bail!("status {status}: the API redirects to another URL, which is not followed");
    }
    if !status.is_success() {
        let body = body.unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        let body: String = strip_invisible(body.trim())
            .chars()
            .take(MAX_ERROR)
            .collect();
        bail!("status {status}: {body}");
    }
    let body = body?;
    if body.is_empty() {
        return Ok(CallToolResult::text(format!(
            "status {status}, without content"
        )));
    }
    if is_json(&content_type)
        && let Ok(value) = serde_json::from_slice::<Value>(&body)
    {
        return Json(value).into_tool_result();
    }
    match String::from_utf8(body) {
        Ok(text) => Ok(CallToolResult::text(text)),
        Err(_) => bail!("the API returned `{content_type}`, which is not text"),
    }
}

/// Reads a body up to a size.
pub async fn read_body(mut response: Response, max: usize) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > max {
            return Err(ApiError::TooLarge(max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
