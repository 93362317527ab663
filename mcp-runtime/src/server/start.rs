//! Starts a server: checks its definitions and settings, and prepares it for connections.

use std::any::TypeId;
use std::sync::Arc;

use mcp_core::handler::dynamic::DynamicTemplate;
use mcp_core::handler::item_option::attached;
use mcp_core::handler::option::{
    AddOn, Additions, AttachedOption, OptionTools, StartingServer, StoresByType,
};
use mcp_core::handler::rules;

use crate::context::{Capability, ServerControl, ServerHandle};
use crate::dispatch::{
    BuiltServer, CoveringSource, Dispatcher, LinkedMiddleware, ServerShared, ServerSources,
    Settings,
};
use crate::error::{Error, ErrorKind};
use crate::observe::describe_metrics;
use crate::order;
use crate::protocol::encode::Identity;
use crate::registry::{
    CursorSeal, Registry, SealedCursors, ServerRules, Sources, ToolSource, selected_options,
};
use crate::seal::{Seal, SealingKey, SealingKeys};
use crate::server::Server;

impl Server {
    /// Describes each mistake in the settings that apply to all transports.
    pub(super) fn setting_faults(&self) -> Vec<String> {
        let faults = self.faults.iter().chain(&self.environment.faults);
        let icons = self.identity.icons.iter();
        let icons = icons.filter_map(|icon| rules::icon(&icon.src).into_result().err());
        let icons = icons.map(|problem| format!("server: {problem}"));
        let faults = faults.cloned().chain(icons).chain(self.limits.faults());
        let faults = faults.chain(self.states.faults());
        let faults = faults.chain(self.on_serve.faults(&self.states));
        faults.chain(self.backend_fault()).collect()
    }

    /// Returns the add-ons of the settings and of the options of tools, each of them once, and the types of those options.
    pub(super) fn add_ons(&self) -> (Vec<AddOn>, Vec<TypeId>) {
        let mut add_ons: Vec<AddOn> = Vec::new();
        let mut add = |add_on: AddOn| {
            if add_ons.iter().all(|known| known.name != add_on.name) {
                add_ons.push(add_on);
            }
        };
        let set = self.added.add_ons.iter().chain(&self.backend.add_ons);
        set.copied().for_each(&mut add);
        let mut options: Vec<TypeId> = Vec::new();
        let mut attach = |option: &AttachedOption| {
            let option = &**option;
            if !options.contains(&option.type_id()) {
                options.push(option.type_id());
                add(option.add_on());
            }
        };
        let declared = selected_options(self.selected.as_deref(), &self.tags);
        declared.for_each(|options| attached(options).for_each(&mut attach));
        self.shared
            .each_inserted_tool(|tool| attached(&tool.handler.options).for_each(&mut attach));
        // Definitions are linked in any order.
        order::sort_by(&mut add_ons, |one, other| one.name.cmp(other.name));
        (add_ons, options)
    }

    /// Returns the server as the add-ons that start now see it. `added` is what others have added.
    fn starting<'a>(
        &'a self,
        identity: &'a Identity,
        (options, stores): (&'a [TypeId], &'a StoresByType),
        added: Additions,
    ) -> StartingServer<'a> {
        StartingServer {
            name: &self.identity.name,
            identity,
            limits: &self.limits,
            rewrites: &self.added.rewrites,
            once_store: self.backend.once.as_ref(),
            options,
            stores,
            added,
        }
    }

    /// Builds the server for a program that receives messages in a way of its own, such as a serverless function or a
    /// WebAssembly module, and wants one answer for each:
    ///
    /// ```standalone_crate
    /// use mcp_runtime::prelude::*;
    ///
    /// /// Adds two integers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # futures_util::FutureExt::now_or_never(async {
    /// let server = Server::new("calculator", "1.0.0").build()?;
    /// let answer = server.handle(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#).await;
    /// assert!(String::from_utf8_lossy(&answer.unwrap()).contains(r#""text":"3""#));
    /// # Ok::<_, mcp_runtime::Error>(()) }).unwrap().unwrap();
    /// ```
    ///
    /// No runtime is needed: any executor can poll what [`handle`](crate::server::BuiltServer::handle) returns. Values of
    /// [`state_with`](Self::state_with) are made when a call first needs them, and the functions of
    /// [`on_serve`](Self::on_serve) run when the first message arrives.
    ///
    /// # Errors
    ///
    /// Fails if definitions or settings are invalid; all mistakes are reported. On targets without an operating system,
    /// also fails if no `Host` has been installed.
    pub fn build(mut self) -> Result<BuiltServer, Error> {
        self.open_backend_at_once()?;
        let server = self.build_for_command()?;
        server.dispatcher().run_serve_hooks_with_first_request();
        Ok(server)
    }

    /// Builds the server for a command or a test, which does not serve.
    pub(super) fn build_for_command(self) -> Result<BuiltServer, Error> {
        let (dispatcher, shared) = self.start()?;
        Ok(BuiltServer::new(dispatcher, shared))
    }

    /// Checks all definitions and settings and prepares the server for connections.
    pub(super) fn start(mut self) -> Result<(Arc<Dispatcher>, Arc<ServerShared>), Error> {
        mcp_core::host::check()?;
        let (add_ons, options) = self.add_ons();
        self.observers = crate::server::observing::with_built_in(self.observers);
        self.observers.start();
        // Add-ons describe theirs when they start.
        describe_metrics();
        self.environment.log_values();
        let faults = self.setting_faults();
        if !faults.is_empty() {
            return Err(Error::new(ErrorKind::Configuration, faults.join("\n")));
        }
        let handle = ServerHandle::new(Arc::clone(&self.shared) as Arc<dyn ServerControl>);
        let stores = self.stores_for_add_ons();
        let identity = Identity::new(self.identity.clone());
        let added = self.starting(&identity, (&options, &stores), Additions::default());
        let mut added = added.start(add_ons.iter().filter(|add_on| add_on.adds_extension));
        for extension in std::mem::take(&mut added.extensions) {
            self.add_extension(extension);
        }
        let (extensions, meta_keys) = std::mem::take(&mut self.extensions).start(&handle)?;
        let identity = identity.with_meta_keys(meta_keys.clone());
        // What extensions add comes last in lists.
        let of_extensions = std::mem::take(&mut added.tools);
        let added = self.starting(&identity, (&options, &stores), added);
        let mut added = added.start(add_ons.iter().filter(|add_on| !add_on.adds_extension));
        added.tools.extend(of_extensions);
        let server_name = self.identity.name;
        let states = Arc::new(self.states);
        states.connect();
        let mut wrapping = self.wrapping;
        let once_store = self.backend.once;
        let cover = self.added.cover.map(|create| create()).transpose()?;
        let own = (cover, added.tools, added.templates);
        let mut sources = gather_sources(own, self.tool_sources)?;
        let rules = Arc::new(ServerRules {
            meta_keys,
            tag_scopes: self.tag_scopes,
            quotas: std::mem::take(&mut wrapping.quotas),
            reservations: sources.reservations(),
            selection: self.tag_settings.selection.clone(),
            message_limits: self.limits.message.clone(),
            described_tags: self.tag_settings.described_tags(),
            prefixes: self.prefixes,
        });
        let registry = Arc::new(Registry::build(Sources {
            only: self.selected,
            tags: self.tags,
            rules: Arc::clone(&rules),
            receivers: self.receivers,
            states: Arc::clone(&states),
            early: self.shared.take_early(),
            offered: self.offered,
            page_size: self.limits.message.max_page_items,
            has_methods: extensions.has_methods(),
        })?);
        self.shared.attach(&registry, &extensions)?;
        sources.attach(&registry)?;
        if let Some(log) = added.changes {
            self.shared.exchange_changes(log);
        }
        wrapping.check_layered_tools(&registry.snapshot().names(Capability::Tools))?;
        let keys = choose_keys(&self.sealing_keys, self.backend.sealing_keys);
        let new_seal = |lifetime| Seal::new(keys.clone(), lifetime);
        let seal = new_seal(self.limits.elicitation.state_timeout);
        let cursors = SealedCursors::new(new_seal(SealedCursors::LIFETIME), &server_name);
        let middleware = LinkedMiddleware::new(&wrapping.around, added.wrappings);
        let cursors: Arc<dyn CursorSeal> = Arc::new(cursors);
        sources.start(&handle, (&registry, &rules), &cursors)?;
        let settings = Settings {
            sources,
            on_serve: self.on_serve,
            identity,
            instructions: self.instructions,
            limits: self.limits,
            states,
            environment_headers: (!self.environment_headers.is_empty())
                .then(|| Arc::new(self.environment_headers)),
            seal,
            cursors,
            once_store,
            expose_errors: self.expose_errors,
            check_outputs: self.check_outputs,
            cache: self.cache,
            rate: wrapping.rate,
            middleware,
            rewrites: self.added.rewrites,
            observers: self.observers,
            admission: self.admission,
            extensions,
            rules,
            request_instructions: (self.added.describe_groups)
                .map(|describe| describe(self.tag_settings.descriptions)),
        };
        let dispatcher = Dispatcher::new(settings, added.rates, registry, Arc::clone(&self.shared));
        Ok((dispatcher, self.shared))
    }
}

/// Returns the sources that are asked besides the registry.
///
/// # Errors
///
/// Fails if the author's sources do not have names of their own.
fn gather_sources(
    (cover, tools, templates): (
        Option<Arc<dyn CoveringSource>>,
        Vec<OptionTools>,
        Vec<DynamicTemplate>,
    ),
    of_author: Vec<Arc<dyn ToolSource>>,
) -> Result<ServerSources, Error> {
    let mut sources = ServerSources::default();
    if let Some(cover) = cover {
        sources.set_cover(cover);
    }
    sources.add_of_add_ons(tools, templates)?;
    let problems = sources.add_of_authors(of_author);
    if problems.is_empty() {
        Ok(sources)
    } else {
        Err(Error::new(ErrorKind::Configuration, problems.join("\n")))
    }
}

/// Returns the server's own keys or, if there are none, those of its backend.
fn choose_keys(own: &[SealingKey], of_backend: Option<SealingKeys>) -> SealingKeys {
    match of_backend {
        Some(keys) if own.is_empty() => keys,
        _ => SealingKeys::new(own),
    }
}
