//! Several processes of one server behind a round-robin balancer, over HTTP: each request goes to the next process.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json};
use tests::http::{Request, send};
use tests::process::binary;
use tests::run::Logged;

/// An instance of the example `deploy` and its address. The process is killed when this is dropped.
struct Instance(
    SocketAddr,
    #[expect(
        dead_code,
        reason = "owns the process, and the pipe of its later output"
    )]
    Logged,
);

impl Instance {
    async fn start(key: &str) -> Self {
        let mut command = Command::new(binary("deploy"));
        command.args(["--http", "127.0.0.1:0"]);
        command.env("DEPLOY_STATE_KEYS", key);
        let mut process = Logged::start(command);
        Self(process.address().await, process)
    }

    async fn call(&self, id: i64, params: &Value) -> Value {
        let mut params = params.clone();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({"elicitation": {}, "sampling": {}});
        let request = Request::modern(id, "tools/call", params);
        send(self.0, &request).await.message().await
    }
}

// Covers: MRTR-06, SEC-12, BASE-11
#[tokio::test]
async fn a_call_goes_on_at_whichever_instance_its_rounds_land() {
    let shared = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let instances = [Instance::start(shared).await, Instance::start(shared).await];
    let foreign = Instance::start("BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=").await;
    let call = json!({"name": "deploy", "arguments": {"service": "shop"}});
    let mut params = call.clone();
    for (round, instance) in (0..4).zip(instances.iter().cycle()) {
        let message = instance.call(round, &params).await;
        let result = &message["result"];
        if result["resultType"] == "complete" {
            assert_eq!(result["content"][0]["text"], "It is done.", "{message}");
            assert_eq!(round, 2, "one question to a person, and one to a model");
            return;
        }
        assert_eq!(result["resultType"], "input_required", "{message}");
        let answers = result["inputRequests"].as_object().unwrap().iter();
        let answers = answers.map(|(key, asked)| {
            let answer = match asked["method"].as_str() {
                Some("elicitation/create") => json!({"action": "accept",
                    "content": {"approve": true, "target": "production", "instances": 3}}),
                _ => json!({"role": "assistant", "model": "m",
                    "content": {"type": "text", "text": "It is done."}}),
            };
            (key.clone(), answer)
        });
        params = call.clone();
        params["inputResponses"] = Value::Object(answers.collect());
        params["requestState"] = result["requestState"].clone();
        let refused = foreign.call(round, &params).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let text = refused["error"]["message"].as_str().unwrap();
        assert!(text.contains("sealing_keys"), "{text}");
    }
    panic!("the call does not come to an end");
}
