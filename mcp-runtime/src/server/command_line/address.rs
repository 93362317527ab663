//! The address of `--http`: its value, or `HOST` and `PORT` of the environment, which platforms set for the programs
//! that they run.

use std::ffi::OsString;

use crate::error::{Error, ErrorKind};

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 8_000;

/// The address to serve HTTP on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HttpAddress {
    Given(String),
    /// `HOST` and `PORT`; each has a default.
    FromEnvironment,
}

impl HttpAddress {
    /// Returns the address in the form `host:port`.
    ///
    /// # Errors
    ///
    /// Fails if the environment is used and `HOST` or `PORT` is invalid. The error names all problems.
    pub(crate) fn resolve(&self) -> Result<String, Error> {
        match self {
            Self::Given(address) => Ok(address.clone()),
            Self::FromEnvironment => from_variables(|name| std::env::var_os(name))
                .map_err(|problems| Error::new(ErrorKind::Configuration, problems)),
        }
    }
}

/// Returns the address that the variables name. An empty variable counts as absent.
fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<String, String> {
    let present = |name| variable(name).filter(|value| !value.is_empty());
    let host = present("HOST").map_or(Ok(DEFAULT_HOST.to_owned()), |host| parse_host(&host));
    let port = present("PORT").map_or(Ok(DEFAULT_PORT), |port| parse_port(&port));
    match (host, port) {
        (Ok(host), Ok(port)) => Ok(format!("{host}:{port}")),
        (host, port) => {
            let problems = host.err().into_iter().chain(port.err());
            Err(problems.collect::<Vec<_>>().join("\n"))
        }
    }
}

fn parse_host(host: &OsString) -> Result<String, String> {
    let problem = || {
        format!(
            "the environment variable `HOST` is {:?}, which is not a host: use an IP address such as 0.0.0.0 or ::, or a \
             name, without a port",
            host.to_string_lossy()
        )
    };
    let text = host.to_str().ok_or_else(problem)?;
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok(format!("[{text}]"));
    }
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    if inside.is_some_and(|inside| inside.parse::<std::net::Ipv6Addr>().is_ok()) {
        return Ok(text.to_owned());
    }
    let is_name =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    if text.chars().all(is_name) {
        Ok(text.to_owned())
    } else {
        Err(problem())
    }
}

fn parse_port(port: &OsString) -> Result<u16, String> {
    let text = port.to_str();
    // `u16::from_str` takes a plus sign.
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
            (Some("notes.internal"), None, "notes.internal:8000"),
        ] {
            assert_eq!(address(host, port).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn every_problem_is_named() {
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
        for host in [
            "0.0.0.0:80",
            "http://a",
            "[::1",
            "a b",
            "a/b",
            "::1]:80",
            "a\nb",
        ] {
            let problem = address(Some(host), None).unwrap_err();
            assert!(
                problem.contains("`HOST`") && !problem.contains('\n'),
                "{problem}"
            );
        }
        let both = address(Some("a:1"), Some("b")).unwrap_err();
        assert_eq!(both.lines().count(), 2, "{both}");
    }

    #[cfg(unix)]
    #[test]
    fn variables_that_are_not_text_are_problems() {
        use std::os::unix::ffi::OsStringExt as _;

        let problems = from_variables(|_| Some(OsString::from_vec(vec![b'8', 0xff]))).unwrap_err();
        assert_eq!(problems.lines().count(), 2, "{problems}");
    }
}
