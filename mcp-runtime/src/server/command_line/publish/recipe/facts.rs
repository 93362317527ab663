//! Collects the server data for the files.

use std::time::Duration;

use clap::ArgMatches;
use serde_json::Value;

use crate::environment::DeclaredVariable;
use crate::server::Server;
use crate::server::command_line::publish::options::text;

/// The port that `--http` uses by default.
const DEFAULT_PORT: u16 = 8000;

/// The host in files for servers that do not allow any hosts yet.
const DEFAULT_HOST: &str = "mcp.example.com";

/// Maximum time for a process to exit after its calls have ended.
const EXIT_TIME: Duration = Duration::from_secs(5);

/// The server data in the files. Names are plain, so they do not need to be quoted in any format.
pub(super) struct Recipe<'s> {
    /// The name of the executable.
    pub(super) program: &'s str,
    /// The name for Kubernetes objects and Compose services.
    pub(super) label: String,
    pub(super) image: String,
    pub(super) host: String,
    pub(super) port: u16,
    /// The paths of the liveness and readiness probes, if the server answers them.
    pub(super) probes: Option<(&'s str, &'s str)>,
    /// Seconds between the first signal and the end of the process.
    pub(super) stop_seconds: u64,
    pub(super) variables: &'s [DeclaredVariable],
    /// Whether the server's data outlives the process, possibly in a file.
    pub(super) keeps_data: bool,
}

impl<'s> Recipe<'s> {
    pub(super) fn read(
        server: &'s Server,
        program: &'s str,
        matches: &ArgMatches,
    ) -> Result<Self, String> {
        let plain = |what: &str, text: String, others: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
                return Ok(text);
            }
            Err(format!(
                "`{text}` is not valid as {what}: use letters, digits and `{others}`"
            ))
        };
        plain("the name of the executable", program.to_owned(), "._-")?;
        let label = label(program);
        let version = plain_tag(&server.identity.version);
        let image =
            text(matches, "image").map_or_else(|| format!("{label}:{version}"), str::to_owned);
        let host = text(matches, "host").or_else(|| server.http.named_host());
        let probes = server.http.probe_paths();
        for path in probes.iter().flat_map(|(live, ready)| [live, ready]) {
            plain("the path", (*path).to_owned(), "/._~%-")?;
        }
        let stop = server.http.delay_before_stop() + server.drain_timeout() + EXIT_TIME;
        Ok(Self {
            program,
            image: plain("the image", image, "._-/:@")?,
            host: plain(
                "the host",
                host.unwrap_or(DEFAULT_HOST).to_owned(),
                ".-:[]*",
            )?,
            label,
            port: matches.get_one("port").copied().unwrap_or(DEFAULT_PORT),
            probes,
            // The time is rounded up to whole seconds.
            stop_seconds: stop.as_secs() + u64::from(stop.subsec_nanos() > 0),
            variables: &server.environment.variables,
            keeps_data: server.keeps_tasks(),
        })
    }

    /// Returns the command that serves HTTP, written as JSON, which is also valid in YAML and Dockerfiles.
    pub(super) fn command(&self) -> String {
        let words = [self.program, "--http", "--allow-host", &self.host];
        Value::from(words.as_slice()).to_string()
    }
}

/// Returns a name that Kubernetes accepts (RFC 1123): at most 63 lower-case letters, digits and hyphens.
pub(super) fn label(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let name: String = name.trim_matches('-').chars().take(63).collect();
    match name.trim_end_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns a version as an image tag.
pub(super) fn plain_tag(version: &str) -> String {
    let tag = version.replace(
        |c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c),
        "-",
    );
    let tag = tag.trim_start_matches(['.', '-']);
    if tag.is_empty() { "latest" } else { tag }.to_owned()
}

/// Returns the text of a one-line comment about a variable.
pub(super) fn about(variable: &DeclaredVariable) -> String {
    let text = variable.to_string();
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.trim().to_owned()
}
