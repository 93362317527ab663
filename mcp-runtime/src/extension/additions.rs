//! An extension's non-protocol additions to a server: middleware, lists and definitions.

use std::sync::Arc;

use crate::context::Capability;
use crate::handler::call::CallOutput;
use crate::handler::extension::{Extension, ExtensionMiddleware, Setup};
use crate::handler::extension_result::ExtensionVersions;
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{Next, UnlinkedMiddleware};
use crate::protocol::ProtocolVersion;

/// An extension's additions to a server's settings.
pub(crate) struct ServerChanges {
    pub(crate) middleware: Vec<UnlinkedMiddleware>,
    pub(crate) capabilities: Vec<Capability>,
}

impl Extension {
    /// Takes the extension's additions to the server's settings.
    pub(crate) fn take_additions(&mut self) -> ServerChanges {
        let id: Arc<str> = self.id.as_str().into();
        let types: Arc<[(String, String)]> = self.result_types.clone().into();
        let versions = self.versions;
        let check = |functions: Vec<ExtensionMiddleware>| {
            let functions = functions.into_iter();
            functions
                .map(|function| checked(function, Arc::clone(&id), Arc::clone(&types), versions))
                .collect()
        };
        ServerChanges {
            middleware: check(std::mem::take(&mut self.middleware)),
            capabilities: std::mem::take(&mut self.capabilities),
        }
    }

    /// Takes the functions that prepare the server for the extension.
    pub(crate) fn take_setup(&mut self) -> Vec<Box<Setup>> {
        std::mem::take(&mut self.setup)
    }

    /// Returns the reserved `_meta` keys that the extension defines.
    pub(crate) fn meta_keys(&self) -> &[String] {
        &self.meta_keys
    }
}

/// Converts an extension's middleware into a link that passes on only declared results.
fn checked(
    function: ExtensionMiddleware,
    id: Arc<str>,
    types: Arc<[(String, String)]>,
    versions: ExtensionVersions,
) -> UnlinkedMiddleware {
    let function = Arc::new(function);
    Box::new(move |next: Next| {
        let (function, id, types) = (Arc::clone(&function), Arc::clone(&id), Arc::clone(&types));
        Next::link(move |call| {
            let Some(method) = call.kind().method() else {
                return function(call, next.clone());
            };
            let version = call.context().request().protocol_version();
            let is_declared = call.context().extension(&id).is_some() || (versions.core)(version);
            let (id, types) = (Arc::clone(&id), Arc::clone(&types));
            let output = function(call, next.clone());
            Box::pin(async move {
                let mut output = output.await?;
                if let CallOutput::Extension(result) = &mut output
                    && !result.is_admitted(ProtocolVersion::LATEST)
                {
                    let name = result.type_name();
                    let mut types = types.iter();
                    if !is_declared || !types.any(|(of, known)| of == method && known == name) {
                        return Err(HandlerError::opaque(format!(
                            "the extension `{id}` answered `{method}` with a result of type `{name}`, which the extension \
                             does not declare or the client does not know"
                        )));
                    }
                    result.admit(versions);
                }
                Ok(output)
            })
        })
    })
}
