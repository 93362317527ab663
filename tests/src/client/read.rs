//! Reads the server's messages line by line and checks each against the schema of its protocol version.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::client::{Client, Failure, PATIENCE};
use crate::{Version, schema};

impl Client {
    /// Waits for the answer to a request.
    ///
    /// # Errors
    ///
    /// Returns the error that the server answered with.
    pub async fn response(&mut self, id: &Value) -> Result<Value, Failure> {
        loop {
            let found = self
                .responses
                .iter()
                .position(|message| message.get("id") == Some(id));
            if let Some(index) = found {
                return outcome(&self.responses.swap_remove(index));
            }
            self.take().await;
        }
    }

    /// Waits for an answer without an id. Such an answer is always an error.
    pub async fn anonymous(&mut self) -> Failure {
        loop {
            let found = self
                .responses
                .iter()
                .position(|message| message.get("id").is_none());
            if let Some(index) = found {
                match outcome(&self.responses.swap_remove(index)) {
                    Err(failure) => return failure,
                    Ok(result) => panic!("a result without an id: {result}"),
                }
            }
            self.take().await;
        }
    }

    /// Waits for a notification with the given method and keeps all others.
    pub async fn notification(&mut self, method: &str) -> Value {
        loop {
            let found = self
                .notifications
                .iter()
                .position(|message| message["method"] == method);
            if let Some(message) = found.and_then(|index| self.notifications.remove(index)) {
                return message["params"].clone();
            }
            self.take().await;
        }
    }

    /// Returns `true` if the answer to a request has already been received.
    #[must_use]
    pub fn answered(&self, id: &Value) -> bool {
        self.responses
            .iter()
            .any(|message| message.get("id") == Some(id))
    }

    /// Reads an unmodified line; returns `None` at the end of the stream.
    pub async fn read_line(&mut self) -> Option<String> {
        self.since.check();
        let mut line = Vec::new();
        let read = timeout(PATIENCE, self.reader.read_until(b'\n', &mut line))
            .await
            .expect("the server answers in time");
        match read {
            Ok(0) | Err(_) => None,
            Ok(_) => {
                assert_eq!(line.pop(), Some(b'\n'), "a line ends");
                Some(String::from_utf8(line).expect("a line is UTF-8"))
            }
        }
    }

    /// Reads and checks a message; returns `None` at the end of the stream.
    pub async fn read(&mut self) -> Option<Value> {
        let line = self.read_line().await?;
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {line}"));
        if let Some(batch) = message.as_array() {
            assert!(!batch.is_empty(), "an empty batch");
            for message in batch {
                self.judge(message);
            }
        } else {
            self.judge(&message);
        }
        Some(message)
    }

    /// Closes the server's input.
    pub async fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // Errors are ignored because they mean that the server has already exited.
            let _ = timeout(PATIENCE, writer.shutdown()).await;
        }
    }

    /// Closes the input and reads the remaining messages.
    pub async fn finish(mut self) -> Vec<Value> {
        self.close().await;
        let mut rest = Vec::new();
        while let Some(message) = self.read().await {
            rest.push(message);
        }
        rest
    }

    pub(super) async fn take(&mut self) {
        let message = self.read().await.expect("the server is still there");
        let messages = match message {
            Value::Array(batch) => batch,
            message => vec![message],
        };
        for message in messages {
            if message.get("method").is_some() && message.get("id").is_some() {
                self.asked_by_request(&message).await;
            } else if message.get("method").is_some() {
                self.notifications.push_back(message);
            } else {
                self.responses.push(message);
            }
        }
    }

    fn judge(&mut self, message: &Value) {
        let request = message
            .get("id")
            .filter(|_| message.get("method").is_none())
            .and_then(|id| self.pending.remove(&id.to_string()));
        let modern = message["params"]["_meta"]
            .get("io.modelcontextprotocol/subscriptionId")
            .is_some();
        let version = match &request {
            Some(pending) => pending.version,
            None if modern => Version::V2026_07_28,
            None => self.version,
        };
        let method = request.as_ref().map(|pending| pending.method.as_str());
        let is_result = message.get("result").is_some();
        assert!(
            !is_result || method.is_some(),
            "an unexpected response: {message}"
        );
        if let Err(faults) = schema::check(version, message, method) {
            panic!("{faults}");
        }
        if let (Some(request), Some(result)) = (&request, message.get("result")) {
            self.outputs.judge(request, result);
        }
    }
}

fn outcome(message: &Value) -> Result<Value, Failure> {
    match message.get("result") {
        Some(result) => Ok(result.clone()),
        None => Err(Failure {
            code: message["error"]["code"].as_i64().unwrap_or_default(),
            message: message["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            data: message["error"]["data"].clone(),
        }),
    }
}
