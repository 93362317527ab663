//! A server on a free port of this machine, for tests over HTTP.

use std::fmt;
use std::future::ready;

use mcp_http::HttpService;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server that listens on a free port of this machine until this is dropped.
///
/// [`TestClient::http`](crate::TestClient::http) and any other HTTP client can connect to [`url`](Self::url).
pub struct TestServer {
    url: String,
    serving: JoinHandle<()>,
}

impl TestServer {
    /// Serves this service, which `Server::into_http_service` returns.
    ///
    /// # Panics
    ///
    /// Panics if this machine has no free port, or if a value of the server's state cannot be created.
    pub async fn start(service: HttpService) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("this machine has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let url = format!("http://{address}{}", service.endpoint_path());
        if let Err(error) = service.prepare_to_serve().await {
            panic!("the server does not start:\n{error}");
        }
        let serving = tokio::spawn(async move {
            if let Err(error) = mcp_http::serve(listener, |stream| ready(Ok(stream)), service).await
            {
                panic!("the server has failed: {error}");
            }
        });
        Self { url, serving }
    }

    /// Returns the URL of the server's endpoint.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestServer").field(&self.url).finish()
    }
}
