//! `manifest`: `server.json`, which describes the server to the MCP registry.
//!
//! Source: repository modelcontextprotocol/registry, `docs/reference/server-json`, schema 2025-12-11.

use std::fmt::Write as _;
use std::io;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::{ArgMatches, Command};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::output;
use super::output::{description, open, repeated, text, texts};
use crate::describe::{Description, Setting};
use crate::target::{flag, option};

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

/// Returns the text to print.
pub(super) fn run(about: &Description, matches: &ArgMatches) -> Result<String> {
    let name = registry_name(about, matches)?;
    if matches.get_flag("readme-line") {
        return Ok(format!("mcp-name: {name}\n"));
    }
    let manifest = server_json(about, matches, &name)?;
    output::check("server.json", output::SERVER, &manifest)?;
    output::print_or_write(matches, format!("{manifest:#}\n"))
}

/// Returns the server's name in the registry, in which a GitHub user's namespace is `io.github.USER`.
fn registry_name(about: &Description, matches: &ArgMatches) -> Result<String> {
    if let Some(name) = text(matches, "name") {
        return Ok(name.to_owned());
    }
    let repository =
        text(matches, "repository").and_then(|url| url.strip_prefix("https://github.com/"));
    match repository.and_then(|path| path.split('/').next()) {
        Some(user) if !user.is_empty() => Ok(format!("io.github.{user}/{}", about.server.name)),
        _ => bail!(
            "the registry needs a name: pass `--name io.github.YOU/SERVER`, or `--repository` with a URL on GitHub"
        ),
    }
}

fn server_json(about: &Description, matches: &ArgMatches, name: &str) -> Result<Value> {
    let identity = &about.server;
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
    set("description", description(about, matches)?.into());
    set("version", identity.version.as_str().into());
    if let Some(url) = text(matches, "repository") {
        set("repository", repository(url)?);
    }
    if let Some(url) = &identity.website_url {
        set("websiteUrl", url.as_str().into());
    }
    let is_on_the_web = |icon: &&Value| {
        let source = icon["src"].as_str();
        source.is_some_and(|source| source.starts_with("https:"))
    };
    let icons: Vec<_> = identity
        .icons
        .iter()
        .filter(is_on_the_web)
        .cloned()
        .collect();
    if !icons.is_empty() {
        set("icons", icons.into());
    }
    let packages = packages(about, matches)?;
    let remotes: Vec<_> = texts(matches, "remote")
        .map(|url| json!({"type": "streamable-http", "url": url}))
        .collect();
    if packages.is_empty() && remotes.is_empty() {
        bail!("specify how to get the server: `--cargo`, `--oci`, `--mcpb` or `--remote`");
    }
    if !packages.is_empty() {
        set("packages", packages.into());
    }
    if !remotes.is_empty() {
        set("remotes", remotes.into());
    }
    Ok(manifest.into())
}

fn repository(url: &str) -> Result<Value> {
    for source in ["github", "gitlab"] {
        if url.starts_with(&format!("https://{source}.com/")) {
            return Ok(json!({"url": url, "source": source}));
        }
    }
    bail!("`--repository {url}` is not a GitHub or GitLab URL, which the registry requires")
}

fn packages(about: &Description, matches: &ArgMatches) -> Result<Vec<Value>> {
    let version = &about.server.version;
    let mut packages = Vec::new();
    if let Some(name) = text(matches, "cargo") {
        let name = if name.is_empty() {
            &about.server.name
        } else {
            name
        };
        packages.push(json!({"registryType": "cargo", "identifier": name, "version": version}));
    }
    for image in texts(matches, "oci") {
        let last = image.rsplit('/').next().unwrap_or_default();
        if !last.contains([':', '@']) {
            bail!(
                "`--oci {image}` has no tag, which the registry requires; add one, such as `{image}:{version}`"
            );
        }
        packages.push(json!({"registryType": "oci", "identifier": image}));
    }
    for bundle in texts(matches, "mcpb") {
        packages.push(bundle_package(bundle, version)?);
    }
    // Packages are started over standard input and output.
    let variables = about.settings_without_http().map(environment_variable);
    let variables: Vec<_> = variables.collect();
    for package in &mut packages {
        package["transport"] = json!({"type": "stdio"});
        if !variables.is_empty() {
            package["environmentVariables"] = variables.clone().into();
        }
    }
    Ok(packages)
}

/// Describes a bundle given as `URL=FILE`.
fn bundle_package(bundle: &str, version: &str) -> Result<Value> {
    let Some((url, file)) = bundle.rsplit_once('=') else {
        bail!(
            "`--mcpb {bundle}` has no `=`: write `URL=FILE`, because the registry requires the file's digest"
        );
    };
    let is_release = ["https://github.com/", "https://gitlab.com/"]
        .iter()
        .any(|host| url.starts_with(host));
    if !is_release || !url.contains("mcp") {
        bail!(
            "`{url}` must be the URL of a GitHub or GitLab release and contain `mcp`, as the registry requires"
        );
    }
    let digest = sha256(open(Path::new(file))?).with_context(|| file.to_owned())?;
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

fn environment_variable(setting: &Setting) -> Value {
    let mut described =
        json!({"name": setting.name, "isRequired": setting.required, "isSecret": setting.secret});
    if let Some(text) = &setting.description {
        described["description"] = text.as_str().into();
    }
    let format = match setting.kind.as_str() {
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
    if let Some(default) = &setting.default {
        described["default"] = plain(default).into();
    }
    if let Some(choices) = &setting.choices {
        described["choices"] = choices.iter().map(plain).collect();
    }
    described
}
