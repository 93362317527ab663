//! Asks an authorization server: bounded in time and size, without following it anywhere else.

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

/// Largest document that is read, in bytes.
const MOST: usize = 1 << 20;

/// Asks authorization servers. Made without connections, which are kept for the next question.
#[derive(Clone)]
pub(super) struct Fetcher {
    /// How long an answer may take.
    pub(super) time: Duration,
    client: Arc<OnceLock<Result<Asking, String>>>,
}

type Asking = Client<HttpsConnector<HttpConnector>, String>;

impl Default for Fetcher {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(5),
            client: Arc::default(),
        }
    }
}

impl Fetcher {
    /// The document at this address, which was checked before.
    pub(super) async fn get(&self, address: &str) -> Result<Value, String> {
        let request = Request::get(address).body(String::new());
        self.ask(request.map_err(|error| error.to_string())?).await
    }

    /// The answer to a request, which has to be a document. `Err` says what went wrong.
    pub(super) async fn ask(&self, mut request: Request<String>) -> Result<Value, String> {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::ACCEPT, json);
        let asked = async {
            let response = self.client()?.request(request).await;
            let response = response.map_err(|error| causes(&error))?;
            // That it is elsewhere is no answer: only addresses that somebody configured are asked.
            if response.status() != StatusCode::OK {
                return Err(format!("it answers {}", response.status()));
            }
            let bytes = read(response.into_body()).await?;
            serde_json::from_slice(&bytes).map_err(|_| "it answers what is no JSON".to_owned())
        };
        let answered = tokio::time::timeout(self.time, asked).await;
        answered.unwrap_or_else(|_| Err(format!("it took longer than {:?}", self.time)))
    }

    fn client(&self) -> Result<&Asking, String> {
        let made = self.client.get_or_init(|| {
            // Named, because a program may have more than one, and no default then.
            let provider = rustls::crypto::ring::default_provider();
            let builder = HttpsConnectorBuilder::new();
            let builder = builder.with_provider_and_native_roots(provider);
            let builder =
                builder.map_err(|error| format!("this machine trusts no certificates: {error}"))?;
            // Over plain HTTP only to this machine, which its addresses were checked for.
            let connector = builder.https_or_http().enable_http1().build();
            Ok(Client::builder(TokioExecutor::new()).build(connector))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

async fn read(mut body: Incoming) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| causes(&error))?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > MOST {
            return Err(format!("it answers with more than {MOST} bytes"));
        }
    }
    Ok(bytes)
}

/// An error and what caused it: the outermost says little.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
