//! The address for `--http`: the option's value, or the environment variables `HOST` and `PORT`, which platforms set
//! for the programs that they run.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;

use mcp_core::error::{Error, ErrorKind};

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 8_000;

/// The address on which to serve HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpAddress {
    /// `host:port`.
    Given(String),
    /// `HOST` and `PORT`; each has a default.
    FromEnvironment,
}

impl HttpAddress {
    /// Returns the address in the form `host:port`.
    ///
    /// # Errors
    ///
    /// Fails if the environment is used and `PORT` is invalid.
    pub fn resolve(&self) -> Result<String, Error> {
        match self {
            Self::Given(address) => Ok(address.clone()),
            Self::FromEnvironment => from_variables(|name| std::env::var_os(name))
                .map_err(|problem| Error::new(ErrorKind::Configuration, problem)),
        }
    }
}

/// Returns the address specified by the variables. An empty variable is treated as absent.
fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<String, String> {
    let present = |name| variable(name).filter(|value| !value.is_empty());
    let host = present("HOST").and_then(|host| parse_host(&host));
    let host = host.unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let port = present("PORT").map_or(Ok(DEFAULT_PORT), |port| parse_port(&port))?;
    Ok(format!("{host}:{port}"))
}

/// Returns the host if it is an IP address or `localhost`. Names are ignored because some shells and tools set `HOST`
/// to the machine's or the platform's name, which must not expose a server to the network.
fn parse_host(host: &OsStr) -> Option<String> {
    let text = host.to_str();
    let address = text.map(|text| {
        text.strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text)
    });
    match address.map(str::parse::<IpAddr>) {
        Some(Ok(IpAddr::V6(address))) => Some(format!("[{address}]")),
        Some(Ok(IpAddr::V4(address))) => Some(address.to_string()),
        _ if text == Some("localhost") => Some("localhost".to_owned()),
        _ => {
            tracing::warn!(
                host = %host.display(),
                "the environment variable `HOST` is ignored, because it is not an IP address; `--http ADDRESS` also accepts names"
            );
            None
        }
    }
}

fn parse_port(port: &OsString) -> Result<u16, String> {
    let text = port.to_str();
    // `u16::from_str` accepts a plus sign.
    let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok()).ok_or_else(|| {
        format!(
            "the environment variable `PORT` is {:?}, which is not a port: use a number from 0 to 65535",
            port.to_string_lossy()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn address(host: Option<&str>, port: Option<&str>) -> Result<String, String> {
        from_variables(|name| if name == "HOST" { host } else { port }.map(Into::into))
    }

    // Covers: HTTP-03
    #[test]
    fn the_default_address_is_a_loopback_address() {
        for nothing in [None, Some("")] {
            let address: SocketAddr = address(nothing, nothing).unwrap().parse().unwrap();
            assert_eq!(address, ([127, 0, 0, 1], 8_000).into());
        }
    }

    #[test]
    fn host_and_port_replace_the_defaults_one_by_one() {
        for (host, port, expected) in [
            (None, Some("80"), "127.0.0.1:80"),
            (Some("0.0.0.0"), None, "0.0.0.0:8000"),
            (Some("::"), Some("0"), "[::]:0"),
            (Some("[::1]"), Some("65535"), "[::1]:65535"),
            (Some("localhost"), None, "localhost:8000"),
            // Names that shells and tools set, and values that are not hosts.
            (Some("my-machine"), None, "127.0.0.1:8000"),
            (Some("x86_64-conda-linux-gnu"), Some("80"), "127.0.0.1:80"),
            (Some("0.0.0.0:80"), None, "127.0.0.1:8000"),
            (Some("[0.0.0.0"), None, "127.0.0.1:8000"),
            (Some("a\nb"), None, "127.0.0.1:8000"),
        ] {
            assert_eq!(address(host, port).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn an_invalid_port_is_an_error() {
        for port in [
            "http",
            "65536",
            "-1",
            "+1",
            " 80",
            "8 0",
            "0x50",
            "８０",
            "99999999999999999999",
        ] {
            let problem = address(None, Some(port)).unwrap_err();
            assert!(
                problem.contains("`PORT`") && problem.contains("65535"),
                "{problem}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_port_that_is_not_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt as _;

        let problem = from_variables(|_| Some(OsString::from_vec(vec![b'8', 0xff]))).unwrap_err();
        assert!(problem.contains("`PORT`"), "{problem}");
    }
}
