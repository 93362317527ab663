//! `recipe`: writes files for running the server in various environments, filled in with facts about the server.
//!
//! The files contain only references to the values of settings, never the values themselves, so they can be shared.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use serde_json::Value;

use super::output;
use super::output::text;
use crate::describe::{Description, Program, Setting};
use crate::target::{flag, option};

/// Creates the text of a file.
type MakeFile = fn(&Recipe<'_>) -> String;

/// The kinds of files.
const KINDS: [(&str, MakeFile); 4] = [
    ("docker", dockerfile),
    ("compose", compose),
    ("kubernetes", manifests),
    ("systemd", unit),
];

pub(super) fn command() -> Command {
    Command::new("recipe")
        .about("Print a Dockerfile, or files for Compose, Kubernetes or systemd")
        .long_about(
            "Prints a file that runs the server over HTTP: `docker` a Dockerfile, `compose` a compose.yaml, `kubernetes` a \
             Deployment and a Service, `systemd` a unit. It is filled in with the server's name, port, health checks and \
             shutdown time. The environment variables that the server declares become references; no values are written.",
        )
        .arg(
            Arg::new("kind")
                .value_name("KIND")
                .required(true)
                .value_parser(PossibleValuesParser::new(KINDS.map(|(kind, _)| kind)))
                .help("The kind of file"),
        )
        .arg(option("host", "NAME", "The host name that clients use (default: the first that the server allows)"))
        .arg(option("image", "IMAGE", "The container image (default: the server's name and version)"))
        .arg(option("port", "PORT", "The port to listen on (default: 8000)").value_parser(clap::value_parser!(u16).range(1..)))
        .arg(option("output", "FILE", "Write this file instead of printing").short('o'))
        .arg(flag("force", "Replace an existing file"))
}

/// Returns the text to print.
pub(super) fn run(program: &Program, about: &Description, matches: &ArgMatches) -> Result<String> {
    let program = program
        .given()?
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let recipe = Recipe::read(about, &program, matches)?;
    let kind = text(matches, "kind");
    let make = KINDS.iter().find(|(name, _)| Some(*name) == kind);
    let (_, make) = make.context("there is no such recipe")?;
    output::print_or_write(matches, make(&recipe))
}

// --- Collects the server data for the files.

/// The port that `--http` uses by default.
const DEFAULT_PORT: u16 = 8000;

/// The host in files for servers that do not allow any hosts yet.
const DEFAULT_HOST: &str = "mcp.example.com";

/// Maximum time for a process to exit after its calls have ended.
const EXIT_TIME: Duration = Duration::from_secs(5);

/// The server data in the files. Names are plain, so they do not need to be quoted in any format.
pub(super) struct Recipe<'s> {
    /// The name of the executable.
    pub(super) program: &'s str,
    /// The name for Kubernetes objects and Compose services.
    pub(super) label: String,
    pub(super) image: String,
    pub(super) host: String,
    pub(super) port: u16,
    /// The paths of the liveness and readiness probes, if the server answers them.
    pub(super) probes: Option<(&'s str, &'s str)>,
    /// Seconds between the first signal and the end of the process.
    pub(super) stop_seconds: u64,
    pub(super) variables: &'s [Setting],
    /// Whether the server's data outlives the process, possibly in a file.
    pub(super) keeps_data: bool,
}

impl<'s> Recipe<'s> {
    pub(super) fn read(
        about: &'s Description,
        program: &'s str,
        matches: &ArgMatches,
    ) -> Result<Self> {
        let http = about.http.as_ref().context(
            "the program cannot serve HTTP: build it with the `http` feature of mcp-runtime",
        )?;
        let plain = |what: &str, text: String, others: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
                return Ok(text);
            }
            bail!("`{text}` is not valid as {what}: use letters, digits and `{others}`")
        };
        plain("the name of the executable", program.to_owned(), "._-")?;
        let label = label(program);
        let version = plain_tag(&about.server.version);
        let image =
            text(matches, "image").map_or_else(|| format!("{label}:{version}"), str::to_owned);
        let host = text(matches, "host").or(http.host.as_deref());
        let probes = http.probes.as_ref();
        let probes = probes.map(|probes| (probes.live.as_str(), probes.ready.as_str()));
        for path in probes.iter().flat_map(|(live, ready)| [live, ready]) {
            plain("the path", (*path).to_owned(), "/._~%-")?;
        }
        let stop = Duration::from_millis(http.stop_ms).saturating_add(EXIT_TIME);
        Ok(Self {
            program,
            image: plain("the image", image, "._-/:@")?,
            host: plain(
                "the host",
                host.unwrap_or(DEFAULT_HOST).to_owned(),
                ".-:[]*",
            )?,
            label,
            port: matches.get_one("port").copied().unwrap_or(DEFAULT_PORT),
            probes,
            // The time is rounded up to whole seconds.
            stop_seconds: stop.as_secs() + u64::from(stop.subsec_nanos() > 0),
            variables: &about.settings,
            keeps_data: about.keeps_data,
        })
    }

    /// Returns the command that serves HTTP, written as JSON, which is also valid in YAML and Dockerfiles.
    pub(super) fn command(&self) -> String {
        let words = [self.program, "--http", "--allow-host", &self.host];
        Value::from(words.as_slice()).to_string()
    }
}

/// Returns a name that Kubernetes accepts (RFC 1123): at most 63 lower-case letters, digits and hyphens.
pub(super) fn label(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let name: String = name.trim_matches('-').chars().take(63).collect();
    match name.trim_end_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns a version as an image tag.
pub(super) fn plain_tag(version: &str) -> String {
    let tag = version.replace(
        |c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c),
        "-",
    );
    let tag = tag.trim_start_matches(['.', '-']);
    if tag.is_empty() { "latest" } else { tag }.to_owned()
}

/// Returns the text of a one-line comment about a variable.
pub(super) fn about(variable: &Setting) -> String {
    let text: String = variable
        .help
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.trim().to_owned()
}

// --- A Dockerfile and a `compose.yaml`.
//
// Sources: Docker, "Dockerfile reference"; compose-spec, `05-services.md`.

fn dockerfile(recipe: &Recipe<'_>) -> String {
    let Recipe {
        program,
        image,
        port,
        ..
    } = recipe;
    let mut settings = String::new();
    if !recipe.variables.is_empty() {
        settings.push_str("# Settings; pass them to `docker run` with `--env` or `--env-file` instead of writing them here. NAME_FILE can name a file with the value of NAME:\n");
        for variable in recipe.variables {
            let _ = writeln!(settings, "#   {}: {}", variable.name, about(variable));
        }
    }
    let data = if recipe.keeps_data {
        "# For files that outlive the container, such as a backend's; relative paths lead here:\n\
         RUN install --directory --owner=65534 /data\n\
         VOLUME /data\n\
         WORKDIR /data\n"
    } else {
        ""
    };
    // The image does not contain any other program that can make HTTP requests.
    let health = recipe.probes.map_or_else(String::new, |(live, _)| {
        // The path is part of a `printf` format string.
        let live = live.replace('%', "%%");
        format!(
            "HEALTHCHECK --interval=10s --timeout=5s CMD [\"bash\", \"-c\", \"exec 3<>/dev/tcp/127.0.0.1/$PORT && \
             printf 'GET {live} HTTP/1.1\\\\r\\\\nHost: localhost\\\\r\\\\nConnection: close\\\\r\\\\n\\\\r\\\\n' >&3 && grep -q '^HTTP/1.1 200' <&3\"]\n"
        )
    });
    format!(
        "# Write `target` and `.git` into `.dockerignore`, so that they are not copied into the build.\n\
         # docker build --tag {image} .\n\
         # docker run --publish 127.0.0.1:{port}:{port} {image}\n\
         FROM rust:1 AS build\n\
         WORKDIR /src\n\
         COPY . .\n\
         RUN cargo build --release --locked --bin {program}\n\
         \n\
         FROM debian:stable-slim\n\
         COPY --from=build /src/target/release/{program} /usr/local/bin/{program}\n\
         {data}\
         USER 65534:65534\n\
         {settings}\
         ENV HOST=0.0.0.0 PORT={port}\n\
         EXPOSE {port}\n\
         {health}\
         # The program handles signals itself, so no shell starts it.\n\
         ENTRYPOINT {}\n",
        recipe.command()
    )
}

pub(super) fn compose(recipe: &Recipe<'_>) -> String {
    let Recipe {
        label,
        image,
        port,
        stop_seconds,
        ..
    } = recipe;
    let mut environment = String::new();
    if !recipe.variables.is_empty() {
        environment.push_str("    # Values come from the shell or from `.env`; keep it private and out of version control. For a secret in a file, set\n    # NAME_FILE to its path instead of NAME.\n    environment:\n");
        for variable in recipe.variables {
            let name = &variable.name;
            let _ = writeln!(environment, "      # {}", about(variable));
            let _ = if variable.required {
                writeln!(environment, "      - \"{name}=${{{name}:?is required}}\"")
            } else {
                writeln!(environment, "      - \"{name}\"")
            };
        }
    }
    let (mount, volumes) = if recipe.keeps_data {
        ("    volumes: [\"data:/data\"]\n", "volumes:\n  data: {}\n")
    } else {
        ("", "")
    };
    format!(
        "# Needs the Dockerfile that `recipe docker` prints. docker compose up --build\n\
         services:\n  {label}:\n    build: .\n    image: \"{image}\"\n    restart: unless-stopped\n    ports:\n      \
         # For a proxy on this machine that has a certificate.\n      - \"127.0.0.1:{port}:{port}\"\n{environment}    \
         # Time for calls to end after the stop signal.\n    stop_grace_period: {stop_seconds}s\n    \
         read_only: true\n    cap_drop: [ALL]\n    security_opt: [\"no-new-privileges:true\"]\n{mount}{volumes}"
    )
}

// --- A Kubernetes Deployment and Service.
//
// Source: Kubernetes API, `apps/v1` and `v1`.

fn manifests(recipe: &Recipe<'_>) -> String {
    let Recipe {
        label,
        image,
        port,
        stop_seconds,
        ..
    } = recipe;
    let command = recipe.command();
    format!(
        r#"# kubectl apply --filename this-file
{}apiVersion: apps/v1
kind: Deployment
metadata:
  name: "{label}"
  labels: {{ app: "{label}" }}
spec:
  # Several replicas need the same sealing keys, and shared stores if they have sessions.
  replicas: 1
  selector:
    matchLabels: {{ app: "{label}" }}
  template:
    metadata:
      labels: {{ app: "{label}" }}
    spec:
      # Time for calls to end after the stop signal.
      terminationGracePeriodSeconds: {stop_seconds}
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        seccompProfile: {{ type: RuntimeDefault }}
      containers:
        - name: "{label}"
          image: "{image}"
          command: {command}
          ports: [{{ name: http, containerPort: {port} }}]
          env:
            - {{ name: HOST, value: "0.0.0.0" }}
            - {{ name: PORT, value: "{port}" }}
{}{}          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {{ drop: [ALL] }}
---
apiVersion: v1
kind: Service
metadata:
  name: "{label}"
  labels: {{ app: "{label}" }}
spec:
  selector: {{ app: "{label}" }}
  ports: [{{ name: http, port: 80, targetPort: http }}]
"#,
        preparation(recipe),
        environment(recipe),
        probes(recipe),
    )
}

/// Returns a comment that explains how to create the objects to which variables refer.
fn preparation(recipe: &Recipe<'_>) -> String {
    let label = &recipe.label;
    let has = |is_secret: bool| {
        recipe
            .variables
            .iter()
            .any(|variable| variable.secret == is_secret)
    };
    let mut text = String::new();
    if has(true) {
        let _ = writeln!(
            text,
            "# kubectl create secret generic {label} --from-env-file secrets.env\n\
             # If the secret is mounted instead, set NAME_FILE to the path of the file."
        );
    }
    if has(false) {
        let _ = writeln!(
            text,
            "# kubectl create configmap {label} --from-env-file settings.env"
        );
    }
    if recipe.keeps_data {
        text.push_str(
            "# The server keeps data. If it is in a file, mount a PersistentVolumeClaim at the folder of the file.\n",
        );
    }
    text
}

fn environment(recipe: &Recipe<'_>) -> String {
    let mut text = String::new();
    for variable in recipe.variables {
        let kind = if variable.secret {
            "secretKeyRef"
        } else {
            "configMapKeyRef"
        };
        let _ = writeln!(
            text,
            "            # {}\n            - name: \"{name}\"\n              valueFrom: {{ {kind}: {{ name: \"{}\", key: \"{name}\", optional: {} }} }}",
            about(variable),
            recipe.label,
            !variable.required,
            name = variable.name,
        );
    }
    text
}

fn probes(recipe: &Recipe<'_>) -> String {
    let Some((live, ready)) = recipe.probes else {
        return String::new();
    };
    format!(
        "          livenessProbe: {{ httpGet: {{ path: \"{live}\", port: http }} }}\n          \
         readinessProbe: {{ httpGet: {{ path: \"{ready}\", port: http }}, periodSeconds: 5 }}\n"
    )
}

// --- A systemd unit.
//
// Sources: `systemd.service(5)`, `systemd.exec(5)`.

pub(super) fn unit(recipe: &Recipe<'_>) -> String {
    let Recipe {
        program,
        label,
        host,
        port,
        stop_seconds,
        ..
    } = recipe;
    let mut settings = String::new();
    if !recipe.variables.is_empty() {
        let is_needed = recipe.variables.iter().any(|variable| variable.required);
        settings.push_str("# Settings, in a file that only root can read; NAME_FILE can name a file with the value of NAME:\n");
        for variable in recipe.variables {
            let _ = writeln!(settings, "#   {}: {}", variable.name, about(variable));
        }
        let optional = if is_needed { "" } else { "-" };
        let _ = writeln!(
            settings,
            "EnvironmentFile={optional}/etc/{label}/environment"
        );
    }
    format!(
        "# /etc/systemd/system/{label}.service\n\
         # systemctl daemon-reload && systemctl enable --now {label}\n\
         [Unit]\n\
         Description={program} over MCP\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         # systemd waits until the server accepts connections.\n\
         Type=notify\n\
         ExecStart=/usr/local/bin/{program} --http 127.0.0.1:{port} --allow-host {host}\n\
         {settings}\
         DynamicUser=yes\n\
         StateDirectory={label}\n\
         # Relative paths, such as the path of a backend's file, lead to the state directory.\n\
         WorkingDirectory=%S/{label}\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome=yes\n\
         PrivateTmp=yes\n\
         PrivateDevices=yes\n\
         CapabilityBoundingSet=\n\
         RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX\n\
         Restart=on-failure\n\
         # Time for calls to end after the stop signal.\n\
         TimeoutStopSec={stop_seconds}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}
