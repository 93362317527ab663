//! A Dockerfile and a `compose.yaml`.
//!
//! Sources: Docker, "Dockerfile reference"; compose-spec, `05-services.md`.

use std::fmt::Write as _;

use crate::server::command_line::publish::recipe::facts::{Recipe, about};

pub(super) fn dockerfile(recipe: &Recipe<'_>) -> String {
    let Recipe {
        program,
        image,
        port,
        ..
    } = recipe;
    let mut settings = String::new();
    if !recipe.variables.is_empty() {
        settings.push_str("# Settings; pass them to `docker run` with `--env` or `--env-file` instead of writing them here:\n");
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
        environment.push_str("    # Values come from the shell or from `.env`; keep it private and out of version control.\n    environment:\n");
        for variable in recipe.variables {
            let name = &variable.name;
            let _ = writeln!(environment, "      # {}", about(variable));
            let _ = if variable.is_required {
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
