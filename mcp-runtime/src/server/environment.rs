//! Environment variables that a server reads: settings declared by a struct, and stand-ins for HTTP headers.

use std::sync::Arc;

use mcp_core::context::is_secret_header;
#[cfg(feature = "http")]
use mcp_http::HttpOptions;
use mcp_settings::{DeclaredVariable, EnvironmentReading};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context::short_type_name;
use crate::error::{Error, ErrorKind};
use crate::server::Server;

impl Server {
    /// Declares environment variables, one for each field of `T`, and reads them. Handlers receive the struct as
    /// [`State<T>`](crate::State).
    ///
    /// A variable's name consists of `prefix` and the field's name in upper case. As with arguments, the field
    /// determines the type, the bounds, the default and the description. Variables for `Option` fields and fields with
    /// a default may be absent. An empty variable is treated as absent, as is the placeholder for an MCP bundle setting
    /// that the user left empty. List items are separated by commas; `true`, `yes`, `on`, `1` and their opposites are
    /// booleans; other types are written as JSON.
    ///
    /// Instead of a variable `NAME`, the variable `NAME_FILE` can hold the path of a file with the value, as Docker and
    /// Kubernetes mount secrets. A line break at the end of the file is removed; the file may have up to 64 KiB. Both
    /// variables at once are a mistake. The contents of files are neither logged nor part of errors.
    ///
    /// `--help` lists the variables. The log shows the variables' values, except for fields of type
    /// [`Secret`](crate::server::Secret). Can be called more than once, with different types.
    ///
    /// ```
    /// use mcp_runtime::server::Secret;
    /// use mcp_runtime::prelude::*;
    ///
    /// #[data(input)]
    /// struct Settings {
    ///     /// Key for the weather service
    ///     api_key: Option<Secret<String>>,
    ///     /// Maximum number of days
    ///     #[arg(range(1..=30), default = 14)]
    ///     max_days: u8,
    /// }
    ///
    ///
    /// /// Tells how far ahead forecasts go.
    /// #[tool]
    /// fn horizon(settings: &State<Settings>) -> u8 {
    ///     settings.max_days
    /// }
    ///
    /// // WEATHER_API_KEY and WEATHER_MAX_DAYS
    /// let server = new_server!().env::<Settings>("WEATHER_");
    /// ```
    ///
    /// Start-up fails if a required variable is missing or a value is invalid; all mistakes are reported together.
    pub fn env<T>(mut self, prefix: &str) -> Self
    where
        T: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    {
        let EnvironmentReading {
            variables,
            misspelled,
            value,
        } = mcp_settings::read::<T>(prefix, std::env::vars_os());
        self.environment.variables.extend(variables);
        self.environment.misspelled.extend(misspelled);
        match value {
            Ok(value) => self.states.insert(value),
            Err(faults) => {
                // Commands that only describe the server ignore the mistakes, but functions still require a value.
                let joined = faults.join("\n");
                self.states
                    .insert_later(move || std::future::ready(Err::<T, _>(joined.clone())));
                self.environment.faults.extend(faults);
            }
        }
        self
    }

    /// Returns the struct that [`env`](Self::env) has read, so that state can be created from it before the server
    /// starts:
    ///
    /// ```no_run
    /// # use mcp_runtime::prelude::*;
    /// # use mcp_runtime::server::Secret;
    /// # struct Pool;
    /// # impl Pool { async fn connect(_: &str) -> std::io::Result<Self> { Ok(Self) } }
    /// # #[data(input)] struct Settings { database_url: Secret<String> }
    /// # async fn run() -> Result<(), mcp_runtime::Error> {
    /// let server = new_server!().env::<Settings>("NOTES_");
    /// let settings = server.env_value::<Settings>()?;
    /// let pool = Pool::connect(settings.database_url.expose_secret()).await?;
    /// server.state(pool).run().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if variables are missing or invalid, or if `T` was not declared. The error lists the mistakes in all
    /// structs. If the process was started with `--help` or `--version`, prints that information instead and exits, so
    /// that users can read the help, which lists the variables, before they set them.
    pub fn env_value<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Error> {
        if let Some(value) = self.states.get::<T>() {
            return Ok(value);
        }
        #[cfg(feature = "cli")]
        mcp_cli::exit_for_help(self.grammar(&self.environment.help()));
        let message = if self.environment.faults.is_empty() {
            let name = short_type_name::<T>();
            format!("no environment of type `{name}`; call `.env::<{name}>(…)` first")
        } else {
            self.environment.faults.join("\n")
        };
        Err(Error::new(ErrorKind::Configuration, message))
    }

    /// Declares environment variables like [`env`](Self::env), and sets the HTTP options that `options` makes from their
    /// values. The variables are read only for HTTP: `--help` lists them, but a server on standard input and output
    /// starts without them. Replaces any options that were set earlier.
    ///
    /// ```
    /// # #[cfg(feature = "auth")] {
    /// use mcp_runtime::auth::{Jwt, ProtectedResource};
    /// use mcp_runtime::http::HttpOptions;
    /// use mcp_runtime::prelude::*;
    ///
    /// #[data(input)]
    /// struct HttpSettings {
    ///     /// URL of the server, as clients know it
    ///     url: String,
    ///     /// Issuer of the tokens
    ///     issuer: String,
    /// }
    ///
    /// // NOTES_URL and NOTES_ISSUER
    /// let server = new_server!().http_from_env("NOTES_", |settings: HttpSettings| {
    ///     let tokens = Jwt::issuer(settings.issuer);
    ///     HttpOptions::new().authenticate(ProtectedResource::new(settings.url, tokens))
    /// });
    /// # }
    /// ```
    ///
    /// Serving over HTTP fails if a required variable is missing or a value is invalid; all mistakes are reported
    /// together. Functions do not receive the values.
    #[cfg(feature = "http")]
    pub fn http_from_env<T>(mut self, prefix: &str, options: impl FnOnce(T) -> HttpOptions) -> Self
    where
        T: DeserializeOwned + JsonSchema,
    {
        let EnvironmentReading {
            variables,
            misspelled,
            value,
        } = mcp_settings::read::<T>(prefix, std::env::vars_os());
        let variables = variables.into_iter().map(DeclaredVariable::only_for_http);
        self.environment.variables.extend(variables);
        self.environment.misspelled.extend(misspelled);
        self.http = value.map_or_else(HttpOptions::with_environment_faults, options);
        self
    }

    /// Lets an environment variable stand in for an HTTP header over standard input and output, where requests have no
    /// headers, and for other callers who are [trusted](crate::Caller). Handlers then read both in the same way, with
    /// [`RequestInfo::header`](crate::handler::RequestInfo::header) or
    /// [`trusted_header`](crate::handler::RequestInfo::trusted_header). Over HTTP, the variable is never used.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!().header_from_env("x-tenant", "EXPENSES_TENANT");
    /// ```
    ///
    /// The variable, or the file that `VARIABLE_FILE` names ([`env`](Self::env)), is read immediately, and `--help` lists
    /// it. If it is empty or not set, the header is absent. The value is shown in the log like that of a setting, unless the
    /// header is `Authorization`, `Cookie` or `Proxy-Authorization`, or its name contains `key`, `token`, `secret` or
    /// `password`.
    pub fn header_from_env(mut self, header: impl Into<String>, variable: &str) -> Self {
        let header = header.into();
        let description =
            format!("Value of the `{header}` header to use over standard input and output");
        let declared = DeclaredVariable::text(variable, &description, is_secret_header(&header));
        self.environment.variables.push(declared);
        match mcp_settings::text_of(variable) {
            Ok(Some(value)) if !value.trim().is_empty() => {
                self.environment_headers.set(header, value);
            }
            Ok(_) => {}
            Err(fault) => self.faults.push(fault),
        }
        self
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its variables are declared")]
    struct Settings {
        key: String,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its variables are declared")]
    struct HttpSettings {
        url: String,
    }

    #[test]
    fn the_value_of_a_header_is_secret_if_its_name_says_so() {
        let server = Server::new("test", "1")
            .header_from_env("x-tenant", "NO_SUCH_TENANT")
            .header_from_env("Authorization", "NO_SUCH_TOKEN")
            .header_from_env("X-Api-Key", "NO_SUCH_KEY");
        let variables = server.environment.variables.iter();
        let secret: Vec<_> = variables.map(|variable| variable.is_secret).collect();
        assert_eq!(secret, [false, true, true]);
    }

    #[test]
    fn mistakes_for_http_and_for_all_transports_are_reported_together() {
        let server = || {
            let server = Server::new("test", "1").env::<Settings>("NO_SUCH_");
            server.http_from_env("NO_SUCH_", |_: HttpSettings| HttpOptions::new())
        };
        let error = server().into_http_service().unwrap_err().to_string();
        for variable in ["NO_SUCH_KEY", "NO_SUCH_URL"] {
            assert!(
                error.contains(&format!("`{variable}` is not set")),
                "{error}"
            );
        }
        let variables = server().environment.variables;
        let required: Vec<_> = variables.iter().map(|it| it.is_required).collect();
        assert_eq!(required, [true, false]);
    }
}
