//! The server's declarations: its name and instructions, and its lists.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::Capability;
use crate::testing::agree::OutcomeComparison;
use crate::testing::script::ScriptedClient;
use crate::testing::{TestClient, parse_result};
use crate::types::{Implementation, Prompt, Resource, ResourceTemplate, Tool};

impl TestClient {
    /// Lists all tools.
    pub async fn tools(&self) -> Vec<Tool> {
        self.list(Capability::Tools).await
    }

    /// Returns the schema of a tool's arguments, as JSON. With clients for both eras, returns the schema that the modern
    /// client receives.
    ///
    /// # Panics
    ///
    /// Panics if the server does not list the tool.
    pub async fn input_schema(&self, tool: &str) -> Value {
        let schema = self.find_tool(tool).await.input_schema;
        parse_result("tools/list", json!(schema))
    }

    /// Returns the schema of a tool's structured content, as JSON. With clients for both eras, returns the schema that
    /// the modern client receives.
    ///
    /// # Panics
    ///
    /// Panics if the server does not list the tool, or if the tool has no output schema.
    pub async fn output_schema(&self, tool: &str) -> Value {
        let schema = self.find_tool(tool).await.output_schema;
        assert!(schema.is_some(), "`{tool}` has no output schema");
        parse_result("tools/list", json!(schema))
    }

    async fn find_tool(&self, name: &str) -> Tool {
        let tools = self.tools().await;
        let names: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        let mut tools = tools.into_iter();
        tools
            .find(|tool| tool.name == name)
            .unwrap_or_else(|| panic!("there is no tool `{name}`, only {names:?}"))
    }

    /// Returns the server's name, version, title and icons, as clients see them. With clients for both eras, returns
    /// those that the modern client receives.
    ///
    /// # Panics
    ///
    /// Panics if the server did not send a name and a version, as every server does.
    #[must_use]
    #[track_caller]
    pub fn server_info(&self) -> Implementation {
        match self.newest_side().client.server.implementation() {
            Ok(implementation) => implementation,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Returns the server's instructions for the model, if it has any.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.newest_side().client.server.instructions.as_deref()
    }

    fn newest_side(&self) -> &ScriptedClient {
        self.sides.last().expect("a client has a side")
    }

    /// Lists all prompts.
    pub async fn prompts(&self) -> Vec<Prompt> {
        self.list(Capability::Prompts).await
    }

    /// Lists all resources with a fixed URI and all resources that templates list.
    pub async fn resources(&self) -> Vec<Resource> {
        self.list(Capability::Resources).await
    }

    /// Lists all resource templates.
    pub async fn resource_templates(&self) -> Vec<ResourceTemplate> {
        self.list(Capability::Templates).await
    }

    /// Fetches all pages of a list. Only names are compared between clients, because other members depend on the
    /// protocol version.
    async fn list<T: DeserializeOwned>(&self, list: Capability) -> Vec<T> {
        let mut settled = OutcomeComparison::new(list.member());
        let mut all = Vec::new();
        for side in &self.sides {
            all = match side.client.fetch_list(list).await {
                Ok(items) => items,
                Err(failure) => panic!("{} in {}: {failure}", list.member(), side.version()),
            };
            let names = all.iter().map(|item| item[list.item_key()].clone());
            settled.add(side, Ok(names.collect()));
        }
        // The outcome cannot be an error, because listing always succeeds here.
        drop(settled.outcome());
        let items = all.into_iter();
        items
            .map(|item| parse_result(list.member(), item))
            .collect()
    }
}
