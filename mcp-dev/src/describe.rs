//! What a program tells about itself: the document that a server made with mcp-runtime prints with `--describe`.
//!
//! The program may be any program, so everything about its output is checked: that it ends, that it is not too long, and
//! that it is a description in a format that is known here.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use mcp_check::SurfaceList;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use crate::group::Group;
use crate::target::Target;

/// The option that makes a program describe itself.
const OPTION: &str = "--describe";
/// The format of the document that is known here.
const FORMAT: u64 = 1;
/// Maximum time that a program may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum size of a document.
const MAX_DOCUMENT: u64 = 32 << 20;
/// Maximum size of the errors that are kept.
const MAX_ERRORS: u64 = 16 << 10;
/// Maximum number of characters of a program's output that a message repeats.
const MAX_SHOWN: usize = 2_000;

/// A program that can be run.
pub(crate) struct Program {
    /// The program and its arguments.
    words: Vec<String>,
}

impl Program {
    /// Builds the program if it is in a project.
    pub(crate) async fn of(target: Target) -> Result<Self> {
        match target.built().await? {
            Target::Command(words) => Ok(Self { words }),
            other => {
                bail!(
                    "{other} cannot be asked for what its program knows; pass the program: `-- PROGRAM`"
                )
            }
        }
    }

    /// Returns the program with these arguments.
    pub(crate) fn from_words(words: Vec<String>) -> Self {
        Self { words }
    }

    /// Returns the program with this path.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> Self {
        let words = vec![path.display().to_string()];
        Self { words }
    }

    /// Returns the program and its arguments.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the program as it was given.
    ///
    /// # Errors
    ///
    /// Fails if there are arguments, because the program may be an interpreter.
    pub(crate) fn given(&self) -> Result<&Path> {
        match self.words.as_slice() {
            [word] => Ok(Path::new(word)),
            words => bail!(
                "`{}` is a command with arguments, so the server's program is not known; pass the program alone",
                words.join(" ")
            ),
        }
    }

    /// Returns the path of the executable.
    ///
    /// # Errors
    ///
    /// Fails like [`given`](Self::given), or if there is no such file.
    pub(crate) fn executable(&self) -> Result<PathBuf> {
        let given = self.given()?.to_owned();
        if given.components().count() > 1 {
            return Ok(given);
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(&given));
        let found = paths.find_map(|mut path| {
            if !path.is_file() && !std::env::consts::EXE_SUFFIX.is_empty() {
                path.set_extension(std::env::consts::EXE_EXTENSION);
            }
            path.is_file().then_some(path)
        });
        found.with_context(|| {
            format!(
                "there is no program `{}` in the folders of PATH",
                given.display()
            )
        })
    }

    /// Asks the program for its description.
    pub(crate) async fn describe(&self) -> Result<Description> {
        self.describe_within(PATIENCE).await
    }

    /// Asks the program for its description, and stops it after this time.
    pub(crate) async fn describe_within(&self, patience: Duration) -> Result<Description> {
        let asked = format!("`{} {OPTION}`", self.words.join(" "));
        let ran = tokio::time::timeout(patience, self.run());
        let Ok(ran) = ran.await else {
            bail!(
                "{asked} has not ended after {} seconds; {ONLY_RUNTIME}",
                patience.as_secs_f32()
            );
        };
        let (document, errors, status) = ran.context(asked.clone())?;
        if !status.success() {
            let said = if errors.is_empty() {
                &document
            } else {
                &errors
            };
            bail!("{asked} failed ({status}); {ONLY_RUNTIME}{}", shown(said));
        }
        let Ok(document) = serde_json::from_slice::<Value>(&document) else {
            bail!(
                "{asked} did not print a description; {ONLY_RUNTIME}{}",
                shown(&document)
            );
        };
        Description::read(document).with_context(|| format!("the output of {asked}"))
    }

    /// Returns the output, the errors and the status of the program.
    async fn run(&self) -> Result<(Vec<u8>, Vec<u8>, ExitStatus)> {
        let (program, arguments) = self.words.split_first().context("there is no program")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(OPTION)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (_group, mut child) = Group::start(&mut command).context("cannot start it")?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let document = async {
            let document = first_bytes(stdout, MAX_DOCUMENT + 1).await?;
            if document.len() as u64 > MAX_DOCUMENT {
                bail!("it printed more than {} MiB", MAX_DOCUMENT >> 20);
            }
            Ok(document)
        };
        let errors = async {
            let mut stderr = stderr;
            let errors = first_bytes(stderr.as_mut(), MAX_ERRORS).await?;
            // The rest is read, so that the program does not wait for a reader.
            if let Some(stderr) = &mut stderr {
                tokio::io::copy(stderr, &mut tokio::io::sink()).await?;
            }
            Ok(errors)
        };
        let (document, errors) = tokio::try_join!(document, errors)?;
        Ok((document, errors, child.wait().await?))
    }
}

const ONLY_RUNTIME: &str = "only servers made with mcp-runtime describe themselves";

async fn first_bytes(reader: Option<impl AsyncRead + Unpin>, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(reader) = reader {
        reader.take(limit).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Returns what a program has printed as the end of a message, without control characters.
fn shown(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    let text: String = text
        .trim()
        .chars()
        .filter(|c| !c.is_control() || *c == '\n')
        .take(MAX_SHOWN)
        .collect();
    if text.is_empty() {
        ". It printed nothing".to_owned()
    } else {
        format!(". It printed:\n{text}")
    }
}

/// The parts of a description that are needed here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Description {
    pub(crate) server: Identity,
    /// `true` if the program was built without optimizations.
    pub(crate) debug: bool,
    pub(crate) settings: Vec<Setting>,
    /// How the program serves HTTP, if it can.
    pub(crate) http: Option<HttpService>,
    /// `true` if the server's data outlives the process, possibly in a file.
    pub(crate) keeps_data: bool,
    pub(crate) tools: Vec<Value>,
    pub(crate) prompts: Vec<Value>,
    /// Everything that the server declares, including what is disabled.
    pub(crate) surface: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) resources: Vec<Value>,
    #[serde(default, rename = "resourceTemplates")]
    pub(crate) templates: Vec<Value>,
    /// The commands and options of the program.
    #[serde(default)]
    pub(crate) command_line: Value,
    /// For each list, the places of definitions in the source.
    #[serde(default)]
    pub(crate) sources: Map<String, Value>,
}

/// What a server calls itself.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) website_url: Option<String>,
    #[serde(default)]
    pub(crate) icons: Vec<Value>,
}

/// An environment variable that a server reads.
#[derive(Debug, Deserialize)]
pub(crate) struct Setting {
    /// The name in the environment, such as `NOTES_MAX_ROWS`.
    pub(crate) name: String,
    /// The name in the program, such as `max_rows`.
    pub(crate) field: String,
    pub(crate) description: Option<String>,
    /// The JSON type of the value, or an empty string if it can have several types.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) secret: bool,
    /// `true` if the server uses it only over HTTP.
    #[serde(default)]
    pub(crate) http: bool,
    pub(crate) default: Option<Value>,
    pub(crate) choices: Option<Vec<Value>>,
    pub(crate) minimum: Option<Value>,
    pub(crate) maximum: Option<Value>,
    /// The description, and the type and the default in brackets, as text.
    pub(crate) help: String,
}

/// How a program serves HTTP.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpService {
    /// The first host that the server allows.
    pub(crate) host: Option<String>,
    pub(crate) probes: Option<Probes>,
    /// Milliseconds between a stop signal and the end of the last call.
    pub(crate) stop_ms: u64,
}

/// The paths of the probes that a program answers.
#[derive(Debug, Deserialize)]
pub(crate) struct Probes {
    pub(crate) live: String,
    pub(crate) ready: String,
}

impl Description {
    /// Returns the items of a list.
    pub(crate) fn items(&self, list: SurfaceList) -> &[Value] {
        match list {
            SurfaceList::Tools => &self.tools,
            SurfaceList::Prompts => &self.prompts,
            SurfaceList::Resources => &self.resources,
            SurfaceList::Templates => &self.templates,
        }
    }

    /// Returns the settings of a server that does not serve HTTP.
    pub(crate) fn settings_without_http(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| !setting.http)
    }

    /// Returns the names of environment variables whose values are secret.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secrets = self.settings.iter().filter(|setting| setting.secret);
        secrets.map(|setting| setting.name.as_str())
    }

    /// Returns `true` if the environment of this process does not have all variables without which the server does not
    /// start.
    pub(crate) fn lacks_settings(&self) -> bool {
        let mut required = self.settings.iter().filter(|setting| setting.required);
        let is_set = |name: &str| std::env::var_os(name).is_some();
        // The value may be in a file.
        required.any(|Setting { name, .. }| !is_set(name) && !is_set(&format!("{name}_FILE")))
    }

    pub(crate) fn read(document: Value) -> Result<Self> {
        match document["format"].as_u64() {
            Some(FORMAT) => {}
            Some(newer) if newer > FORMAT => bail!(
                "is in format {newer}, but this version of mcp-dev reads format {FORMAT}; install a newer one"
            ),
            _ => bail!("is not a description; {ONLY_RUNTIME}"),
        }
        serde_json::from_value(document)
            .map_err(|error| anyhow!("is not a valid description: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(error: &anyhow::Error) -> String {
        format!("{error:#}")
    }

    #[test]
    fn a_document_in_another_format_is_refused() {
        let whole = json!({
            "format": 1, "debug": false, "server": {"name": "x", "version": "1"}, "settings": [], "http": null,
            "keepsData": false, "tools": [], "prompts": [], "something": "new",
        });
        Description::read(whole.clone()).unwrap();
        for (member, value, problem) in [
            ("format", json!(2), "is in format 2, but this version"),
            ("format", json!("1"), "is not a description"),
            ("format", json!(0), "is not a description"),
            ("server", json!({"name": "x"}), "missing field `version`"),
            ("settings", json!({}), "is not a valid description"),
        ] {
            let mut wrong = whole.clone();
            wrong[member] = value;
            let error = message(&Description::read(wrong).unwrap_err());
            assert!(error.contains(problem), "{member}: {error}");
        }
        for other in [json!([]), json!(1), json!({"jsonrpc": "2.0"})] {
            let error = message(&Description::read(other).unwrap_err());
            assert!(error.contains("is not a description"), "{error}");
        }
    }

    #[cfg(unix)]
    async fn described(script: &str, patience: Duration) -> Result<Description> {
        let words = ["sh", "-c", script].map(str::to_owned).to_vec();
        Program { words }.describe_within(patience).await
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn any_other_program_is_refused_with_a_reason() {
        for (script, problem) in [
            (
                "exit 0",
                "did not print a description; only servers made with mcp-runtime describe themselves. It printed nothing",
            ),
            ("echo hello", "It printed:\nhello"),
            ("echo '{}'", "is not a description"),
            ("echo '{\"format\": 7}'", "is in format 7"),
            (
                "printf 'unexpected argument\\033[0m' >&2; exit 2",
                "failed (exit status: 2)",
            ),
            (
                "printf 'unexpected argument\\033[0m' >&2; exit 2",
                "It printed:\nunexpected argument[0m",
            ),
            ("yes", "it printed more than 32 MiB"),
            (
                "yes >&2 & sleep 0.1; kill $!; exit 3",
                "failed (exit status: 3)",
            ),
        ] {
            let error = described(script, PATIENCE).await.unwrap_err();
            let error = message(&error);
            assert!(error.contains(problem), "{script}: {error}");
        }
        let words = vec!["/no/such/program".to_owned()];
        let error = Program { words }.describe().await.unwrap_err();
        let error = message(&error);
        assert!(
            error.contains("/no/such/program --describe`: cannot start it"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_that_does_not_end_is_stopped() {
        let patience = Duration::from_millis(50);
        let error = described("sleep 600", patience).await.unwrap_err();
        let error = message(&error);
        assert!(
            error.contains("has not ended after 0.05 seconds"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_executable_is_a_path_or_in_path() {
        let executable = |words: &[&str]| {
            let words = words.iter().map(|&word| word.to_owned()).collect();
            Program { words }.executable()
        };
        assert_eq!(
            executable(&["./garden"]).unwrap(),
            PathBuf::from("./garden")
        );
        assert!(executable(&["sh"]).unwrap().is_absolute());
        executable(&["sh", "-c"]).unwrap_err();
        executable(&["no-such-program-anywhere"]).unwrap_err();
    }
}
