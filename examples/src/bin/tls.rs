//! Serves HTTPS: `tls CERTIFICATE KEY [ADDRESS]`, with PEM files, by default at 127.0.0.1:8443. When the files change,
//! new connections get the new certificate; a file that is half written, or does not fit the other one, is reported,
//! and the old certificate stays. Needs the feature `tls` of the examples.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::prelude::*;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tracing_subscriber::filter::LevelFilter;

/// Interval between looks at the files. Renewed certificates overlap with the old ones by days.
const INTERVAL: Duration = Duration::from_secs(2);

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Greets a user.
#[tool]
fn hello(name: &str) -> String {
    format!("Hello, {name}!")
}

/// The files of a certificate chain and its key.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    /// Reads both files, without looking inside.
    fn read(&self) -> Result<[Vec<u8>; 2], Error> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok([read(&self.certificate)?, read(&self.key)?])
    }
}

/// Makes an acceptor. Fails if a file is incomplete, or if the key is not that of the certificate.
fn acceptor([certificate, key]: &[Vec<u8>; 2]) -> Result<TlsAcceptor, Error> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificate file is not complete: {error}"))?;
    if chain.is_empty() {
        return Err("the certificate file has no certificate".into());
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("the key file is not complete: {error}"))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("the certificate and the key cannot be used: {error}"))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Looks at the files again and again, and replaces the acceptor when both have changed to something usable.
async fn reload(files: Files, mut seen: [Vec<u8>; 2], acceptors: watch::Sender<TlsAcceptor>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let contents = match files.read() {
            Ok(contents) if contents == seen => continue,
            Ok(contents) => contents,
            Err(error) => {
                tracing::warn!(%error, "cannot look for a new certificate; the old one stays");
                continue;
            }
        };
        match acceptor(&contents) {
            Ok(acceptor) => {
                acceptors.send_replace(acceptor);
                tracing::info!("new connections get the new certificate");
            }
            Err(error) => tracing::warn!(%error, "the old certificate stays"),
        }
        // The same mistake is reported only once.
        seen = contents;
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let (Some(certificate), Some(key)) = (arguments.next(), arguments.next()) else {
        return Err("which certificate, and which key?".into());
    };
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(LevelFilter::INFO)
        .init();
    let files = Files {
        certificate: certificate.into(),
        key: key.into(),
    };
    let contents = files.read()?;
    let (sender, acceptors) = watch::channel(acceptor(&contents)?);
    tokio::spawn(reload(files, contents, sender));

    let address = arguments.next();
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8443")).await?;
    let server = new_server!();
    let handle = server.handle();
    tokio::spawn(async move {
        mcp_runtime::server::shutdown_signal().await;
        handle.shut_down(); // calls in progress can finish
    });
    server
        .serve_http_with(listener, move |stream| {
            acceptors.borrow().clone().accept(stream)
        })
        .await?;
    Ok(())
}
