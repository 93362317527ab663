//! TLS, with certificates that change while the server is running.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::json;
use tests::http::{Request, initialize, response, write};
use tests::run::free_address;
use tests::run::{self, Logged};
use tests::tls::{certificate, shake};
use tests::{Directory, Version};

use super::retry;

/// The example, with its log.
struct Server {
    address: SocketAddr,
    process: Logged,
}

impl Server {
    fn start(files: &Directory) -> Self {
        let address = free_address();
        let mut command = Command::new(tests::binary("tls"));
        command
            .args([files.join("certificate.pem"), files.join("key.pem")])
            .arg(address.to_string());
        let process = Logged::start(command);
        Self { address, process }
    }

    /// Waits until the log contains these texts, in this order.
    async fn logs(&mut self, texts: &[&str]) {
        for text in texts {
            while !self.process.line().await.expect(text).contains(text) {}
        }
    }

    /// Fails unless the server has this certificate.
    async fn serves(&self, certificate: &str) {
        for request in [
            Request::tool("hello", json!({"name": "Ada"})),
            initialize(Version::V2025_11_25),
        ] {
            let stream = retry(async || tokio::net::TcpStream::connect(self.address).await).await;
            let mut stream = shake(stream, certificate).await;
            write(&mut stream, &request).await;
            let mut response = response(stream, &request).await.unwrap();
            assert_eq!(response.status, 200);
            response.message().await;
        }
    }
}

fn put(files: &Directory, name: &str, text: &str) {
    std::fs::write(files.join(name), text).unwrap();
}

#[tokio::test]
async fn a_new_certificate_is_served_when_it_is_complete() {
    let files = Directory::new("tls", Version::V2026_07_28);
    let (old, key) = certificate();
    put(&files, "certificate.pem", &old);
    put(&files, "key.pem", &key);
    let mut server = Server::start(&files);
    server.serves(&old).await;

    let (new, key) = certificate();
    let half = &new[..new.len() / 2];
    for (certificate, problem) in [
        (half, "the certificate file is not complete"),
        ("", "the certificate file has no certificate"),
        // The certificate is complete, but the key is still the old one.
        (&new, "the certificate and the key cannot be used"),
    ] {
        put(&files, "certificate.pem", certificate);
        server.logs(&[problem]).await;
        server.serves(&old).await;
    }
    put(&files, "key.pem", &key[..key.len() / 2]);
    server.logs(&["the key file is not complete"]).await;
    server.serves(&old).await;
    std::fs::remove_file(files.join("key.pem")).unwrap();
    server.logs(&["cannot look for a new certificate"]).await;
    server.serves(&old).await;

    put(&files, "key.pem", &key);
    server
        .logs(&["new connections get the new certificate"])
        .await;
    server.serves(&new).await;
}

#[test]
fn a_certificate_that_cannot_be_used_is_a_clear_error_at_the_start() {
    let files = Directory::new("tls-start", Version::V2026_07_28);
    let (certificate, key) = certificate();
    for (certificate, key, problem) in [
        (
            Some(&certificate[..200]),
            Some(&*key),
            "the certificate file is not complete",
        ),
        (
            Some(&certificate),
            Some(&key[..50]),
            "the key file is not complete",
        ),
        (Some(&certificate), None, "key.pem: "),
    ] {
        for (name, text) in [("certificate.pem", certificate), ("key.pem", key)] {
            match text {
                Some(text) => put(&files, name, text),
                None => std::fs::remove_file(files.join(name)).unwrap(),
            }
        }
        let mut command = Command::new(tests::binary("tls"));
        command.args([files.join("certificate.pem"), files.join("key.pem")]);
        let output = run::output(&mut command);
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && log.contains(problem), "{log}");
    }
}
