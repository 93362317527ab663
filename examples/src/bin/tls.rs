//! Serves HTTPS: `tls CERTIFICATE KEY [ADDRESS]`, with PEM files, by default at 127.0.0.1:8443.
//! Needs the feature `tls` of the examples.

use std::sync::Arc;

use mcp_runtime::prelude::*;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

/// Greets a user.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(certificate), Some(key)) = (arguments.next(), arguments.next()) else {
        return Err("which certificate, and which key?".into());
    };
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let tls = TlsAcceptor::from(Arc::new(config));

    let address = arguments.next();
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8443")).await?;
    let server = new_server!();
    let handle = server.handle();
    tokio::spawn(async move {
        mcp_runtime::shutdown_signal().await;
        handle.shut_down(); // calls under way may finish
    });
    server
        .serve_http_with(listener, move |stream| tls.accept(stream))
        .await?;
    Ok(())
}
