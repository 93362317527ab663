//! `manifest`: `server.json`, which describes the server to the MCP registry.
//!
//! Source: repository modelcontextprotocol/registry, `docs/reference/server-json`, schema 2025-12-11.

use std::fmt::Write as _;
use std::io;
use std::io::{Read, Write as _};
use std::path::Path;

use clap::{ArgMatches, Command};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::environment::DeclaredVariable;
use crate::server::Server;
use crate::server::command_line::print;
use crate::server::command_line::publish::output;
use crate::server::command_line::publish::output::{
    description, flag, open, option, repeated, text, texts,
};
use crate::server::command_line::session::CommandResult;

pub(super) fn command() -> Command {
    Command::new("manifest")
        .about("Print `server.json` for the MCP registry")
        .long_about(
            "Prints `server.json`, which describes the server to the MCP registry, and checks it against the registry's \
             schema. It lists the packages and URLs given here, and the environment variables that the server declares.\n\n\
             The registry requires proof that a package is yours: a crate's README contains the line that `--readme-line` \
             prints, and an image has the label `io.modelcontextprotocol.server.name`.",
        )
        .arg(option("name", "NAME", "The name in the registry, such as `io.github.you/garden` (default: from a GitHub `--repository`)"))
        .arg(option("description", "TEXT", "At most 100 characters (default: the server's description)"))
        .arg(option("repository", "URL", "The repository with the source"))
        .arg(
            option("cargo", "CRATE", "The package on crates.io (default: the server's name)")
                .num_args(0..=1)
                .default_missing_value(""),
        )
        .arg(repeated("oci", "IMAGE:TAG", "A container image, such as `ghcr.io/you/garden:1.0.0`; may be repeated"))
        .arg(repeated("mcpb", "URL=FILE", "A bundle in a GitHub or GitLab release, and the same file on this machine; may be repeated"))
        .arg(repeated("remote", "URL", "A server that is running at this URL; may be repeated"))
        .arg(option("output", "FILE", "Write to this file instead of printing").short('o'))
        .arg(flag("force", "Replace an existing file"))
        .arg(flag("readme-line", "Print only the line that a crate's README needs to prove that the crate is yours"))
}

pub(super) fn run(server: &Server, matches: &ArgMatches) -> CommandResult {
    let name = registry_name(server, matches)?;
    if matches.get_flag("readme-line") {
        print::line(&format!("mcp-name: {name}"));
        return Ok(true);
    }
    let manifest = server_json(server, matches, &name)?;
    output::check("server.json", output::SERVER, &manifest)?;
    match text(matches, "output") {
        None => print::json(&manifest),
        Some(path) => {
            let bytes = format!("{manifest:#}\n");
            output::write(Path::new(path), matches.get_flag("force"), |file| {
                file.write_all(bytes.as_bytes())
            })?;
            print::line(&format!("Wrote {path}"));
        }
    }
    Ok(true)
}

/// Returns the server's name in the registry, in which a GitHub user's namespace is `io.github.USER`.
fn registry_name(server: &Server, matches: &ArgMatches) -> Result<String, String> {
    if let Some(name) = text(matches, "name") {
        return Ok(name.to_owned());
    }
    let repository =
        text(matches, "repository").and_then(|url| url.strip_prefix("https://github.com/"));
    match repository.and_then(|path| path.split('/').next()) {
        Some(user) if !user.is_empty() => Ok(format!("io.github.{user}/{}", server.identity.name)),
        _ => Err("the registry needs a name: pass `--name io.github.YOU/SERVER`, or `--repository` with a URL on GitHub".to_owned()),
    }
}

fn server_json(server: &Server, matches: &ArgMatches, name: &str) -> Result<Value, String> {
    let identity = &server.identity;
    let mut manifest = Map::new();
    let mut set = |member: &str, value: Value| drop(manifest.insert(member.into(), value));
    set(
        "$schema",
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json".into(),
    );
    set("name", name.into());
    if let Some(title) = &identity.title {
        set("title", title.as_str().into());
    }
    set("description", description(server, matches)?.into());
    set("version", identity.version.as_str().into());
    if let Some(url) = text(matches, "repository") {
        set("repository", repository(url)?);
    }
    if let Some(url) = &identity.website_url {
        set("websiteUrl", url.as_str().into());
    }
    let icons = identity
        .icons
        .iter()
        .filter(|icon| icon.src.starts_with("https:"));
    let icons: Vec<_> = icons.map(|icon| json!(icon)).collect();
    if !icons.is_empty() {
        set("icons", icons.into());
    }
    let packages = packages(server, matches)?;
    let remotes: Vec<_> = texts(matches, "remote")
        .map(|url| json!({"type": "streamable-http", "url": url}))
        .collect();
    if packages.is_empty() && remotes.is_empty() {
        return Err(
            "specify how to get the server: `--cargo`, `--oci`, `--mcpb` or `--remote`".to_owned(),
        );
    }
    if !packages.is_empty() {
        set("packages", packages.into());
    }
    if !remotes.is_empty() {
        set("remotes", remotes.into());
    }
    Ok(manifest.into())
}

fn repository(url: &str) -> Result<Value, String> {
    for source in ["github", "gitlab"] {
        if url.starts_with(&format!("https://{source}.com/")) {
            return Ok(json!({"url": url, "source": source}));
        }
    }
    Err(format!(
        "`--repository {url}` is not a GitHub or GitLab URL, which the registry requires"
    ))
}

fn packages(server: &Server, matches: &ArgMatches) -> Result<Vec<Value>, String> {
    let version = &server.identity.version;
    let mut packages = Vec::new();
    if let Some(name) = text(matches, "cargo") {
        let name = if name.is_empty() {
            &server.identity.name
        } else {
            name
        };
        packages.push(json!({"registryType": "cargo", "identifier": name, "version": version}));
    }
    for image in texts(matches, "oci") {
        let last = image.rsplit('/').next().unwrap_or_default();
        if !last.contains([':', '@']) {
            return Err(format!(
                "`--oci {image}` has no tag, which the registry requires; add one, such as `{image}:{version}`"
            ));
        }
        packages.push(json!({"registryType": "oci", "identifier": image}));
    }
    for bundle in texts(matches, "mcpb") {
        packages.push(bundle_package(bundle, version)?);
    }
    let variables: Vec<_> = server
        .environment
        .variables
        .iter()
        .map(environment_variable)
        .collect();
    for package in &mut packages {
        package["transport"] = json!({"type": "stdio"});
        if !variables.is_empty() {
            package["environmentVariables"] = variables.clone().into();
        }
    }
    Ok(packages)
}

/// Describes a bundle given as `URL=FILE`.
fn bundle_package(bundle: &str, version: &str) -> Result<Value, String> {
    let Some((url, file)) = bundle.rsplit_once('=') else {
        return Err(format!(
            "`--mcpb {bundle}` has no `=`: write `URL=FILE`, because the registry requires the file's digest"
        ));
    };
    let is_release = ["https://github.com/", "https://gitlab.com/"]
        .iter()
        .any(|host| url.starts_with(host));
    if !is_release || !url.contains("mcp") {
        return Err(format!(
            "`{url}` must be the URL of a GitHub or GitLab release and contain `mcp`, as the registry requires"
        ));
    }
    let digest = open(Path::new(file)).and_then(|opened| {
        let digest = sha256(opened);
        digest.map_err(|error| format!("{file}: {error}"))
    })?;
    Ok(json!({"registryType": "mcpb", "identifier": url, "version": version, "fileSha256": digest}))
}

/// Returns the hexadecimal SHA-256 digest of all data from the reader.
pub(super) fn sha256(mut reader: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        match reader.read(&mut bytes)? {
            0 => return Ok(hexadecimal(&digest.finalize())),
            length => digest.update(bytes.get(..length).unwrap_or_default()),
        }
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn environment_variable(variable: &DeclaredVariable) -> Value {
    let mut described = json!({"name": variable.name, "isRequired": variable.is_required, "isSecret": variable.is_secret});
    if let Some(text) = variable.description() {
        described["description"] = text.into();
    }
    let format = match variable.kind() {
        "integer" | "number" => "number",
        "boolean" => "boolean",
        _ => "string",
    };
    described["format"] = format.into();
    let plain = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    if let Some(default) = variable.default() {
        described["default"] = plain(default).into();
    }
    if let Some(choices) = variable.schema["enum"].as_array() {
        described["choices"] = choices.iter().map(plain).collect();
    }
    described
}
