//! The REST API: requests that are sent again, pages, and errors. Knows nothing of MCP but which errors models may
//! read.

use std::time::Duration;

use mcp_runtime::prelude::{data, expose};
use mcp_runtime::serde_json::Value;
use mcp_runtime::server::Secret;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LINK, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

/// Pauses before a request is sent again, if the service does not say how long.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
/// The longest pause in seconds. If the service asks for more, the model is told.
const MAX_PAUSE: u64 = 10;
/// Entries in a page, the most that GitHub sends.
const PAGE: usize = 100;

/// The settings. The variables begin with `GITHUB_`.
#[data(input)]
pub struct Settings {
    /// Personal access token
    token: Option<Secret<String>>,
    /// URL of the API; that of GitHub Enterprise is `https://HOST/api/v3/`
    #[arg(default = "https://api.github.com/")]
    api_url: Url,
}

/// A failed request. Models read the variants that are exposed; the others are only logged.
#[expose]
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[expose]
    #[error("there is no such repository or issue, or the token does not grant access to it")]
    NotFound,
    #[expose]
    #[error("GitHub refuses this; `GITHUB_TOKEN` is missing, has expired, or lacks the permission")]
    Refused,
    #[expose]
    #[error("GitHub does not accept this: {0}")]
    Invalid(String),
    #[expose]
    #[error("too many requests; try again in {0} s")]
    TooMany(u64),
    #[expose]
    #[error("GitHub does not answer; try again later")]
    Unavailable(#[source] Option<reqwest::Error>),
    #[error("unexpected status {0}")]
    Status(StatusCode),
    #[error(transparent)]
    Request(#[from] reqwest::Error),
    #[error("invalid URL: {0}")]
    Url(String),
    #[error("invalid token: {0}")]
    Token(#[from] reqwest::header::InvalidHeaderValue),
}

pub struct Api {
    client: Client,
    base: Url,
}

impl Api {
    pub fn new(settings: &Settings) -> Result<Self, ApiError> {
        // Fails if the program has chosen another provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/vnd.github+json"),
        );
        if let Some(token) = &settings.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let client = Client::builder()
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .default_headers(headers)
            .timeout(Duration::from_secs(10))
            .build()?;
        let mut base = settings.api_url.clone();
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path())); // otherwise the last part would be replaced
        }
        Ok(Self { client, base })
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        Ok(send(self.request(Method::GET, path)?).await?.json().await?)
    }

    /// Gets the entries of all pages, up to `limit`.
    pub async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        limit: usize,
    ) -> Result<Vec<T>, ApiError> {
        let mut entries = Vec::new();
        let request = self.request(Method::GET, path)?.query(query);
        let mut next = Some(request.query(&[("per_page", limit.min(PAGE))]));
        while let Some(request) = next.filter(|_| entries.len() < limit) {
            let response = send(request).await?;
            next = self
                .next_page(response.headers())?
                .map(|url| self.client.get(url));
            entries.extend(response.json::<Vec<T>>().await?);
        }
        entries.truncate(limit);
        Ok(entries)
    }

    /// Posts once: a request that creates something is not sent again.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ApiError> {
        let request = self.request(Method::POST, path)?.json(body);
        Ok(send_once(request).await?.json().await?)
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, ApiError> {
        let url = self
            .base
            .join(path)
            .map_err(|error| ApiError::Url(error.to_string()))?;
        Ok(self.client.request(method, url))
    }

    /// Finds the next page in the header `Link`. Another host would get the token, so only the API's own is followed.
    fn next_page(&self, headers: &HeaderMap) -> Result<Option<Url>, ApiError> {
        let links = headers.get(LINK).and_then(|links| links.to_str().ok());
        let next = links
            .into_iter()
            .flat_map(|links| links.split(','))
            .find_map(|link| link.trim().strip_suffix(r#"; rel="next""#));
        let Some(next) = next else { return Ok(None) };
        let url = next.trim_start_matches('<').trim_end_matches('>');
        match Url::parse(url) {
            Ok(url) if url.origin() == self.base.origin() => Ok(Some(url)),
            _ => Err(ApiError::Url(url.to_owned())),
        }
    }
}

/// Sends a request, and sends it again if the service is busy or cannot be reached.
async fn send(request: RequestBuilder) -> Result<Response, ApiError> {
    for pause in PAUSES {
        let attempt = request.try_clone().expect("the body is not a stream");
        let pause = match send_once(attempt).await {
            Err(ApiError::TooMany(seconds)) if seconds <= MAX_PAUSE => Duration::from_secs(seconds),
            Err(ApiError::Unavailable(_)) => pause,
            outcome => return outcome,
        };
        tokio::time::sleep(pause).await;
    }
    send_once(request).await
}

async fn send_once(request: RequestBuilder) -> Result<Response, ApiError> {
    let response = request.send().await;
    accepted(response.map_err(|error| ApiError::Unavailable(Some(error)))?).await
}

/// Distinguishes statuses.
async fn accepted(response: Response) -> Result<Response, ApiError> {
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    Err(match response.status() {
        status if status.is_success() => return Ok(response),
        StatusCode::NOT_FOUND | StatusCode::GONE => ApiError::NotFound,
        StatusCode::TOO_MANY_REQUESTS => ApiError::TooMany(retry_after.unwrap_or(1)),
        // GitHub says so, too, if there were too many requests.
        StatusCode::FORBIDDEN if retry_after.is_some() => {
            ApiError::TooMany(retry_after.unwrap_or(1))
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ApiError::Refused,
        StatusCode::UNPROCESSABLE_ENTITY => ApiError::Invalid(message(response).await),
        status if status.is_server_error() => ApiError::Unavailable(None),
        status => ApiError::Status(status),
    })
}

async fn message(response: Response) -> String {
    #[data(input, allow_unknown_fields)]
    struct Body {
        message: String,
    }
    let body = response.json::<Body>().await;
    body.map_or_else(|_| "it does not say why".to_owned(), |body| body.message)
}
