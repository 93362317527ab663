//! A Redis behind TLS.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::instance::{Group, echo, text};

/// Speaks TLS in front of the group's Redis. Returns the port, and the certificate for `localhost`.
async fn speak_tls(group: &Group) -> (u16, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let tls = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = group.redis.socket();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (tls, socket) = (tls.clone(), socket.clone());
            tokio::spawn(async move {
                // A client that does not trust the certificate goes away.
                let Ok(mut stream) = tls.accept(stream).await else {
                    return;
                };
                let mut redis = UnixStream::connect(socket).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut redis).await;
            });
        }
    });
    (port, certificate)
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_redis_behind_tls_is_used_if_the_system_trusts_its_certificate() {
    let group = Group::start();
    let (port, certificate) = speak_tls(&group).await;
    let trusted = group.redis.folder().join("trusted.pem");
    std::fs::write(&trusted, certificate).unwrap();
    let (url, trusted) = (
        format!("rediss://localhost:{port}"),
        trusted.display().to_string(),
    );
    let variables = [("REDIS_URL", &*url), ("SSL_CERT_FILE", &*trusted)];
    let instance = group.instance_with(&variables).await;
    let session = instance.session().await;
    assert_eq!(
        text(&instance.message(&echo(&session)).await.1),
        "still here"
    );
    // A certificate that is not trusted: another one's.
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&trusted, other.cert.pem()).unwrap();
    let url = format!("rediss://user:secret@localhost:{port}");
    let variables = [("REDIS_URL", &*url), ("SSL_CERT_FILE", &*trusted)];
    let said = group.refused(&variables).await;
    assert!(
        said.contains(&format!("localhost:{port} cannot be reached")),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}
