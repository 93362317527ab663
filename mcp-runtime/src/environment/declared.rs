//! All variables that a server declares, of all its structs.

use crate::environment::DeclaredVariable;

/// The variables that a server declares, and the mistakes in those that are set.
#[derive(Default)]
pub(crate) struct ServerEnvironment {
    pub(crate) variables: Vec<DeclaredVariable>,
    /// Variables that are set and nearly have the name of a declared one, which comes second.
    pub(crate) misspelled: Vec<(String, String)>,
    pub(crate) faults: Vec<String>,
}

impl ServerEnvironment {
    /// Logs the values of all variables, except for secrets, and warns of names that are probably misspelled.
    pub(crate) fn log(&self) {
        for variable in &self.variables {
            variable.log();
        }
        // Another struct may declare the variable.
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

    /// Returns the variables as a section of the help, or nothing if there are none.
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
