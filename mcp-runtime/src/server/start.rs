//! Starts a server: checks its definitions and settings, and prepares it for connections.

use std::sync::Arc;
use std::time::Duration;

use crate::context::{Capability, ServerControl, ServerHandle};
use crate::dispatch::seal::{Seal, SealedCursors};
#[cfg(feature = "sealing")]
use crate::dispatch::seal::{SealingKey, SealingKeys};
use crate::dispatch::{
    CoveringSource, Dispatcher, JobTools, LinkedMiddleware, ServerShared, ServerSources, Settings,
    SharedRates,
};
use crate::error::{Error, ErrorKind};
use crate::extension::apps;
use crate::handler::definition::Options;
use crate::handler::dynamic::{DynamicTemplate, DynamicTool};
use crate::handler::option::{AddOn, Additions, OptionTools, StartingServer, StoresByType};
use crate::handler::task_options::LinkedTasks;
use crate::protocol::encode::Identity;
use crate::registry::{
    CursorSeal, Registry, ServerRules, Sources, ToolSource, selected_options, serves_apps,
};
use crate::server::Server;

impl Server {
    /// Returns the dispatcher, for use in tests of the layers above it.
    #[cfg(test)]
    pub(crate) fn into_dispatcher(self) -> Result<Arc<Dispatcher>, Error> {
        self.start().map(|(dispatcher, _)| dispatcher)
    }

    /// Checks all definitions and settings and prepares the server for connections.
    pub(super) fn start(self) -> Result<(Arc<Dispatcher>, Arc<ServerShared>), Error> {
        self.with_tasks().with_apps().start_prepared()
    }

    /// Returns the first value found in the options of the tools that the server has at startup: first the tools
    /// declared by attributes, then those inserted through its handle.
    fn find_in_tools<T>(
        &self,
        in_declared: impl Fn(&Options) -> Option<T>,
        in_inserted: impl Fn(&DynamicTool) -> Option<T>,
    ) -> Option<T> {
        selected_options(self.selected.as_deref(), &self.tags)
            .find_map(in_declared)
            .or_else(|| self.shared.find_in_inserted_tools(in_inserted))
    }

    /// Adds the tasks extension if a tool has the `task` option or there is a task store. Either of these provides the
    /// extension's code.
    fn with_tasks(mut self) -> Self {
        let of_tool = self.tasks_of_tools();
        let has_task_tool = of_tool.is_some();
        let (store, of_store) = self.task_store.take().unzip();
        let Some(support) = of_tool.or(of_store) else {
            return self;
        };
        let mut limits = self.limits.tasks.clone();
        if !has_task_tool {
            // Calls to tools that are inserted later are plain calls, because the tools for job handles are not added
            // or removed at run time.
            limits.patience = Duration::MAX;
        }
        let store = store.or_else(|| self.backend.tasks.take());
        #[cfg(feature = "sealing")]
        let store = store.map(|store| self.seal_tasks(store));
        let drain = self.limits.calls.drain_timeout;
        let ends = limits.patience != Duration::MAX;
        let (extension, job_tools) = support.extension(store, limits, drain);
        self.job_tools = ends.then(|| Box::new(job_tools));
        self.extension(extension)
    }

    /// Returns the code that serves tasks if a tool has the `task` option.
    fn tasks_of_tools(&self) -> Option<LinkedTasks> {
        self.find_in_tools(|tool| tool.linked_tasks, |tool| tool.linked_tasks)
    }

    /// Returns `true` if a tool has the `task` option or there is a task store.
    #[cfg(feature = "cli")]
    pub(super) fn has_tasks(&self) -> bool {
        self.task_store.is_some() || self.tasks_of_tools().is_some()
    }

    /// Returns `true` if tasks are kept in a store that outlives the process.
    #[cfg(feature = "ship")]
    pub(super) fn keeps_tasks(&self) -> bool {
        let own = self.task_store.as_ref().map(|(store, _)| store);
        let store = own.or(self.backend.tasks.as_ref());
        store.is_some_and(|store| store.outlives_process())
    }

    /// Adds the extension for pages if the server serves a page.
    fn with_apps(self) -> Self {
        if serves_apps(self.selected.as_deref(), &self.tags) {
            self.extension(apps::extension())
        } else {
            self
        }
    }

    /// Describes each mistake in the settings that apply to all transports.
    pub(super) fn setting_faults(&self) -> Vec<String> {
        let faults = self.faults.iter().chain(&self.environment.faults);
        faults.cloned().chain(self.limits.faults()).collect()
    }

    /// Returns the add-ons of the settings and of the options of tools, each of them once.
    fn add_ons(&self) -> Vec<AddOn> {
        let mut found: Vec<AddOn> = Vec::new();
        let mut add = |add_on: AddOn| {
            if found.iter().all(|known| known.name != add_on.name) {
                found.push(add_on);
            }
        };
        self.add_ons.iter().copied().for_each(&mut add);
        let declared = selected_options(self.selected.as_deref(), &self.tags);
        let attached = declared.flat_map(|options| options.attached);
        attached.map(|option| option.add_on()).for_each(&mut add);
        self.shared.each_inserted_tool(|tool| {
            let attached = tool.attached.iter();
            attached.map(|option| option.add_on()).for_each(&mut add);
        });
        found
    }

    fn start_prepared(self) -> Result<(Arc<Dispatcher>, Arc<ServerShared>), Error> {
        let add_ons = self.add_ons();
        self.environment.log_values();
        let faults = self.setting_faults();
        if !faults.is_empty() {
            return Err(Error::new(ErrorKind::Configuration, faults.join("\n")));
        }
        let handle = ServerHandle(Arc::clone(&self.shared) as Arc<dyn ServerControl>);
        let (extensions, meta_keys) = self.extensions.start(&handle)?;
        let states = Arc::new(self.states);
        let wrapping = self.wrapping;
        let server_name = self.identity.name.clone();
        let identity = Identity::new(self.identity).with_meta_keys(meta_keys.clone());
        let once_store = self.once_store.or(self.backend.once);
        let stores = StoresByType::default().with(self.backend.results);
        let starting = StartingServer {
            name: &server_name,
            identity: &identity,
            limits: &self.limits,
            sanitizer: wrapping.sanitizer.as_ref(),
            once_store: once_store.as_ref(),
            stores: &stores,
            added: Additions::default(),
        };
        let added = starting.start(add_ons);
        let cover = self.cover.map(|create| create()).transpose()?;
        let own = (cover, added.tools, added.templates);
        let mut sources = gather_sources(own, self.job_tools, self.tool_sources)?;
        let rules = Arc::new(ServerRules {
            meta_keys,
            tag_scopes: self.tag_scopes,
            reservations: sources.reservations(),
            selection: self.tag_settings.selection,
            message_limits: self.limits.message.clone(),
            tag_descriptions: self.tag_settings.descriptions,
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
            page_size: self.page_size,
            has_methods: extensions.has_methods(),
        })?);
        self.shared.attach(&registry, &extensions)?;
        sources.attach(&registry)?;
        if let Some(relay) = self.backend.notifications {
            self.shared.relay_changes(relay);
        }
        wrapping.check_layered_tools(&registry.snapshot().names(Capability::Tools))?;
        #[cfg(feature = "sealing")]
        let keys = choose_keys(&self.sealing_keys, self.backend.sealing_keys);
        #[cfg(feature = "sealing")]
        let new_seal = |lifetime| Seal::new(keys.clone(), lifetime);
        #[cfg(not(feature = "sealing"))]
        let new_seal = Seal::new;
        let seal = new_seal(self.limits.elicitation.state_timeout);
        let cursors = SealedCursors::new(new_seal(SealedCursors::LIFETIME), &server_name);
        let fallback = self.backend.rate_fallback;
        let rates = self
            .backend
            .rates
            .map(|store| SharedRates::new(store, fallback));
        let (around, around_tasks) = (wrapping.around, wrapping.around_tasks);
        let middleware = LinkedMiddleware::new(&around, around_tasks, added.wrappings);
        let cursors: Arc<dyn CursorSeal> = Arc::new(cursors);
        sources.start(&handle, (&registry, &rules), &cursors)?;
        let settings = Settings {
            sources,
            identity,
            instructions: self.instructions,
            limits: self.limits,
            states,
            environment_headers: (!self.environment_headers.is_empty())
                .then(|| Arc::new(self.environment_headers)),
            seal,
            cursors,
            once_store,
            logging: self.logging,
            argument_errors: self.argument_errors,
            expose_errors: self.expose_errors,
            #[cfg(feature = "testing")]
            prints_failures: self.prints_failures,
            check_outputs: self.check_outputs,
            cache: self.cache,
            rate: wrapping.rate,
            middleware,
            sanitizer: wrapping.sanitizer,
            hooks: self.hooks,
            admission: self.admission,
            extensions,
            rules,
            tags_in_instructions: self.tag_settings.in_instructions,
        };
        crate::telemetry::describe_metrics();
        let dispatcher = Dispatcher::new(settings, rates, registry, Arc::clone(&self.shared));
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
    job_tools: Option<Box<[DynamicTool; 2]>>,
    of_author: Vec<Arc<dyn ToolSource>>,
) -> Result<ServerSources, Error> {
    let mut sources = ServerSources::default();
    if let Some(cover) = cover {
        sources.set_cover(cover);
    }
    sources.add_of_add_ons(tools, templates)?;
    if let Some(tools) = job_tools {
        sources.add_built_in(Arc::new(JobTools::new(*tools)?));
    }
    let problems = sources.add_of_authors(of_author);
    if problems.is_empty() {
        Ok(sources)
    } else {
        Err(Error::new(ErrorKind::Configuration, problems.join("\n")))
    }
}

/// Returns the server's own keys or, if there are none, those of its backend.
#[cfg(feature = "sealing")]
fn choose_keys(own: &[SealingKey], of_backend: Option<SealingKeys>) -> SealingKeys {
    match of_backend {
        Some(keys) if own.is_empty() => keys,
        _ => SealingKeys::new(own),
    }
}
