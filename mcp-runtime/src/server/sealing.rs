//! The keys that seal stored tasks and the state of multi-round calls.

use mcp_settings::DeclaredVariable;

use crate::seal::SealingKey;
use crate::server::Server;

impl Server {
    /// Sets the keys used to seal the state that a call carries between rounds, and the cursors that are valid for one
    /// caller only. The first key is used for sealing; any of the keys can open what it has sealed. Replaces any keys that
    /// were set earlier.
    ///
    /// By default, the keys of the [`backend`](Self::backend) are used, if it has any. Otherwise, a random key is created
    /// for this process, so a call cannot continue on another instance or after a
    /// restart. To rotate keys, put the new key first and remove the old one after `limits.elicitation.state_timeout`.
    ///
    /// If keys are set, they also seal the arguments, answers and results of [tasks](crate::tasks) in stores that
    /// outlive the process. Remove an old key only when the tasks that it has sealed have expired.
    pub fn sealing_keys(mut self, keys: impl IntoIterator<Item = SealingKey>) -> Self {
        self.sealing_keys = keys.into_iter().collect();
        self
    }

    /// Reads the sealing keys from an environment variable, which contains a comma-separated list of keys in a format
    /// that [`SealingKey::parse`] accepts. The first key is used for sealing.
    ///
    /// As with [`env`](Self::env), `VARIABLE_FILE` can name a file that contains the keys, and `--help` lists the variable.
    ///
    /// Start-up fails if the variable is missing or invalid. Like the variables of [`env`](Self::env), it is not needed by
    /// commands that only describe the server.
    pub fn sealing_keys_from_env(mut self, variable: &str) -> Self {
        let description = "Keys that seal what clients and stores keep, separated by commas; create one with `openssl rand -base64 32`";
        let declared = DeclaredVariable::text(variable, description, true).required();
        self.environment.variables.push(declared);
        let text = match mcp_settings::text_of(variable) {
            Ok(text) => text.unwrap_or_default(),
            Err(fault) => {
                self.environment.faults.push(fault);
                return self;
            }
        };
        let keys = text.split(',').map(str::trim).filter(|key| !key.is_empty());
        match keys.map(SealingKey::parse).collect::<Option<Vec<_>>>() {
            Some(keys) if !keys.is_empty() => self.sealing_keys = keys,
            Some(_) => self.environment.faults.push(format!(
                "the environment variable `{variable}` contains no keys; create one with `openssl rand -base64 32`"
            )),
            None => self.environment.faults.push(format!(
                "the environment variable `{variable}` contains a key that is not 32 bytes in base64 or hexadecimal; create \
                 one with `openssl rand -base64 32`"
            )),
        }
        self
    }

    /// Returns `true` if sealing keys were set explicitly or by the backend, in which case other instances may share
    /// them.
    #[cfg(feature = "http")]
    pub(super) fn has_sealing_keys(&self) -> bool {
        !self.sealing_keys.is_empty() || self.backend.sealing_keys.is_some()
    }
}

#[cfg(test)]
mod tests {
    use crate::server::Server;

    #[test]
    fn missing_sealing_keys_are_an_environment_error() {
        let server = Server::new("test", "1").sealing_keys_from_env("NO_SUCH_VARIABLE");
        // Commands that only describe the server ignore the faults of the environment.
        assert!(server.faults.is_empty());
        assert_eq!(server.environment.faults.len(), 1);
    }
}
