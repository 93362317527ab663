//! The keys that seal the state of calls that take several rounds.

use crate::dispatch::seal::SealingKey;
use crate::server::Server;

impl Server {
    /// Sets the keys used to seal the state that a call carries between rounds. The first key is used for sealing; any
    /// of the keys can open sealed state. Replaces any keys set before.
    ///
    /// By default, a random key is created for this process, so a call cannot continue on another instance or after a
    /// restart. To rotate keys, put the new key first and remove the old one after `limits.elicitation.state_timeout`.
    pub fn sealing_keys(mut self, keys: impl IntoIterator<Item = SealingKey>) -> Self {
        self.sealing_keys = keys.into_iter().collect();
        self
    }

    /// Reads the sealing keys from an environment variable, as a comma-separated list in which each key has a format
    /// that [`SealingKey::parse`] accepts. The first key is used for sealing.
    ///
    /// Start-up fails if the variable is missing or invalid.
    pub fn sealing_keys_from_env(mut self, variable: &str) -> Self {
        let text = std::env::var(variable).unwrap_or_default();
        let keys = text.split(',').map(str::trim).filter(|key| !key.is_empty());
        match keys.map(SealingKey::parse).collect::<Option<Vec<_>>>() {
            Some(keys) if !keys.is_empty() => self.sealing_keys = keys,
            Some(_) => self.faults.push(format!(
                "the environment variable `{variable}` holds no keys; create one with `openssl rand -base64 32`"
            )),
            None => self.faults.push(format!(
                "the environment variable `{variable}` holds a key that is not 32 bytes in base64 or hexadecimal; \
                 create one with `openssl rand -base64 32`"
            )),
        }
        self
    }

    /// Returns `true` if sealing keys were set explicitly, in which case other instances may share them.
    #[cfg(feature = "http")]
    pub(super) fn has_sealing_keys(&self) -> bool {
        !self.sealing_keys.is_empty()
    }
}
