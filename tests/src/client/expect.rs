//! Single-line checks of the outcomes that tests expect.

use serde_json::{Value, json};

use crate::client::{Client, Failure};

impl Client {
    /// Calls a method that must succeed.
    pub async fn ok(&mut self, method: &str, params: Value) -> Value {
        match self.request(method, params).await {
            Ok(result) => result,
            Err(failure) => panic!("{method} in {}: {failure:?}", self.version.date()),
        }
    }

    /// Calls a method that must fail with the given code.
    pub async fn fails(&mut self, method: &str, params: Value, code: i64) -> Failure {
        match self.request(method, params.clone()).await {
            Err(failure) => {
                assert_eq!(
                    failure.code,
                    code,
                    "{method} {params} in {}: {failure:?}",
                    self.version.date()
                );
                failure
            }
            Ok(result) => panic!(
                "{method} {params} in {} went well: {result}",
                self.version.date()
            ),
        }
    }

    /// Calls a tool and returns its result, even if the result is an error for the model.
    pub async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.ok("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    /// Calls a tool and returns the text of its only content block.
    pub async fn text(&mut self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await;
        assert_ne!(result["isError"], json!(true), "{name}: {result}");
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text in {result}"))
            .to_owned()
    }

    /// Calls a tool that must fail with a message for the model; returns the message.
    pub async fn refused(&mut self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await;
        assert_eq!(result["isError"], json!(true), "{name}: {result}");
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text in {result}"))
            .to_owned()
    }

    /// Sends `subscriptions/listen` with this id; returns the part of the filter that the server honours.
    pub async fn listen(&mut self, id: impl Into<Value>, filter: Value) -> Value {
        let (id, params) = (id.into(), self.dress(json!({"notifications": filter})));
        let method = "subscriptions/listen";
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        let acknowledged = "notifications/subscriptions/acknowledged";
        let acknowledged = self.notification(acknowledged).await;
        let subscription = "io.modelcontextprotocol/subscriptionId";
        assert_eq!(acknowledged["_meta"][subscription], id);
        acknowledged["notifications"].clone()
    }

    /// Reads all pages of a list; returns the items and the number of pages.
    pub async fn list(&mut self, method: &str, member: &str) -> (Vec<Value>, usize) {
        self.list_of(method, json!({}), member).await
    }

    /// Reads all pages of a list that has parameters; returns the items and the number of pages.
    pub async fn list_of(
        &mut self,
        method: &str,
        mut params: Value,
        member: &str,
    ) -> (Vec<Value>, usize) {
        let (mut items, mut pages) = (Vec::new(), 0);
        loop {
            let page = self.ok(method, params.clone()).await;
            items.extend(page[member].as_array().expect("a list").iter().cloned());
            pages += 1;
            assert!(pages < 1_000, "{method} does not end");
            match page.get("nextCursor") {
                Some(next) => params["cursor"] = next.clone(),
                None => return (items, pages),
            }
        }
    }

    /// Waits for the answer to a harmless request, then returns all unsolicited notifications that were received before
    /// it.
    pub async fn drain(&mut self) -> Vec<Value> {
        self.pass().await;
        self.notifications.drain(..).collect()
    }

    /// Sends a harmless request to check that the server still works and has read everything that was sent before.
    pub async fn pass(&mut self) {
        if self.version.is_modern() {
            self.ok("server/discover", json!({})).await;
        } else {
            self.ok("ping", json!({})).await;
        }
    }
}
