//! What the command line and the client for tests may do with a server before it starts.

use std::sync::Arc;

use mcp_core::handler::option::StoresByType;
use mcp_core::limits::Limits;

use crate::context::{EnvironmentHeaders, OnceStore};
use crate::dispatch::{BuiltServer, UnstartedServer};
use crate::error::Error;
use crate::observe::Observers;
use crate::seal::SealingKey;
use crate::server::Server;
use crate::types::Implementation;

impl UnstartedServer for Server {
    fn identity(&self) -> &Implementation {
        &self.identity
    }

    fn limits_mut(&mut self) -> &mut Limits {
        &mut self.limits
    }

    fn observers_mut(&mut self) -> &mut Observers {
        &mut self.observers
    }

    fn ignore_missing_settings(&mut self) {
        self.environment.faults.clear();
    }

    fn select(&mut self, selection: &str) {
        self.add_tag_selection(selection);
    }

    fn set_headers(&mut self, headers: Vec<(String, String)>, with_variables: bool) {
        if !with_variables {
            self.environment_headers = EnvironmentHeaders::default();
        }
        self.environment_headers.show_to_all_callers();
        for (name, value) in headers {
            self.environment_headers.set(name, value);
        }
    }

    fn stores_mut(&mut self) -> &mut StoresByType {
        &mut self.stores
    }

    fn survive_in(&mut self, once: Arc<dyn OnceStore>, key: SealingKey) {
        self.backend.once = Some(once);
        if self.sealing_keys.is_empty() {
            self.sealing_keys.push(key);
        }
    }

    fn start(mut self: Box<Self>) -> Result<BuiltServer, Error> {
        // Commands that need one have it by now.
        self.requires_backend = false;
        self.build_for_command()
    }
}
