//! The command line that [`Server::run`] offers.

use std::ffi::OsString;

use clap::Command;
#[cfg(feature = "http")]
use clap::{Arg, ArgAction};

use crate::types::Implementation;

/// Where `--http` listens when it does not say.
#[cfg(feature = "http")]
const ADDRESS: &str = "127.0.0.1:8000";

/// What the command line asks for.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// The address to serve HTTP on; stdio if there is none.
    #[cfg(feature = "http")]
    pub(super) http: Option<String>,
    #[cfg(feature = "http")]
    pub(super) hosts: Vec<String>,
    #[cfg(feature = "http")]
    pub(super) origins: Vec<String>,
}

/// Reads the arguments of this process. Ends it if they ask for help, or cannot be understood.
pub(super) fn read(identity: &Implementation) -> Wishes {
    parse(identity, std::env::args_os()).unwrap_or_else(|error| error.exit())
}

fn parse(
    identity: &Implementation,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Wishes, clap::Error> {
    let about = identity.description.clone().unwrap_or_else(|| {
        "A server of the Model Context Protocol, on standard input and output".to_owned()
    });
    let command = Command::new(identity.name.clone())
        .about(about)
        .disable_version_flag(true);
    #[cfg(feature = "http")]
    let command = command
        .arg(
            Arg::new("http")
                .long("http")
                .value_name("ADDRESS")
                .num_args(0..=1)
                .default_missing_value(ADDRESS)
                .help("Serve HTTP instead, on 127.0.0.1:8000 or this address"),
        )
        .arg(
            Arg::new("allow-host")
                .long("allow-host")
                .value_name("HOST")
                .action(ArgAction::Append)
                .requires("http")
                .help("Let in requests to this host name too; `*` for every one"),
        )
        .arg(
            Arg::new("allow-origin")
                .long("allow-origin")
                .value_name("ORIGIN")
                .action(ArgAction::Append)
                .requires("http")
                .help("Let in web pages of this origin too; `*` for every one"),
        );
    let matches = command.try_get_matches_from(arguments)?;
    #[cfg(feature = "http")]
    let all = |name: &str| {
        let values = matches.get_many::<String>(name);
        values.into_iter().flatten().cloned().collect()
    };
    #[cfg(not(feature = "http"))]
    drop(matches);
    Ok(Wishes {
        #[cfg(feature = "http")]
        http: matches.get_one::<String>("http").cloned(),
        #[cfg(feature = "http")]
        hosts: all("allow-host"),
        #[cfg(feature = "http")]
        origins: all("allow-origin"),
    })
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;

    fn wishes(arguments: &[&str]) -> Result<Wishes, clap::Error> {
        let arguments = std::iter::once(&"server").chain(arguments);
        parse(
            &Implementation::new("server", "1"),
            arguments.map(OsString::from),
        )
    }

    #[test]
    fn http_has_an_address_of_its_own_and_takes_another() {
        assert_eq!(wishes(&[]).unwrap().http, None);
        assert_eq!(wishes(&["--http"]).unwrap().http.as_deref(), Some(ADDRESS));
        let wishes = wishes(&["--http", "[::1]:9", "--allow-host", "a", "--allow-host=b"]).unwrap();
        assert_eq!(wishes.http.as_deref(), Some("[::1]:9"));
        assert_eq!(wishes.hosts, ["a", "b"]);
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        for arguments in [&["--htpp"][..], &["stdio"], &["--allow-host", "a"]] {
            assert!(wishes(arguments).is_err(), "{arguments:?}");
        }
    }
}
