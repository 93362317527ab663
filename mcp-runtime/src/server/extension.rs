//! Adds protocol extensions to a server.

use std::sync::Arc;

use crate::context::ServerHandle;
use crate::error::{Error, ErrorKind};
#[cfg(feature = "skills")]
use crate::extension::skills::Skills;
use crate::extension::{self, Extension, Extensions, ServerChanges};
use crate::server::Server;

/// The extensions added to a server that has not been started yet.
#[derive(Debug, Default)]
pub(super) struct ExtensionSettings(Vec<Extension>);

impl Server {
    /// Adds a protocol extension. Can be called more than once.
    ///
    /// Start-up fails if two extensions use the same name, or if an extension uses a name from the core protocol.
    ///
    /// Source: revision 2026-07-28, basic/extensions.
    pub fn extension(mut self, mut extension: Extension) -> Self {
        let ServerChanges {
            middleware,
            capabilities,
        } = extension.take_additions();
        self.wrapping.around.extend(middleware);
        self.offered.extend(capabilities);
        self.extensions.0.push(extension);
        self
    }
}

#[cfg(feature = "skills")]
impl Server {
    /// Serves skills, which are folders with instructions for models. Start-up fails if any skill is invalid, and all
    /// mistakes are reported together.
    ///
    /// Source: the extension `io.modelcontextprotocol/skills`.
    pub fn skills(self, skills: Skills) -> Self {
        self.extension(skills.into_extension())
    }
}

impl ExtensionSettings {
    /// Checks all extensions together, then runs the functions that prepare the server for them. Returns the extensions
    /// and the reserved `_meta` keys that they define.
    ///
    /// # Errors
    ///
    /// Fails if an extension is invalid (all problems are reported) or if one of these functions fails.
    pub(super) fn start(
        mut self,
        handle: &ServerHandle,
    ) -> Result<(Arc<Extensions>, Vec<String>), Error> {
        let (mut meta_keys, mut setup) = (Vec::new(), Vec::new());
        for extension in &mut self.0 {
            setup.extend(extension.take_setup());
            meta_keys.extend_from_slice(extension.meta_keys());
        }
        let built = extension::build(self.0);
        let extensions =
            built.map_err(|problems| Error::new(ErrorKind::Configuration, problems.join("\n")))?;
        setup.into_iter().try_for_each(|prepare| prepare(handle))?;
        Ok((Arc::new(extensions), meta_keys))
    }
}
