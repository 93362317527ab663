//! Command-line options for serving, the default action of `Server::run` when no command is given.

#[cfg(feature = "http")]
use clap::{Arg, ArgAction};
use clap::{ArgMatches, Command};

#[cfg(feature = "http")]
use crate::address::HttpAddress;
use crate::session::TAGS;

/// Placeholder value for `--http` without an address.
#[cfg(feature = "http")]
const FROM_ENVIRONMENT: &str = "$HOST:$PORT";

/// Options for serving.
#[derive(Debug, Default)]
pub struct ServeOptions {
    /// The tags that select the definitions to serve, one list for each occurrence of the option.
    pub tags: Vec<String>,
    /// The address on which to serve HTTP; `None` for stdio.
    #[cfg(feature = "http")]
    pub http: Option<HttpAddress>,
    /// Host names to allow.
    #[cfg(feature = "http")]
    pub hosts: Vec<String>,
    /// Origins to allow.
    #[cfg(feature = "http")]
    pub origins: Vec<String>,
    /// Addresses of proxies to trust.
    #[cfg(feature = "http")]
    pub trusted_proxies: Vec<String>,
    /// `true` if the transport of 2024-11-05 is served, too.
    #[cfg(feature = "http")]
    pub legacy_sse: bool,
}

impl ServeOptions {
    /// Returns `true` if an option for serving is given.
    pub(super) fn is_given(matches: &ArgMatches) -> bool {
        // These options exist only with the `http` feature.
        matches!(matches.try_contains_id("http"), Ok(true))
    }

    pub(super) fn read(matches: &ArgMatches) -> Self {
        let all = |name: &str| {
            let values = matches.get_many::<String>(name);
            values.into_iter().flatten().cloned().collect()
        };
        Self {
            tags: all(TAGS),
            #[cfg(feature = "http")]
            http: matches
                .get_one::<String>("http")
                .map(|address| match &**address {
                    FROM_ENVIRONMENT => HttpAddress::FromEnvironment,
                    given => HttpAddress::Given(given.to_owned()),
                }),
            #[cfg(feature = "http")]
            hosts: all("allow-host"),
            #[cfg(feature = "http")]
            origins: all("allow-origin"),
            #[cfg(feature = "http")]
            trusted_proxies: all("trusted-proxies"),
            #[cfg(feature = "http")]
            legacy_sse: matches.get_flag("legacy-sse"),
        }
    }
}

#[cfg(not(feature = "http"))]
pub(super) fn with_serve_options(command: Command) -> Command {
    command
}

#[cfg(feature = "http")]
pub(super) fn with_serve_options(command: Command) -> Command {
    command
        .arg(
            Arg::new("http")
                .long("http")
                .value_name("ADDRESS")
                .num_args(0..=1)
                .default_missing_value(FROM_ENVIRONMENT)
                .help("Serve over HTTP instead, at this address (default: $HOST, or 127.0.0.1, and $PORT, or 8000)"),
        )
        .arg(
            Arg::new("allow-host")
                .long("allow-host")
                .value_name("HOST")
                .action(ArgAction::Append)
                .requires("http")
                .help("Also accept requests to this host name; `*` accepts all"),
        )
        .arg(
            Arg::new("allow-origin")
                .long("allow-origin")
                .value_name("ORIGIN")
                .action(ArgAction::Append)
                .requires("http")
                .help("Also accept requests from web pages of this origin; `*` accepts all"),
        )
        .arg(
            Arg::new("trusted-proxies")
                .long("trusted-proxies")
                .value_name("ADDRESS")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .requires("http")
                .help("Trust what these proxies report about clients: addresses, networks such as `10.0.0.0/8`, or `*` for all"),
        )
        .arg(
            Arg::new("legacy-sse")
                .long("legacy-sse")
                .action(ArgAction::SetTrue)
                .requires("http")
                .help("Also serve the HTTP+SSE transport of protocol version 2024-11-05"),
        )
}
