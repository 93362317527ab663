//! Definitions that the instances of a server share: data in a store, from which each instance makes its own.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mcp_core::handler::dynamic::ItemKind;
use mcp_stores::{DefinitionStore, StoredDefinitions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::context::{Editor, ServerHandle};
use crate::error::{Error, ErrorKind};
use crate::server::Server;

/// Maximum size of a record, in bytes of JSON.
const MAX_RECORD: usize = 256 << 10;
/// Time before the first retry when the store fails. The time doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Maximum time before a failing store is tried again.
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// Definitions that are added and removed at run time on all instances of a server: tools, prompts, resources or
/// resource templates (`D`), each made from a record (`T`). Cheap to clone; clones share their definitions.
///
/// A handler is code and cannot be sent to another instance. Data can: a [`DefinitionStore`] keeps the records, and
/// each instance makes a definition from each of them, now and whenever the records change. With the same build, all
/// instances therefore serve the same definitions, and so does an instance that starts later.
///
/// ```
/// # use std::sync::Arc;
/// use mcp_runtime::backend::MemoryDefinitionStore;
/// use mcp_runtime::dynamic::{Arguments, DynamicTool, SharedDefinitions};
/// use mcp_runtime::prelude::*;
///
/// /// A question that users ask often.
/// #[data]
/// struct Answer {
///     name: String,
///     text: String,
/// }
///
/// /// Adds a tool that gives an answer.
/// #[tool(scopes("admin"))]
/// async fn add_answer(answer: Answer, answers: State<SharedDefinitions<Answer, DynamicTool>>) -> Result<()> {
///     answers.put(&answer).await.expose()?;
///     Ok(())
/// }
///
/// fn answer_tool(answer: &Answer) -> DynamicTool {
///     let text = answer.text.clone();
///     let schema = json!({"type": "object"});
///     DynamicTool::new(&answer.name, schema, move |_: Arguments, _: Context| std::future::ready(text.clone()))
/// }
///
/// // With several instances, pass `Arc::new(redis.clone())`.
/// let store = Arc::new(MemoryDefinitionStore::new());
/// let answers = SharedDefinitions::new(store, "answers", answer_tool);
/// let server = new_server!().shared_definitions(&answers).state(answers);
/// ```
///
/// While the store fails, the instance keeps the definitions that it has.
pub struct SharedDefinitions<T, D>(Arc<Inner<T, D>>);

struct Inner<T, D> {
    store: Arc<dyn DefinitionStore>,
    set: String,
    make: Box<dyn Fn(&T) -> D + Send + Sync>,
    server: OnceLock<ServerHandle>,
    served: Mutex<ServedRecords>,
}

/// The records whose definitions this instance serves.
#[derive(Default)]
struct ServedRecords {
    version: Option<String>,
    /// Number of changes made on this instance. Records that were read before such a change may be outdated.
    changes: u64,
    records: BTreeMap<String, String>,
}

impl<T, D> SharedDefinitions<T, D>
where
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
    D: ItemKind + 'static,
{
    /// Creates definitions whose records are in a store, in the set with this name. `make` makes a definition from a
    /// record. Pass them to [`Server::shared_definitions`].
    pub fn new(
        store: Arc<dyn DefinitionStore>,
        set: impl Into<String>,
        make: impl Fn(&T) -> D + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            set: set.into(),
            make: Box::new(make),
            server: OnceLock::new(),
            served: Mutex::default(),
        }))
    }

    /// Adds the definition that is made from a record, or replaces the one with the same name. When this returns, the
    /// definition exists on this instance and its record is in the store; the other instances follow within
    /// milliseconds.
    ///
    /// # Errors
    ///
    /// Nothing is stored if the definition is invalid ([`Configuration`](ErrorKind::Configuration), with all mistakes;
    /// also if the record takes more than 256 KiB of JSON, or if the server is not running), if its name belongs to
    /// another definition of the server ([`Duplicate`](ErrorKind::Duplicate)), or if the store fails
    /// ([`Io`](ErrorKind::Io)). After an `Io` error, the record may have been stored if the store's reply was lost.
    ///
    /// If the future is dropped before it completes, this instance may serve the definition although its record was not
    /// stored, until the records change.
    pub async fn put(&self, record: &T) -> Result<(), Error> {
        let text = serde_json::to_string(record).map_err(|error| {
            Error::new(
                ErrorKind::Configuration,
                format!("a record is no JSON: {error}"),
            )
        })?;
        if text.len() > MAX_RECORD {
            let size = text.len();
            let problem =
                format!("a record of {size} bytes is too large; allowed: at most {MAX_RECORD}");
            return Err(Error::new(ErrorKind::Configuration, problem));
        }
        let mut served = self.0.served.lock().await;
        let name = self.serve(record, &text, &mut served)?;
        served.changes += 1;
        let before = served.records.insert(name.clone(), text.clone());
        let stored = self.0.store.put(&self.0.set, &name, &text).await;
        stored.map_err(|error| {
            self.restore(&name, before, &mut served);
            Error::new(
                ErrorKind::Io,
                format!("the definition `{name}` cannot be stored: {error}"),
            )
            .with_source(error)
        })
    }

    /// Removes a definition by its name or URI, on all instances. Returns `true` if it existed.
    ///
    /// # Errors
    ///
    /// Fails if the store does ([`Io`](ErrorKind::Io)), in which case the definition is still served, or if the server is
    /// not running ([`Configuration`](ErrorKind::Configuration)).
    pub async fn remove(&self, name: &str) -> Result<bool, Error> {
        let mut served = self.0.served.lock().await;
        let editor = self.editor()?;
        let removed = self.0.store.remove(&self.0.set, name).await;
        let removed = removed.map_err(|error| {
            let problem = format!("the definition `{name}` cannot be removed: {error}");
            Error::new(ErrorKind::Io, problem).with_source(error)
        })?;
        served.changes += 1;
        if served.records.remove(name).is_some() {
            editor.remove(name);
        }
        Ok(removed)
    }

    /// Returns the editor of the server's list.
    fn editor(&self) -> Result<Editor<D>, Error> {
        let server = self.0.server.get();
        let running = server.filter(|server| server.control().dispatcher().is_some());
        let server = running.ok_or_else(|| {
            let set = &self.0.set;
            let problem = format!(
                "the shared definitions `{set}` belong to no running server; pass them to `Server::shared_definitions`"
            );
            Error::new(ErrorKind::Configuration, problem)
        })?;
        Ok(Editor::new(server.control()))
    }

    /// Serves a record's definition, unless it is already served. Returns its name.
    fn serve(&self, record: &T, text: &str, served: &mut ServedRecords) -> Result<String, Error> {
        let definition = (self.0.make)(record);
        let name = definition.key().to_owned();
        match served.records.get(&name) {
            Some(known) if known == text => {}
            Some(_) => self.editor()?.replace(definition)?,
            None => self.editor()?.insert(definition)?,
        }
        Ok(name)
    }

    /// Serves what was served before a change that could not be stored.
    fn restore(&self, name: &str, before: Option<String>, served: &mut ServedRecords) {
        served.records.remove(name);
        let Ok(editor) = self.editor() else {
            return;
        };
        editor.remove(name);
        if let Some(text) = before {
            self.serve_text(name, text, served);
        }
    }

    /// Serves a stored record's definition. Problems are logged.
    fn serve_text(&self, name: &str, text: String, served: &mut ServedRecords) {
        let set = &*self.0.set;
        let problem = match serde_json::from_str(&text) {
            Ok(record) => match self.serve(&record, &text, served) {
                Ok(made) if made == name => {
                    served.records.insert(made, text);
                    return;
                }
                Ok(made) => {
                    if let Ok(editor) = self.editor() {
                        editor.remove(&made);
                    }
                    format!("its definition is called `{made}`")
                }
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        tracing::error!(set, name, problem, "a shared definition is not served");
    }

    /// Serves the definitions of these records, and no others, unless this instance has changed a record since there
    /// were this many changes.
    async fn apply(&self, stored: StoredDefinitions, changes: u64) {
        let mut served = self.0.served.lock().await;
        if served.changes != changes {
            return;
        }
        let stored_records: BTreeMap<_, _> = stored.records.into_iter().collect();
        if let Ok(editor) = self.editor() {
            served.records.retain(|name, _| {
                let is_kept = stored_records.contains_key(name);
                if !is_kept {
                    editor.remove(name);
                }
                is_kept
            });
        }
        for (name, text) in stored_records {
            if served.records.get(&name) != Some(&text) {
                self.serve_text(&name, text, &mut served);
            }
        }
        served.version = Some(stored.version);
    }

    /// Follows the records until the server stops.
    async fn follow(self, handle: ServerHandle) {
        let mut stopping = pin!(handle.stopping());
        let mut retry = FIRST_RETRY;
        loop {
            let (version, changes) = {
                let served = self.0.served.lock().await;
                (served.version.clone(), served.changes)
            };
            let received = tokio::select! {
                biased;
                () = &mut stopping => return,
                received = self.0.store.receive(&self.0.set, version.as_deref()) => received,
            };
            match received {
                Ok(stored) => {
                    retry = FIRST_RETRY;
                    if let Some(stored) = stored {
                        self.apply(stored, changes).await;
                    }
                }
                Err(error) => {
                    if retry == FIRST_RETRY {
                        let set = &*self.0.set;
                        tracing::warn!(set, %error, "shared definitions cannot be read; the known ones are served");
                    }
                    tokio::select! {
                        biased;
                        () = &mut stopping => return,
                        () = sleep(retry) => {}
                    }
                    retry = retry.saturating_mul(2).min(LONGEST_RETRY);
                }
            }
        }
    }
}

impl Server {
    /// Serves definitions that all instances of the server share, and follows their changes. They are read as soon as the
    /// server accepts requests; until then, `/readyz` returns 503. Declares the capability for their list.
    ///
    /// Start-up fails if the definitions already belong to another server.
    pub fn shared_definitions<T, D>(mut self, definitions: &SharedDefinitions<T, D>) -> Self
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
        D: ItemKind + 'static,
    {
        let handle = self.handle();
        if definitions.0.server.set(handle.clone()).is_err() {
            let set = &definitions.0.set;
            self.faults.push(format!(
                "the shared definitions `{set}` belong to two servers"
            ));
            return self;
        }
        handle.spawn(definitions.clone().follow(handle.clone()));
        #[cfg(feature = "http")]
        {
            let shared = definitions.clone();
            self = self.ready_check(
                format!("shared definitions `{}`", definitions.0.set),
                move || {
                    let shared = shared.clone();
                    async move {
                        let is_loaded = shared.0.served.lock().await.version.is_some();
                        is_loaded.then_some(()).ok_or("they have not been read yet")
                    }
                },
            );
        }
        self.capability(D::LIST)
    }
}

impl<T, D> Clone for SharedDefinitions<T, D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T, D> fmt::Debug for SharedDefinitions<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDefinitions")
            .field("set", &self.0.set)
            .finish_non_exhaustive()
    }
}
