//! A backend whose place is in an environment variable: declared at once, opened only when it is needed.

use std::future::{Future, ready};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll, Waker};

use mcp_core::error::{BoxError, Causes};
use mcp_settings::DeclaredVariable;
use mcp_stores::Backend;

use crate::error::{Error, ErrorKind};
use crate::server::Server;

type OpeningBackend = Pin<Box<dyn Future<Output = Result<Backend, BoxError>> + Send>>;

type NamedOpening = Pin<Box<dyn Future<Output = Result<Backend, Error>> + Send>>;

/// The variable, and the function that opens what its value names.
pub(super) struct BackendVariable {
    name: String,
    open: Box<dyn FnOnce(String) -> OpeningBackend + Send>,
}

/// Marks functions that are not async.
pub struct OpensAtOnce;

/// Marks async functions.
pub struct OpensLater<R>(PhantomData<R>);

/// What a function that opens a backend returns: a result, or a future of one.
pub trait OpenedBackend<M> {
    #[doc(hidden)]
    fn into_opening(self) -> Pin<Box<dyn Future<Output = Result<Backend, BoxError>> + Send>>;
}

impl<B: Into<Backend>, E: Into<BoxError>> OpenedBackend<OpensAtOnce> for Result<B, E> {
    fn into_opening(self) -> OpeningBackend {
        Box::pin(ready(self.map(Into::into).map_err(Into::into)))
    }
}

impl<F, B, E> OpenedBackend<OpensLater<Result<B, E>>> for F
where
    F: Future<Output = Result<B, E>> + Send + 'static,
    B: Into<Backend>,
    E: Into<BoxError>,
{
    fn into_opening(self) -> OpeningBackend {
        Box::pin(async move { self.await.map(Into::into).map_err(Into::into) })
    }
}

impl Server {
    /// Opens the [backend](Self::backend) that an environment variable names, such as the path of a file or the URL of a
    /// database. Without the variable, data is kept in memory; see also [`require_backend`](Self::require_backend).
    ///
    /// ```ignore
    /// new_server!().backend_from_env("NOTES_STATE", Sqlite::open)
    /// new_server!().backend_from_env("NOTES_STATE", async |url| Redis::connect(&url).await)
    /// ```
    ///
    /// The variable is declared as with [`env`](Self::env): `--help` and `--describe` list it, the log does not show its
    /// value, and `VARIABLE_FILE` can name a file that contains it.
    ///
    /// `open` is a function or closure, async or not. It is called when the server begins to serve, and for the commands
    /// that call handlers or look at tasks, but not for `tools`, `prompts`, `templates`, `install`, `--describe` and
    /// `--help`, nor for the client for tests, whose data is kept in memory. If it fails, the server does not start.
    /// [`into_http_service`](Self::into_http_service) and [`build`](Self::build) need a function that is not async, or a
    /// call to [`open_backend`](Self::open_backend) first. Replaces any backend that was set earlier if the variable is set.
    pub fn backend_from_env<O, M>(
        mut self,
        variable: &str,
        open: impl FnOnce(String) -> O + Send + 'static,
    ) -> Self
    where
        O: OpenedBackend<M>,
    {
        if let Some(former) = self.backend_variable.take() {
            let variables = &mut self.environment.variables;
            variables.retain(|declared| declared.name != former.name);
        }
        let declared = declared(variable, self.requires_backend);
        self.environment.variables.push(declared);
        self.backend_variable = Some(BackendVariable {
            name: variable.to_owned(),
            open: Box::new(move |place| open(place).into_opening()),
        });
        self
    }

    /// Refuses to serve without a [backend](Self::backend), so that a variable of
    /// [`backend_from_env`](Self::backend_from_env) that is missing in production is an error and not data in memory.
    pub fn require_backend(mut self) -> Self {
        self.requires_backend = true;
        if let Some(BackendVariable { name, .. }) = &self.backend_variable {
            let mut variables = self.environment.variables.iter_mut();
            if let Some(variable) = variables.find(|variable| variable.name == *name) {
                *variable = declared(name, true);
            }
        }
        self
    }

    /// Opens the backend of [`backend_from_env`](Self::backend_from_env) now, if its variable is set. A program needs this
    /// only if the function is async and the program calls [`into_http_service`](Self::into_http_service) or
    /// [`build`](Self::build).
    ///
    /// # Errors
    ///
    /// Fails if the variable cannot be read, or the function fails.
    pub async fn open_backend(mut self) -> Result<Self, Error> {
        self.open_own_backend().await?;
        Ok(self)
    }

    /// Opens the backend without moving the server.
    pub(super) async fn open_own_backend(&mut self) -> Result<(), Error> {
        if let Some(opening) = self.begin_to_open()? {
            self.backend = opening.await?;
            self.has_backend = true;
        }
        Ok(())
    }

    /// Calls the function, if the variable is set. Mistakes in settings are left to the start, which reports them all.
    fn begin_to_open(&mut self) -> Result<Option<NamedOpening>, Error> {
        if !self.setting_faults().is_empty() {
            return Ok(None);
        }
        let Some(BackendVariable { name, open }) = self.backend_variable.take() else {
            return Ok(None);
        };
        let read = mcp_settings::text_of(&name);
        let read = read.map_err(|fault| Error::new(ErrorKind::Configuration, fault))?;
        let Some(place) = read else {
            return Ok(None);
        };
        let opening = open(place);
        Ok(Some(Box::pin(async move {
            opening.await.map_err(|cause| {
                let causes = Causes(&*cause).to_string();
                let message = format!("cannot open the backend that `{name}` names: {causes}");
                Error::new(ErrorKind::Io, message).with_source(cause)
            })
        })))
    }

    /// Opens the backend with a function that does not wait.
    pub(super) fn open_backend_at_once(&mut self) -> Result<(), Error> {
        let Some(BackendVariable { name, .. }) = &self.backend_variable else {
            return Ok(());
        };
        let name = name.clone();
        let opening = pin!(self.open_own_backend());
        match opening.poll(&mut TaskContext::from_waker(Waker::noop())) {
            Poll::Ready(opened) => opened,
            Poll::Pending => Err(Error::new(
                ErrorKind::Configuration,
                format!(
                    "the function that opens the backend of `{name}` is async; call `server.open_backend().await?` before \
                     `into_http_service` or `build`"
                ),
            )),
        }
    }

    /// Returns `true` if a variable names the backend, which has not been opened.
    #[cfg(feature = "cli")]
    pub(super) fn names_backend(&self) -> bool {
        self.backend_variable.is_some()
    }

    /// Describes a backend that is required and missing.
    pub(super) fn backend_fault(&self) -> Option<String> {
        if !self.requires_backend || self.has_backend {
            return None;
        }
        let Some(BackendVariable { name, .. }) = &self.backend_variable else {
            return Some("`require_backend` is set, but there is no backend; add `.backend(…)` or `.backend_from_env(…)`".to_owned());
        };
        match mcp_settings::text_of(name) {
            Ok(Some(_)) => None,
            Ok(None) => {
                let variable = declared(name, true);
                Some(format!(
                    "the environment variable `{name}` is not set: {variable}"
                ))
            }
            Err(fault) => Some(fault),
        }
    }
}

fn declared(variable: &str, is_required: bool) -> DeclaredVariable {
    let place = "Where the server keeps data that outlives a request";
    if is_required {
        DeclaredVariable::text(variable, place, true).required()
    } else {
        let place = format!("{place}; in memory if this is not set");
        DeclaredVariable::text(variable, &place, true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use mcp_stores::MemoryTaskStore;

    use super::*;

    /// A variable that cargo sets for every test.
    const SET: &str = "CARGO_PKG_NAME";

    fn server() -> Server {
        Server::new("test", "1").only([])
    }

    fn store() -> Backend {
        Backend::new().tasks(Arc::new(MemoryTaskStore::default()))
    }

    fn has_store(server: &Server) -> bool {
        server.kept_tasks().is_some()
    }

    #[tokio::test]
    async fn a_backend_is_opened_from_its_variable_and_not_before_it_is_needed() {
        let opened = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&opened);
        let plain = server().backend_from_env(SET, move |place| {
            counted.fetch_add(1, Ordering::Relaxed);
            assert_eq!(place, "mcp-runtime");
            Ok::<_, std::io::Error>(store())
        });
        assert!(
            plain
                .environment
                .help()
                .contains("CARGO_PKG_NAME  Where the server keeps")
        );
        assert_eq!(opened.load(Ordering::Relaxed), 0);
        let plain = plain.open_backend().await.unwrap().open_backend().await;
        assert!(has_store(&plain.unwrap()));
        assert_eq!(opened.load(Ordering::Relaxed), 1);
        let later = server().backend_from_env(SET, async |_place| {
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>(store())
        });
        assert!(has_store(&later.open_backend().await.unwrap()));
        let absent =
            server().backend_from_env("NO_SUCH_VARIABLE", |_| Ok::<_, std::io::Error>(store()));
        assert!(!has_store(&absent.open_backend().await.unwrap()));
    }

    #[test]
    fn a_function_that_waits_must_have_run_before_a_start_that_does_not_wait() {
        let later = server().backend_from_env(SET, async |_place| {
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>(store())
        });
        let error = later.build().unwrap_err().to_string();
        assert!(
            error.contains("call `server.open_backend().await?` before"),
            "{error}"
        );
        let plain = server().backend_from_env(SET, |_| Ok::<_, std::io::Error>(store()));
        plain.build().unwrap();
    }

    #[test]
    fn a_backend_that_cannot_be_opened_stops_the_start() {
        let failing = server().backend_from_env(SET, |_| {
            Err::<Backend, _>(std::io::Error::other("it is locked"))
        });
        let error = failing.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(
            error.to_string(),
            "cannot open the backend that `CARGO_PKG_NAME` names: it is locked"
        );
    }

    #[test]
    fn a_required_backend_must_be_there() {
        let open = |_: String| Ok::<_, std::io::Error>(store());
        let faults = |server: Server| server.setting_faults().join("\n");
        let expected = "the environment variable `NO_SUCH_VARIABLE` is not set: Where the server keeps data that outlives a request \
                        (string, required, secret)";
        let absent = || server().backend_from_env("NO_SUCH_VARIABLE", open);
        assert_eq!(faults(absent()), "");
        assert_eq!(faults(absent().require_backend()), expected);
        assert!(absent().require_backend().environment.variables[0].is_required);
        let first = server().require_backend();
        assert_eq!(
            faults(first.backend_from_env("NO_SUCH_VARIABLE", open)),
            expected
        );
        // A client for tests keeps data in memory.
        mcp_core::dispatch::UnstartedServer::start(Box::new(absent().require_backend())).unwrap();
        assert!(faults(server().require_backend()).contains("add `.backend(…)`"));
        assert_eq!(faults(server().require_backend().backend(store())), "");
        assert_eq!(
            faults(server().backend_from_env(SET, open).require_backend()),
            ""
        );
    }
}
