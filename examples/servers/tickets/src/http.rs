//! HTTP: the endpoint for clients, health for orchestrators, and a page for people.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use mcp_runtime::http::{HttpOptions, TrustedProxies};
use mcp_runtime::prelude::{Server, data};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use crate::store::Store;

/// The settings. The variables begin with `TICKETS_`.
#[data(input)]
pub struct Settings {
    /// Address for HTTP, such as `0.0.0.0:8000`; without one, the server uses standard input and output
    pub listen: Option<String>,
    /// Names of this server that clients use
    #[serde(default)]
    hosts: Vec<String>,
    /// Addresses or networks of the gateway that sets `X-Tenant`
    #[arg(default = ["127.0.0.1", "::1"])]
    gateways: Vec<String>,
    /// Number of seconds for which requests are still accepted after a signal to stop
    #[arg(range(..=60), default)]
    shutdown_delay: u64,
}

/// Serves until a signal asks the program to stop. Calls that are running then may finish.
pub async fn serve(
    server: Server,
    address: &str,
    settings: &Settings,
    store: Store,
) -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(EnvFilter::from_default_env())
        .init();
    store.migrate().await?; // a mounted server makes its state with the first call, but the page may come first

    let options = HttpOptions::new()
        .health(true)
        .trusted_proxies(TrustedProxies::new(settings.gateways.clone()))
        .principal_header("x-tenant"); // sessions belong to the tenant
    let options = settings.hosts.iter().fold(options, HttpOptions::allow_host);
    let stopping = Arc::new(AtomicBool::new(false));
    let server = server.http(options).ready_check("stopping", {
        let stopping = stopping.clone();
        move || {
            let is_stopping = stopping.load(Ordering::Relaxed);
            async move {
                if is_stopping {
                    Err("a signal to stop")
                } else {
                    Ok(())
                }
            }
        }
    });
    let handle = server.handle();
    let app = Router::new()
        .route("/", get(page))
        .with_state(store)
        .merge(server.into_http_service()?)
        .into_make_service_with_connect_info::<SocketAddr>();

    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}/mcp", listener.local_addr()?);
    let delay = Duration::from_secs(settings.shutdown_delay);
    let stop = async move {
        mcp_runtime::server::shutdown_signal().await;
        stopping.store(true, Ordering::Relaxed); // load balancers look elsewhere from here on
        tokio::time::sleep(delay).await;
        handle.shut_down();
    };
    Ok(axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .await?)
}

/// Tells people that the server runs, and how much there is to do.
async fn page(State(store): State<Store>) -> Result<String, StatusCode> {
    match store.count_open().await {
        Ok(open) => Ok(format!("{open} open tickets\n")),
        Err(error) => {
            tracing::error!("{error}");
            Err(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}
