//! `bundle`: an MCP bundle (`.mcpb`), which hosts install with a click.
//!
//! Source: repository modelcontextprotocol/mcpb, `README.md` and `MANIFEST.md`, version 0.3.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use serde_json::{Map, Value, json};

use crate::context::Capability;
use crate::server::Server;
use crate::server::command_line::outcome::CommandResult;
use crate::server::command_line::print;
use crate::server::command_line::publish::archive::{ArchivedFile, Contents, zip};
use crate::server::command_line::publish::bundle_manifest::{
    BundledPrograms, shared_setting, tools, user_config,
};
use crate::server::command_line::publish::manifest::sha256;
use crate::server::command_line::publish::options::{
    description, flag, open, option, repeated, text, texts,
};
use crate::server::command_line::publish::{output, schema};
use crate::server::command_line::session::CommandSession;

pub(super) fn command() -> Command {
    Command::new("bundle")
        .about("Pack the server into an MCP bundle, which hosts can install with one click")
        .long_about(
            "Packs this executable, or those given, into an MCP bundle (`.mcpb`). Its manifest lists the server's tools and \
             has settings for the environment variables that the server declares. The same files always produce the same \
             bytes.",
        )
        .arg(option("author", "NAME", "The author, as shown by hosts").required(true))
        .arg(option("description", "TEXT", "A sentence for users (default: the server's description)"))
        .arg(repeated("binary", "PLATFORM=FILE", "The executable for `linux`, `macos` or `windows`; may be repeated (default: this one)"))
        .arg(repeated("arg", "ARGUMENT", "An argument for the server; may be repeated").allow_hyphen_values(true))
        .arg(option("icon", "FILE", "A PNG image"))
        .arg(option("license", "NAME", "The licence, such as `MIT`"))
        .arg(option("repository", "URL", "The repository with the source"))
        .arg(option("output", "FILE", "The bundle (default: name, version and platform)").short('o'))
        .arg(flag("force", "Replace an existing file"))
}

pub(super) async fn run(
    mut server: Server,
    before: &ArgMatches,
    matches: &ArgMatches,
) -> CommandResult {
    let programs = bundle_executables(&server, matches)?;
    let mut manifest = about(&server, matches)?;
    let variables = std::mem::take(&mut server.environment.variables);
    // Describing the server does not require values for its settings.
    server.environment.faults.clear();
    if let Some(name) = shared_setting(&variables) {
        return Err(format!(
            "two environment variables differ only in case, but bundle settings ignore case: both would be `{name}`"
        )
        .into());
    }
    let default_output = default_output(&server, &programs);
    let session = CommandSession::start(server, before, before).await?;
    let bundled = BundledPrograms {
        paths: programs
            .iter()
            .map(|program| (program.platform, program.place.clone()))
            .collect(),
        arguments: texts(matches, "arg").map(str::to_owned).collect(),
    };
    manifest.insert("server".into(), bundled.server(&variables));
    manifest.insert(
        "tools".into(),
        tools(&session.list(Capability::Tools).await?),
    );
    if !session.list(Capability::Prompts).await?.is_empty() {
        // The format requires the text of each prompt, but only the server can generate it.
        manifest.insert("prompts_generated".into(), true.into());
    }
    manifest.insert("compatibility".into(), bundled.compatibility());
    if !variables.is_empty() {
        manifest.insert("user_config".into(), user_config(&variables));
    }
    let mut files = BTreeMap::new();
    if let Some(path) = text(matches, "icon") {
        let path = PathBuf::from(path);
        if start(&path)? != *b"\x89PNG" {
            return Err(format!("{} is not a PNG image", path.display()).into());
        }
        manifest.insert("icon".into(), "icon.png".into());
        files.insert(
            "icon.png".to_owned(),
            ArchivedFile {
                contents: Contents::File(path),
                is_executable: false,
            },
        );
    }
    let manifest = Value::Object(manifest);
    schema::check("manifest.json", schema::BUNDLE, &manifest)?;
    let contents = format!("{manifest:#}\n").into_bytes();
    files.insert(
        "manifest.json".to_owned(),
        ArchivedFile {
            contents: Contents::Bytes(contents),
            is_executable: false,
        },
    );
    let uses_debug_build = cfg!(debug_assertions) && !matches.contains_id("binary");
    for program in programs {
        let file = ArchivedFile {
            contents: Contents::File(program.path),
            is_executable: true,
        };
        files.insert(program.place, file);
    }
    let path = text(matches, "output").map_or(default_output, PathBuf::from);
    let (size, digest) = output::write(&path, matches.get_flag("force"), |archive| {
        let mut buffer = BufWriter::new(&*archive);
        zip(&files, &mut buffer)?;
        let size = buffer.stream_position()?;
        buffer.flush()?;
        drop(buffer);
        archive.rewind()?;
        Ok((size, sha256(archive)?))
    })?;
    print::line(&format!(
        "Wrote {}, {size} bytes, SHA-256 {digest}",
        path.display()
    ));
    if uses_debug_build {
        print::line(
            "It contains a debug build. For users, run this command in a release build, or pass one with `--binary`.",
        );
    }
    Ok(true)
}

/// Returns the members of the manifest that describe the server.
fn about(server: &Server, matches: &ArgMatches) -> Result<Map<String, Value>, String> {
    let identity = &server.identity;
    let mut manifest = Map::new();
    let mut set = |member: &str, value: Value| drop(manifest.insert(member.into(), value));
    set("manifest_version", "0.3".into());
    set("name", identity.name.as_str().into());
    if let Some(title) = &identity.title {
        set("display_name", title.as_str().into());
    }
    set("version", identity.version.as_str().into());
    set("description", description(server, matches)?.into());
    set("author", json!({"name": text(matches, "author")}));
    if let Some(url) = text(matches, "repository") {
        set("repository", json!({"type": "git", "url": url}));
    }
    if let Some(url) = &identity.website_url {
        set("homepage", url.as_str().into());
    }
    if let Some(license) = text(matches, "license") {
        set("license", license.into());
    }
    Ok(manifest)
}

/// An executable to include in the bundle.
struct Program {
    /// The format's name for the platform.
    platform: &'static str,
    /// The path within the bundle.
    place: String,
    /// The file on this machine.
    path: PathBuf,
}

/// Finds the executables, at most one for each platform, sorted by platform.
fn bundle_executables(server: &Server, matches: &ArgMatches) -> Result<Vec<Program>, String> {
    let mut paths = BTreeMap::new();
    for binary in texts(matches, "binary") {
        let Some((name, path)) = binary.split_once('=') else {
            return Err(format!(
                "`--binary {binary}` has no `=`: write `PLATFORM=FILE`"
            ));
        };
        let Some(platform) = platform(name) else {
            return Err(format!(
                "`--binary {binary}`: the platforms are `linux`, `macos` and `windows`"
            ));
        };
        if paths.insert(platform, PathBuf::from(path)).is_some() {
            return Err(format!("two executables were given for {name}"));
        }
    }
    if paths.is_empty() {
        let platform = platform(env::consts::OS)
            .ok_or("bundles do not support this platform; pass executables with `--binary`")?;
        let executable = env::current_exe().map_err(|error| format!("executable path: {error}"))?;
        paths.insert(platform, executable);
    }
    let programs = paths.into_iter().map(|(platform, path)| {
        if !runs_on(platform, &start(&path)?) {
            return Err(format!(
                "{} is not a program for {platform}",
                path.display()
            ));
        }
        let name = file_name(&server.identity.name);
        let ending = if platform == "win32" { ".exe" } else { "" };
        let place = format!("server/{platform}/{name}{ending}");
        Ok(Program {
            platform,
            place,
            path,
        })
    });
    programs.collect()
}

/// Returns the format's name for the platform, which is the same as in Node.js.
fn platform(name: &str) -> Option<&'static str> {
    match name {
        "linux" => Some("linux"),
        "macos" | "darwin" => Some("darwin"),
        "windows" | "win32" => Some("win32"),
        _ => None,
    }
}

/// Returns `true` if the file starts with the platform's executable signature.
fn runs_on(platform: &str, start: &[u8]) -> bool {
    let starts: &[&[u8]] = match platform {
        "linux" => &[b"\x7fELF"],
        "win32" => &[b"MZ"],
        // This matches executables for one or more processor architectures.
        _ => &[
            b"\xcf\xfa\xed\xfe",
            b"\xca\xfe\xba\xbe",
            b"\xca\xfe\xba\xbf",
        ],
    };
    starts.iter().any(|expected| start.starts_with(expected))
}

fn default_output(server: &Server, programs: &[Program]) -> PathBuf {
    let name = file_name(&server.identity.name);
    let version = file_name(&server.identity.version);
    match programs {
        [program] => format!("{name}-{version}-{}.mcpb", program.platform).into(),
        _ => format!("{name}-{version}.mcpb").into(),
    }
}

/// Replaces all characters that a file name should not contain. To be a safe file name everywhere, the result is never
/// empty and does not begin with a dot, as `..` does.
fn file_name(text: &str) -> String {
    let name = text.replace(
        |c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c),
        "-",
    );
    match name.trim_start_matches('.') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the first four bytes of a file, padded with zeros if the file is shorter.
fn start(path: &Path) -> Result<[u8; 4], String> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(4).read_to_end(&mut bytes);
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    bytes.resize(4, 0);
    Ok(bytes.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_files() {
        for (text, expected) in [
            ("garden", "garden"),
            ("my garden/é", "my-garden--"),
            ("..", "server"),
            ("../../etc", "-..-etc"),
            ("", "server"),
            (".hidden", "hidden"),
            ("C:\\x", "C--x"),
        ] {
            assert_eq!(file_name(text), expected);
        }
    }
}
