//! `bundle`: an MCP bundle (`.mcpb`), which hosts install with a click.
//!
//! Source: repository modelcontextprotocol/mcpb, `README.md` and `MANIFEST.md`, version 0.3.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::{env, io};

use anyhow::{Context as _, Result, bail};
use clap::{ArgMatches, Command};
use serde_json::{Map, Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::manifest::sha256;
use super::output;
use super::output::{description, open, repeated, text, texts};
use crate::describe::{Description, Program, Setting};
use crate::target::{flag, option};

pub(super) fn command() -> Command {
    Command::new("bundle")
        .about("Pack the server into an MCP bundle, which hosts can install with one click")
        .long_about(
            "Packs the server's executable, or those given, into an MCP bundle (`.mcpb`). Its manifest lists the server's tools and \
             has settings for the environment variables that the server declares. The same files always produce the same \
             bytes.",
        )
        .arg(option("author", "NAME", "The author, as shown by hosts").required(true))
        .arg(option("description", "TEXT", "A sentence for users (default: the server's description)"))
        .arg(repeated("binary", "PLATFORM=FILE", "The executable for `linux`, `macos` or `windows`; may be repeated (default: the program, for this platform)"))
        .arg(repeated("arg", "ARGUMENT", "An argument for the server; may be repeated").allow_hyphen_values(true))
        .arg(option("icon", "FILE", "A PNG image"))
        .arg(option("license", "NAME", "The licence, such as `MIT`"))
        .arg(option("repository", "URL", "The repository with the source"))
        .arg(option("output", "FILE", "The bundle (default: name, version and platform)").short('o'))
        .arg(flag("force", "Replace an existing file"))
}

/// Returns the text to print.
pub(super) fn run(program: &Program, about: &Description, matches: &ArgMatches) -> Result<String> {
    let programs = bundle_executables(program, about, matches)?;
    let mut files = BTreeMap::new();
    let icon = text(matches, "icon").map(PathBuf::from);
    let manifest = manifest(about, matches, &programs)?;
    if let Some(path) = icon {
        if start(&path)? != *b"\x89PNG" {
            bail!("{} is not a PNG image", path.display());
        }
        let file = ArchivedFile {
            contents: Contents::File(path),
            is_executable: false,
        };
        files.insert(ICON.to_owned(), file);
    }
    output::check("manifest.json", output::BUNDLE, &manifest)?;
    let contents = format!("{manifest:#}\n").into_bytes();
    files.insert(
        "manifest.json".to_owned(),
        ArchivedFile {
            contents: Contents::Bytes(contents),
            is_executable: false,
        },
    );
    let default_output = default_output(about, &programs);
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
    let wrote = format!("Wrote {}, {size} bytes, SHA-256 {digest}\n", path.display());
    let uses_debug_build = about.debug && !matches.contains_id("binary");
    Ok(if uses_debug_build {
        format!("{wrote}{DEBUG_BUILD}\n")
    } else {
        wrote
    })
}

/// What is printed about a bundle that users should not get.
const DEBUG_BUILD: &str =
    "It contains a debug build. For users, add `--release`, or pass a program with `--binary`.";

/// The path of the icon within the bundle.
const ICON: &str = "icon.png";

/// Returns the manifest of a bundle with these programs.
fn manifest(
    about: &Description,
    matches: &ArgMatches,
    programs: &[PlatformProgram],
) -> Result<Value> {
    // A host starts the program over standard input and output.
    let settings: &[&Setting] = &about.settings_without_http().collect::<Vec<_>>();
    if let Some(name) = shared_setting(settings) {
        bail!(
            "two environment variables differ only in case, but bundle settings ignore case: both would be `{name}`"
        );
    }
    let bundled = BundledPrograms {
        paths: programs
            .iter()
            .map(|program| (program.platform, program.place.clone()))
            .collect(),
        arguments: texts(matches, "arg").map(str::to_owned).collect(),
    };
    let mut manifest = identity(about, matches)?;
    let mut set = |member: &str, value: Value| drop(manifest.insert(member.into(), value));
    set("server", bundled.server(settings));
    set("tools", tools(&about.tools));
    if !about.prompts.is_empty() {
        // The format requires the text of each prompt, but only the server can generate it.
        set("prompts_generated", true.into());
    }
    set("compatibility", bundled.compatibility());
    if !settings.is_empty() {
        set("user_config", user_config(settings));
    }
    if matches.contains_id("icon") {
        set("icon", ICON.into());
    }
    Ok(manifest.into())
}

/// Returns the members of the manifest that describe the server.
fn identity(about: &Description, matches: &ArgMatches) -> Result<Map<String, Value>> {
    let identity = &about.server;
    let mut manifest = Map::new();
    let mut set = |member: &str, value: Value| drop(manifest.insert(member.into(), value));
    set("manifest_version", "0.3".into());
    set("name", identity.name.as_str().into());
    if let Some(title) = &identity.title {
        set("display_name", title.as_str().into());
    }
    set("version", identity.version.as_str().into());
    set("description", description(about, matches)?.into());
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
struct PlatformProgram {
    /// The format's name for the platform.
    platform: &'static str,
    /// The path within the bundle.
    place: String,
    /// The file on this machine.
    path: PathBuf,
}

/// Finds the executables, at most one for each platform, sorted by platform.
fn bundle_executables(
    program: &Program,
    about: &Description,
    matches: &ArgMatches,
) -> Result<Vec<PlatformProgram>> {
    let mut paths = BTreeMap::new();
    for binary in texts(matches, "binary") {
        let Some((name, path)) = binary.split_once('=') else {
            bail!("`--binary {binary}` has no `=`: write `PLATFORM=FILE`");
        };
        let Some(platform) = platform(name) else {
            bail!("`--binary {binary}`: the platforms are `linux`, `macos` and `windows`");
        };
        if paths.insert(platform, PathBuf::from(path)).is_some() {
            bail!("two executables were given for {name}");
        }
    }
    if paths.is_empty() {
        let platform = platform(env::consts::OS)
            .context("bundles do not support this platform; pass executables with `--binary`")?;
        paths.insert(platform, program.executable()?);
    }
    let programs = paths.into_iter().map(|(platform, path)| {
        if !runs_on(platform, start(&path)?) {
            bail!("{} is not a program for {platform}", path.display());
        }
        let name = file_name(&about.server.name);
        let ending = if platform == "win32" { ".exe" } else { "" };
        let place = format!("server/{platform}/{name}{ending}");
        Ok(PlatformProgram {
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
fn runs_on(platform: &str, start: [u8; 4]) -> bool {
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

fn default_output(about: &Description, programs: &[PlatformProgram]) -> PathBuf {
    let name = file_name(&about.server.name);
    let version = file_name(&about.server.version);
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
fn start(path: &Path) -> Result<[u8; 4]> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(4).read_to_end(&mut bytes);
    read.with_context(|| path.display().to_string())?;
    bytes.resize(4, 0);
    Ok(bytes.try_into().unwrap_or_default())
}

// --- A bundle's `manifest.json`: the server's definitions, the command that starts it, and the settings that hosts ask
// users for.
//
// Source: repository modelcontextprotocol/mcpb, `MANIFEST.md`, version 0.3.

/// The programs in a bundle, keyed by platform.
pub(super) struct BundledPrograms {
    /// The format's name for each platform, and the program's path in the bundle.
    pub(super) paths: Vec<(&'static str, String)>,
    pub(super) arguments: Vec<String>,
}

impl BundledPrograms {
    /// Returns the `server` member, which contains the first program, with the others as exceptions.
    pub(super) fn server(&self, settings: &[&Setting]) -> Value {
        let mut paths = self.paths.iter();
        let path = paths.next().map_or("", |(_, path)| path.as_str());
        let command = |path: &str| format!("${{__dirname}}/{path}");
        let mut config = json!({"command": command(path), "args": self.arguments});
        if !settings.is_empty() {
            let values = settings.iter().map(|setting| {
                let value = format!("${{user_config.{}}}", key(setting));
                (setting.name.clone(), value.into())
            });
            config["env"] = values.collect::<Map<_, _>>().into();
        }
        let others = paths
            .map(|(platform, path)| ((*platform).to_owned(), json!({"command": command(path)})));
        let others: Map<_, _> = others.collect();
        if !others.is_empty() {
            config["platform_overrides"] = others.into();
        }
        json!({"type": "binary", "entry_point": path, "mcp_config": config})
    }

    /// Returns the `compatibility` member.
    pub(super) fn compatibility(&self) -> Value {
        let platforms: Vec<_> = self.paths.iter().map(|(platform, _)| *platform).collect();
        json!({"platforms": platforms})
    }
}

/// Returns the names and descriptions of the tools.
pub(super) fn tools(tools: &[Value]) -> Value {
    let described = tools.iter().map(|tool| {
        let mut described = json!({"name": tool["name"]});
        if let Some(text) = tool["description"].as_str() {
            described["description"] = text.into();
        }
        described
    });
    described.collect()
}

/// Returns the settings that hosts ask users for, one for each environment variable that the server uses
/// without HTTP.
pub(super) fn user_config(settings: &[&Setting]) -> Value {
    let settings = settings.iter().copied();
    let settings = settings.map(|setting| (key(setting), user_setting(setting)));
    settings.collect::<Map<_, _>>().into()
}

/// Returns the first setting name that two variables would share, if any.
pub(super) fn shared_setting(settings: &[&Setting]) -> Option<String> {
    let mut names = BTreeSet::new();
    let mut keys = settings.iter().map(|setting| key(setting));
    keys.find(|key| !names.insert(key.clone()))
}

fn user_setting(setting: &Setting) -> Value {
    let kind = match setting.kind.as_str() {
        // Only strings can be marked as secret.
        _ if setting.secret => "string",
        "integer" | "number" => "number",
        "boolean" => "boolean",
        _ => "string",
    };
    let title = title(setting);
    let description = setting.description.as_ref().unwrap_or(&title);
    let mut described = json!({
        "type": kind,
        "title": title,
        "description": description,
        "required": setting.required,
    });
    if setting.secret {
        described["sensitive"] = true.into();
    }
    match &setting.default {
        Some(default @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
            described["default"] = default.clone();
        }
        // List items are separated by commas, and other values are JSON.
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            described["default"] = items.join(",").into();
        }
        Some(Value::Null) | None => {}
        Some(default) => described["default"] = default.to_string().into(),
    }
    if kind == "number" {
        for (bound, member) in [(&setting.minimum, "min"), (&setting.maximum, "max")] {
            if let Some(bound @ Value::Number(_)) = bound {
                described[member] = bound.clone();
            }
        }
    }
    described
}

/// Returns the name of a setting, such as `notes_max_rows`.
fn key(setting: &Setting) -> String {
    setting.name.to_lowercase()
}

/// Returns the title of a setting, such as `Max rows`.
fn title(setting: &Setting) -> String {
    let words = setting.field.to_lowercase().replace(['_', '-'], " ");
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

// --- Writes a ZIP archive whose bytes depend only on the files in it: it does not contain times or owners, and files are
// sorted by name.
//
// Files are read and compressed in pieces so that memory use does not depend on a program's size. A file of 4 GiB or more
// is rejected.

/// A file in an archive.
pub(super) struct ArchivedFile {
    pub(super) contents: Contents,
    /// `true` if users may execute the file.
    pub(super) is_executable: bool,
}

/// The contents of a file.
pub(super) enum Contents {
    Bytes(Vec<u8>),
    /// Read from this file when the archive is written.
    File(PathBuf),
}

impl Contents {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(&**bytes),
            Self::File(path) => Box::new(File::open(path)?),
        })
    }
}

/// The best compression of deflate, which all hosts can read.
const BEST: i64 = 9;

/// Writes an archive with these files, whose names are their paths in it. `archive` must be empty.
///
/// # Errors
///
/// Fails if a file cannot be read, or if a file is too large for the format.
pub(super) fn zip(
    files: &BTreeMap<String, ArchivedFile>,
    archive: &mut (impl Write + Seek),
) -> io::Result<()> {
    let mut archive = ZipWriter::new(archive);
    for (name, file) in files {
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            // The earliest time of the format: midnight on January 1, 1980.
            .last_modified_time(zip::DateTime::default())
            .compression_method(zip::CompressionMethod::Deflated)
            .compression_level(Some(BEST))
            .unix_permissions(mode);
        archive.start_file(name.as_str(), options)?;
        io::copy(&mut file.contents.open()?, &mut archive)?;
    }
    archive.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundle_names_are_converted_to_safe_file_names() {
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
