//! All variables that a server's structs declare.

use crate::environment::DeclaredVariable;

/// The variables that a server declares, and the mistakes found in the variables that are set.
#[derive(Default)]
pub(crate) struct ServerEnvironment {
    pub(crate) variables: Vec<DeclaredVariable>,
    /// Variables that are set and whose names resemble a declared name, each paired with that declared name.
    pub(crate) misspelled: Vec<(String, String)>,
    pub(crate) faults: Vec<String>,
}

impl ServerEnvironment {
    /// Logs the values of all variables, except for secrets, and warns of names that are probably misspelled.
    pub(crate) fn log_values(&self) {
        for variable in &self.variables {
            variable.log_value();
        }
        // The variable may be declared by another struct.
        let declared = |name: &str| self.variables.iter().any(|variable| variable.name == name);
        let misspelled = self.misspelled.iter().filter(|(name, _)| !declared(name));
        for (variable, meant) in misspelled {
            tracing::warn!(
                variable,
                meant,
                "an environment variable is ignored; is its name misspelled?"
            );
        }
    }

    /// Returns a help section that lists the variables, or an empty string if there are none.
    #[cfg(feature = "cli")]
    pub(crate) fn help(&self) -> String {
        let width = self.variables.iter().map(|variable| variable.name.len());
        let width = width.max().unwrap_or_default();
        let lines = self
            .variables
            .iter()
            .map(|variable| format!("\n  {:width$}  {variable}", variable.name));
        let lines: String = lines.collect();
        if lines.is_empty() {
            lines
        } else {
            format!("Environment:{lines}")
        }
    }
}
