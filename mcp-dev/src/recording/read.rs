//! Reads a recording: a client's calls, their outcomes, and the answers to questions.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::secrets::in_environment;
use super::{FORMAT, MAX_BYTES};
use crate::session::Era;

/// Maximum number of calls in a recording.
const MAX_CALLS: usize = 10_000;
/// Requests that are replayed: those that request data or an action and are not about the connection itself.
const REPLAYED: [&str; 8] = [
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
];

/// A recording.
#[derive(Debug, Default)]
pub(super) struct Recording {
    /// The server's name.
    pub(super) server: Option<String>,
    /// The time at which the recording started, in seconds since 1970.
    pub(super) started: u64,
    pub(super) calls: Vec<Recorded>,
    /// Warnings about the recording for the user.
    pub(super) warnings: Vec<String>,
}

/// A call and its outcome.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) era: Era,
    pub(super) method: String,
    pub(super) params: Value,
    /// `None` if the call was cancelled or the recording ended before the call did.
    pub(super) outcome: Option<Outcome>,
    /// The answers to the call's questions, in order.
    pub(super) answers: Vec<Answered>,
}

/// The `result` or `error` member of a response, together with its name.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) kind: &'static str,
    pub(super) value: Value,
}

/// An answer to a question.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    /// The question's key, in the modern era.
    pub(super) key: Option<String>,
    pub(super) result: Value,
}

impl Recorded {
    pub(super) fn is_list(&self) -> bool {
        self.method.ends_with("/list")
    }

    /// Returns `true` if the other call makes the same request.
    pub(super) fn asks_as(&self, other: &Self) -> bool {
        self.method == other.method && self.params == other.params
    }
}

#[derive(Deserialize)]
struct RecordedLine {
    era: Era,
    sent: bool,
    message: Value,
}

/// The kind of a request that has no response yet.
enum OpenRequest {
    Call(usize),
    Task(usize),
    Opening,
}

#[derive(Default)]
struct RecordingReader {
    recording: Recording,
    open: HashMap<(Era, String), OpenRequest>,
    tasks: HashMap<(Era, String), usize>,
    /// The most recent call in each era, to which a question from the server belongs.
    newest: HashMap<Era, usize>,
    asked: HashMap<(Era, String), usize>,
}

impl Recording {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open `{name}`"))?;
        let length = file.metadata().map_or(0, |about| about.len());
        // This leaves room for the first line.
        let longest = MAX_BYTES + 1_000;
        if length > longest as u64 {
            bail!(
                "`{name}` is {} MiB, but a recording can be at most {}",
                length >> 20,
                MAX_BYTES >> 20
            );
        }
        let secrets = in_environment(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }));
        // The file may be a pipe, or may grow while it is read.
        let file = BufReader::new(file.take(longest as u64));
        Self::read_from(file, &name, &secrets)
    }

    /// Reads a file, which errors refer to as `name`. `secrets` are values that the file must not contain, with their
    /// names.
    pub(super) fn read_from(
        mut file: impl BufRead,
        name: &str,
        secrets: &[(String, String)],
    ) -> Result<Self> {
        let mut reader = RecordingReader::default();
        let mut line = Vec::new();
        let mut number = 0;
        while file
            .read_until(b'\n', &mut line)
            .with_context(|| format!("cannot read `{name}`"))?
            > 0
        {
            number += 1;
            let whole = line.ends_with(b"\n");
            let text = String::from_utf8_lossy(&line);
            if number == 1 {
                reader.recording.started = head(&text, name)?;
                line.clear();
                continue;
            }
            let known = secrets.iter().filter(|(_, value)| text.contains(value));
            let mut variables: Vec<_> = known.map(|(variable, _)| variable).collect();
            variables.dedup();
            for variable in variables {
                let warning = format!(
                    "line {number} contains the value of the environment variable {variable}, which is a secret; do not share the file"
                );
                if reader.recording.warnings.len() < 10 {
                    reader.recording.warnings.push(warning);
                }
            }
            match serde_json::from_str(&text) {
                Ok(line) => reader.line(line)?,
                Err(_) if !whole => reader.recording.warnings.push(format!(
                    "line {number}, the last one, is cut off; the lines before it are used"
                )),
                Err(error) => bail!("line {number} of `{name}` is invalid: {error}"),
            }
            line.clear();
        }
        if number == 0 {
            bail!("`{name}` is empty");
        }
        Ok(reader.recording)
    }
}

/// Reads the first line and returns the time that it contains.
fn head(line: &str, name: &str) -> Result<u64> {
    let head = serde_json::from_str::<Value>(line).unwrap_or_default();
    match head["mcp-dev"].as_u64() {
        Some(FORMAT) => Ok(head["started"].as_u64().unwrap_or_default()),
        Some(other) => bail!(
            "`{name}` is in format {other}, but this mcp-dev reads format {FORMAT}; use a newer mcp-dev"
        ),
        None => bail!("`{name}` is not an mcp-dev recording"),
    }
}

impl RecordingReader {
    fn line(&mut self, line: RecordedLine) -> Result<()> {
        let RecordedLine {
            era,
            sent,
            mut message,
        } = line;
        let id = message["id"].to_string();
        match (sent, message["method"].as_str()) {
            (true, Some(method)) => {
                let method = method.to_owned();
                let params = message.get_mut("params").map(Value::take);
                self.request(era, id, method, params.unwrap_or_default());
                if self.recording.calls.len() > MAX_CALLS {
                    bail!("the recording contains more than {MAX_CALLS} calls");
                }
            }
            (false, Some(_)) if !message["id"].is_null() => {
                if let Some(call) = self.newest.get(&era) {
                    self.asked.insert((era, id), *call);
                }
            }
            (true, None) => {
                let call = self.asked.remove(&(era, id));
                let call = call.and_then(|call| self.recording.calls.get_mut(call));
                if let (Some(call), Some(result)) = (call, message.get("result"))
                    && result
                        .as_object()
                        .is_some_and(|members| !members.is_empty())
                {
                    let result = result.clone();
                    call.answers.push(Answered { key: None, result });
                }
            }
            (false, None) => self.response(era, id, message),
            (false, Some(_)) => {}
        }
        Ok(())
    }

    fn request(&mut self, era: Era, id: String, method: String, mut params: Value) {
        let responses = params.get_mut("inputResponses").map(Value::take);
        let answers: Vec<Answered> = match responses {
            Some(Value::Object(members)) => members
                .into_iter()
                .map(|(key, result)| Answered {
                    key: Some(key),
                    result,
                })
                .collect(),
            _ => Vec::new(),
        };
        let task = params["taskId"].as_str();
        let task = task.and_then(|task| self.tasks.get(&(era, task.to_owned())).copied());
        if let Some(call) = task {
            self.answered(call, answers);
            self.open.insert((era, id), OpenRequest::Task(call));
        } else if matches!(&*method, "initialize" | "server/discover") {
            // Each connection numbers its requests from the beginning.
            self.open.retain(|(other, _), _| *other != era);
            self.asked.retain(|(other, _), _| *other != era);
            self.open.insert((era, id), OpenRequest::Opening);
        } else if REPLAYED.contains(&&*method) {
            let goes_on =
                params.get("inputResponses").is_some() || params.get("requestState").is_some();
            if let Some(members) = params.as_object_mut() {
                // Claims and tokens belong to the connection, and a task is only a way to wait for a result.
                for member in ["_meta", "inputResponses", "requestState", "task"] {
                    members.shift_remove(member);
                }
            }
            let call = Recorded {
                era,
                method,
                params: if params.is_null() { json!({}) } else { params },
                outcome: None,
                answers,
            };
            let call = self.call(call, goes_on);
            self.open.insert((era, id), OpenRequest::Call(call));
        }
    }

    /// Returns the index of a call, which may continue an earlier call with answers or with the next page of a list.
    fn call(&mut self, call: Recorded, goes_on: bool) -> usize {
        let calls = &mut self.recording.calls;
        let next_page = call.is_list() && call.params["cursor"].is_string();
        let before = calls.iter().rposition(|before| {
            before.era == call.era
                && if next_page {
                    before.method == call.method
                } else {
                    goes_on && before.outcome.is_none() && before.asks_as(&call)
                }
        });
        if let Some(before) = before {
            self.answered(before, call.answers);
            return before;
        }
        if call.method != "completion/complete" && !call.is_list() {
            self.newest.insert(call.era, calls.len());
        }
        calls.push(call);
        calls.len() - 1
    }

    fn answered(&mut self, call: usize, answers: Vec<Answered>) {
        if let Some(call) = self.recording.calls.get_mut(call) {
            call.answers.extend(answers);
        }
    }

    fn response(&mut self, era: Era, id: String, mut message: Value) {
        let open = self.open.remove(&(era, id));
        let outcome = ["result", "error"].into_iter().find_map(|kind| {
            let value = message.get_mut(kind)?.take();
            Some(Outcome { kind, value })
        });
        let Some(outcome) = outcome else {
            return;
        };
        let value = &outcome.value;
        match open {
            Some(OpenRequest::Opening) if outcome.kind == "result" => {
                let modern = &value["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
                let server = value["serverInfo"]["name"].as_str().or(modern.as_str());
                self.recording.server = self.recording.server.take().or(server.map(str::to_owned));
            }
            Some(OpenRequest::Call(call)) => {
                let created = match era {
                    Era::Modern if value["resultType"] == "task" => value["taskId"].as_str(),
                    Era::Modern => None,
                    Era::Legacy => value["task"]["taskId"].as_str(),
                };
                if let Some(task) = created {
                    self.tasks.insert((era, task.to_owned()), call);
                } else if value["resultType"] != "input_required" {
                    self.ended(call, outcome);
                }
            }
            // The result of `tasks/result` is the call's result, whereas `tasks/get` contains it.
            Some(OpenRequest::Task(call)) => {
                let within = |kind| Outcome {
                    kind,
                    value: value[kind].clone(),
                };
                match value["status"].as_str() {
                    None if value.get("content").is_some() || outcome.kind == "error" => {
                        self.ended(call, outcome);
                    }
                    Some("completed") if era == Era::Modern => self.ended(call, within("result")),
                    Some("failed") if era == Era::Modern => self.ended(call, within("error")),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, call: usize, outcome: Outcome) {
        let Some(call) = self.recording.calls.get_mut(call) else {
            return;
        };
        match &mut call.outcome {
            // This is the next page of a list.
            Some(before) if call.method.ends_with("/list") => {
                super::compare::add_page(&mut before.value, outcome.value);
            }
            _ => call.outcome = Some(outcome),
        }
    }
}
