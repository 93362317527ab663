//! The servers behind the gateway, from a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fmt, fs};

use mcp_runtime::prelude::data;
use mcp_runtime::serde_json;
use mcp_runtime::server::Secret;

/// Variables that programs get from the gateway's environment. All others could be secrets of other servers.
const PASSED: [&str; 15] = [
    "APPDATA",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LOCALAPPDATA",
    "PATH",
    "PROGRAMFILES",
    "SHELL",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMPDIR",
    "USER",
    "USERPROFILE",
];
/// The length of a prefix. Names that the large model APIs accept have at most 64 characters.
const MAX_PREFIX: usize = 24;

/// The settings. The variables begin with `PROXY_`.
#[data(input)]
pub struct Settings {
    /// JSON file that names the servers
    #[serde(default = "proxy_json")]
    config: PathBuf,
}

fn proxy_json() -> PathBuf {
    "proxy.json".into()
}

/// The file: `{"servers": {"PREFIX": {"command": ["PROGRAM", "ARGUMENT"]}}}`.
#[data(input)]
struct Config {
    servers: BTreeMap<String, Entry>,
}

/// A server: a command or a URL.
#[data(input)]
struct Entry {
    /// Program and arguments of a server that serves standard input and output
    #[serde(default)]
    command: Vec<String>,
    /// Environment variables of the program
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Names of the gateway's own variables that the program gets, too
    #[serde(default)]
    pass_env: Vec<String>,
    /// URL of a server that serves HTTP
    url: Option<String>,
    /// Name of the gateway's variable with the bearer token for the URL
    token_env: Option<String>,
}

/// The way to a server.
pub enum Target {
    Command {
        program: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
    },
    Url {
        url: String,
        token: Option<Secret<String>>,
    },
}

impl Settings {
    /// Reads the file. All mistakes are reported at once.
    pub fn targets(&self) -> Result<Vec<(String, Target)>, ConfigError> {
        let name = self.config.display();
        let text = fs::read_to_string(&self.config).map_err(|error| {
            ConfigError(format!(
                "{name}: {error}; PROXY_CONFIG names the file, such as {{\"servers\": {{\"files\": {{\"command\": [\"files-server\"]}}}}}}"
            ))
        })?;
        parse(&text).map_err(|error| ConfigError(format!("{name}: {error}")))
    }
}

pub fn parse(text: &str) -> Result<Vec<(String, Target)>, ConfigError> {
    let config: Config =
        serde_json::from_str(text).map_err(|error| ConfigError(error.to_string()))?;
    let (mut targets, mut problems) = (Vec::new(), Vec::new());
    for (prefix, entry) in config.servers {
        match target(&prefix, entry) {
            Ok(target) => targets.push((prefix, target)),
            Err(problem) => problems.push(format!("server `{prefix}`: {problem}")),
        }
    }
    if problems.is_empty() {
        Ok(targets)
    } else {
        Err(ConfigError(problems.join("\n")))
    }
}

fn target(prefix: &str, entry: Entry) -> Result<Target, String> {
    let is_valid = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if prefix.is_empty() || prefix.len() > MAX_PREFIX || !prefix.chars().all(is_valid) {
        // With `_`, the tool `b_c` of `a` and the tool `c` of `a_b` would have the same name.
        return Err(format!(
            "a prefix has 1 to {MAX_PREFIX} letters, digits or `-`"
        ));
    }
    let variable = |name: &String| env::var(name).map_err(|error| format!("`{name}`: {error}"));
    match (entry.command.split_first(), entry.url) {
        (Some((program, arguments)), None) if entry.token_env.is_none() => {
            let mut environment = BTreeMap::new();
            for name in PASSED {
                environment.extend(env::var(name).ok().map(|value| (name.to_owned(), value)));
            }
            for name in &entry.pass_env {
                environment.insert(name.clone(), variable(name)?);
            }
            environment.extend(entry.env);
            Ok(Target::Command {
                program: program.clone(),
                arguments: arguments.to_vec(),
                environment,
            })
        }
        (None, Some(url)) if entry.env.is_empty() && entry.pass_env.is_empty() => {
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(format!("`{url}` is not an HTTP URL"));
            }
            let token = entry.token_env.as_ref().map(variable).transpose()?;
            let token = token.map(Secret::new);
            Ok(Target::Url { url, token })
        }
        _ => Err(
            "it needs either `command`, with `env` and `pass_env`, or `url`, with `token_env`"
                .to_owned(),
        ),
    }
}

/// The mistakes. `Debug` is the text, too, because that is what `main` prints.
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}
