//! What the command line is told of a server.

#[cfg(feature = "http")]
use mcp_cli::HttpDescription;
use mcp_cli::{Grammar, Program};

use crate::server::Server;

impl Server {
    /// Returns the server's part of the grammar of its command line.
    pub(super) fn grammar<'a>(&'a self, environment: &'a str) -> Grammar<'a> {
        Grammar {
            identity: &self.identity,
            environment,
            has_tasks: self.has_tasks(),
        }
    }

    /// Returns the server as its commands see it.
    pub(super) fn into_program(self) -> Program {
        Program {
            settings: self.environment.clone(),
            prefixes: self.prefixes.clone(),
            has_tasks: self.has_tasks(),
            task_store: self.kept_tasks(),
            names_backend: self.names_backend(),
            #[cfg(feature = "http")]
            http: Some(self.described_http()),
            #[cfg(not(feature = "http"))]
            http: None,
            server: Box::new(self),
        }
    }

    #[cfg(feature = "http")]
    fn described_http(&self) -> HttpDescription {
        let options = &self.http;
        let probes = options.probe_paths();
        HttpDescription {
            path: options.endpoint_path().to_owned(),
            host: options.named_host().map(str::to_owned),
            probes: probes.map(|(live, ready)| (live.to_owned(), ready.to_owned())),
            stop: options.delay_before_stop() + self.limits.calls.drain_timeout,
        }
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use std::time::Duration;

    use mcp_core::limits::Limits;
    use mcp_http::HttpOptions;

    use super::*;

    #[test]
    fn http_is_described_as_the_program_serves_it() {
        let mut limits = Limits::default();
        limits.calls.drain_timeout = Duration::from_millis(500);
        let options = HttpOptions::new()
            .path("/tools")
            .allow_host("*")
            .allow_host("garden.example.com")
            .live_path("/live")
            .shutdown_delay(Duration::from_secs(10));
        let described = |options| {
            let server = Server::new("x", "1").limits(limits.clone()).http(options);
            server.described_http()
        };
        let http = described(options);
        assert_eq!(http.path, "/tools");
        assert_eq!(http.host.as_deref(), Some("garden.example.com"));
        assert_eq!(http.stop, Duration::from_millis(10_500));
        assert_eq!(
            http.probes,
            Some(("/live".to_owned(), "/readyz".to_owned()))
        );
        let without = described(HttpOptions::new().health(false));
        assert_eq!((without.probes, without.host), (None, None));
    }
}
