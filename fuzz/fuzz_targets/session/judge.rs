//! Judges the server's output in a session: each message must follow the official schema of its protocol version, no
//! request may be answered twice, and the last one must be answered.
//!
//! The protocol version of a message follows from the request. If bytes can be read in more than one way, every
//! reading is tried, and one of them must fit.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::Version;
use crate::schema;

/// Methods that have a result, any of which a request may turn out to name.
const METHODS: [&str; 15] = [
    "initialize",
    "ping",
    "server/discover",
    "subscriptions/listen",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
];

/// The parts of the sent messages that are needed to judge the answers.
pub struct Sent {
    /// The protocol version of the session, if its handshake is known.
    session: Option<Version>,
    /// The messages that have an id, keyed by id.
    requests: HashMap<String, Vec<String>>,
    /// `true` if there are lines that only the server may be able to read, so their ids are unknown.
    has_riddles: bool,
}

impl Sent {
    pub fn new(bytes: &[u8], session: Option<Version>) -> Self {
        let mut sent = Self {
            session,
            requests: HashMap::new(),
            has_riddles: false,
        };
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice::<Value>(line) {
                Ok(line) => {
                    for message in each(&line) {
                        if let Some(id) = message.get("id") {
                            let texts = sent.requests.entry(id.to_string()).or_default();
                            texts.push(message.to_string());
                        }
                    }
                }
                Err(_) => sent.has_riddles |= line.contains(&b'{'),
            }
        }
        sent
    }

    /// Judges everything that came back.
    pub fn judge(&self, received: &str) {
        let mut answers: HashMap<String, usize> = HashMap::new();
        let mut asked = HashSet::new();
        for line in received.lines() {
            let line: Value = serde_json::from_str(line).expect("the server writes JSON");
            for message in each(&line) {
                let id = message.get("id").map(Value::to_string);
                match (message.get("method").is_some(), id) {
                    (true, Some(id)) => {
                        assert!(asked.insert(id), "asked twice under one id: {message}");
                        self.judge_question(message);
                    }
                    (true, None) => self.fits(message, self.versions(""), &[""]),
                    (false, id) => {
                        let id = id.unwrap_or_default();
                        *answers.entry(id.clone()).or_default() += 1;
                        self.judge_answer(message, &id);
                    }
                }
            }
        }
        assert!(answers.contains_key(r#""last""#), "{received}");
        if self.has_riddles {
            return;
        }
        for (id, count) in answers {
            let asked = self.requests.get(&id).map_or(0, Vec::len);
            assert!(
                id.is_empty() || count <= asked,
                "{id} was asked {asked} times and answered {count} times: {received}"
            );
        }
    }

    /// Judges a request from the server, which requires a handshake and is never a modern request.
    fn judge_question(&self, message: &Value) {
        let shakes = |texts: &Vec<String>| texts.iter().any(|text| text.contains("initialize"));
        let has_session = self.session.is_some() || self.requests.values().any(shakes);
        assert!(has_session || self.has_riddles, "no session: {message}");
        let versions = self
            .session
            .map_or(Version::LEGACY.to_vec(), |one| vec![one]);
        self.fits(message, versions, &[""]);
    }

    fn judge_answer(&self, message: &Value, id: &str) {
        let Some(texts) = self.requests.get(id) else {
            // An error without an id, or an answer to a line that cannot be read here.
            assert!(
                id.is_empty() || self.has_riddles,
                "unexpected response: {message}"
            );
            return self.fits(message, Version::ALL.to_vec(), &METHODS);
        };
        let text = texts.concat();
        let mut methods: Vec<&str> = METHODS
            .into_iter()
            .filter(|method| text.contains(method))
            .collect();
        if self.has_riddles || methods.is_empty() {
            methods = METHODS.to_vec();
        }
        self.fits(message, self.versions(&text), &methods);
    }

    /// Returns the possible protocol versions of a message that is related to this text.
    fn versions(&self, text: &str) -> Vec<Version> {
        let claims = text.contains("io.modelcontextprotocol/") || text.is_empty();
        match self.session {
            Some(session) if claims || self.has_riddles => vec![session, Version::V2026_07_28],
            Some(session) => vec![session],
            None => Version::ALL.to_vec(),
        }
    }

    fn fits(&self, message: &Value, versions: Vec<Version>, methods: &[&str]) {
        let mut faults = String::new();
        for version in versions {
            for method in methods {
                match schema::check(version, message, Some(method)) {
                    Ok(()) => return,
                    Err(fault) => faults = fault,
                }
            }
        }
        panic!("{faults}\n{message}");
    }
}

/// Returns a single message, or the messages of a batch.
fn each(line: &Value) -> &[Value] {
    line.as_array()
        .map_or(std::slice::from_ref(line), Vec::as_slice)
}
