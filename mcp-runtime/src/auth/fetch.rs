//! Sends requests to an authorization server. Responses are subject to time and size limits, and redirects are not
//! followed.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Maximum size of a document, in bytes.
const MOST: usize = 1 << 20;

/// HTTP client for authorization servers. Opens connections on demand and reuses them for later requests.
#[derive(Clone)]
pub(super) struct Fetcher {
    /// Timeout for a response.
    pub(super) time: Duration,
    client: Arc<OnceLock<Result<HttpsClient, String>>>,
}

type HttpsClient = Client<HttpsConnector<HttpConnector>, String>;

impl Default for Fetcher {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(5),
            client: Arc::default(),
        }
    }
}

impl Fetcher {
    /// Fetches the document at this URL, which the caller has validated.
    pub(super) async fn get_json(&self, url: &str) -> Result<Value, String> {
        let request = Request::get(url).body(String::new());
        self.request_json(request.map_err(|error| error.to_string())?)
            .await
    }

    /// Sends a request and parses the response as JSON. The error describes the failure.
    pub(super) async fn request_json(&self, mut request: Request<String>) -> Result<Value, String> {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::ACCEPT, json);
        let response = async {
            let response = self.client()?.request(request).await;
            let response = response.map_err(|error| error_chain(&error))?;
            // Redirects are not followed because requests may go only to configured URLs.
            if response.status() != StatusCode::OK {
                return Err(format!("the server answered {}", response.status()));
            }
            let bytes = read_response(response.into_body()).await?;
            serde_json::from_slice(&bytes).map_err(|_| "the response is not JSON".to_owned())
        };
        let answered = tokio::time::timeout(self.time, response).await;
        answered.unwrap_or_else(|_| Err(format!("no response within {:?}", self.time)))
    }

    fn client(&self) -> Result<&HttpsClient, String> {
        let made = self.client.get_or_init(|| {
            // The provider is specified explicitly because a program with more than one provider has no default.
            let provider = rustls::crypto::ring::default_provider();
            let builder = HttpsConnectorBuilder::new();
            let builder = builder.with_provider_and_native_roots(provider);
            let builder =
                builder.map_err(|error| format!("no trusted root certificates: {error}"))?;
            // Plain HTTP is used only for URLs on this machine, as checked when the URLs were parsed.
            let connector = builder.https_or_http().enable_http1().build();
            Ok(Client::builder(TokioExecutor::new()).build(connector))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

async fn read_response(mut body: Incoming) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| error_chain(&error))?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > MOST {
            return Err(format!("the response exceeds {MOST} bytes"));
        }
    }
    Ok(bytes)
}

/// Returns the text of an error and its causes, because the outermost error alone is rarely informative.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
