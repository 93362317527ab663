//! `bundle`: an MCP bundle (`.mcpb`), which hosts install with a click.
//!
//! Source: repository modelcontextprotocol/mcpb, `README.md` and `MANIFEST.md`, version 0.3.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::{env, io};

use clap::{ArgMatches, Command};
use flate2::write::DeflateEncoder;
use flate2::{Compression, CrcReader};
use serde_json::{Map, Value, json};

use crate::context::Capability;
use crate::environment::DeclaredVariable;
use crate::server::Server;
use crate::server::command_line::print;
use crate::server::command_line::publish::manifest::sha256;
use crate::server::command_line::publish::output;
use crate::server::command_line::publish::output::{
    description, flag, open, option, repeated, text, texts,
};
use crate::server::command_line::session::{CommandResult, CommandSession};

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
    output::check("manifest.json", output::BUNDLE, &manifest)?;
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
    pub(super) fn server(&self, variables: &[DeclaredVariable]) -> Value {
        let mut paths = self.paths.iter();
        let path = paths.next().map_or("", |(_, path)| path.as_str());
        let command = |path: &str| format!("${{__dirname}}/{path}");
        let mut config = json!({"command": command(path), "args": self.arguments});
        if !variables.is_empty() {
            let values = variables.iter().map(|variable| {
                let value = format!("${{user_config.{}}}", key(variable));
                (variable.name.clone(), value.into())
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

/// Returns the settings that hosts ask users for, one for each environment variable that the server declares.
pub(super) fn user_config(variables: &[DeclaredVariable]) -> Value {
    let settings = variables
        .iter()
        .map(|variable| (key(variable), setting(variable)));
    settings.collect::<Map<_, _>>().into()
}

/// Returns the first setting name that two variables would share, if any.
pub(super) fn shared_setting(variables: &[DeclaredVariable]) -> Option<String> {
    let mut names = BTreeSet::new();
    let mut keys = variables.iter().map(key);
    keys.find(|key| !names.insert(key.clone()))
}

fn setting(variable: &DeclaredVariable) -> Value {
    let kind = match variable.kind() {
        // Only strings can be marked as secret.
        _ if variable.is_secret => "string",
        "integer" | "number" => "number",
        "boolean" => "boolean",
        _ => "string",
    };
    let title = title(variable);
    let description = variable.description().unwrap_or_else(|| title.clone());
    let mut setting = json!({
        "type": kind,
        "title": title,
        "description": description,
        "required": variable.is_required,
    });
    if variable.is_secret {
        setting["sensitive"] = true.into();
    }
    match variable.default() {
        Some(default @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
            setting["default"] = default.clone();
        }
        // List items are separated by commas, and other values are JSON.
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            setting["default"] = items.join(",").into();
        }
        Some(Value::Null) | None => {}
        Some(default) => setting["default"] = default.to_string().into(),
    }
    if kind == "number" {
        for (bound, member) in [("minimum", "min"), ("maximum", "max")] {
            if variable.schema[bound].is_number() {
                setting[member] = variable.schema[bound].clone();
            }
        }
    }
    setting
}

/// Returns the name of a setting, such as `notes_max_rows`.
fn key(variable: &DeclaredVariable) -> String {
    variable.name.to_lowercase()
}

/// Returns the title of a setting, such as `Max rows`.
fn title(variable: &DeclaredVariable) -> String {
    let words = variable.field.to_lowercase().replace(['_', '-'], " ");
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

// --- Writes a ZIP archive whose bytes depend only on the files in it: it does not contain times or owners, and files are
// sorted by name.
//
// Files are read and compressed in pieces so that memory use does not depend on a program's size.
//
// Source: PKWARE, `APPNOTE.TXT` 6.3.10. Archives of 4 GiB or more are rejected.

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

/// Version 2.0 of the format: directories and deflate.
const VERSION: u16 = 20;

/// A flag that indicates that names are in UTF-8.
const FLAGS: u16 = 1 << 11;

const DEFLATED: u16 = 8;

/// The earliest time that the format can represent, midnight on January 1, 1980.
const TIME: u16 = 0;

const DATE: u16 = (1 << 5) | 1;

/// The system whose permissions the archive contains: Unix.
const UNIX: u16 = 3 << 8;

/// Writes an archive with these files, whose names are their paths in it. `archive` must be empty.
///
/// # Errors
///
/// Fails if a file cannot be read, or if the archive or a file is too large for the format.
pub(super) fn zip(
    files: &BTreeMap<String, ArchivedFile>,
    archive: &mut (impl Write + Seek),
) -> io::Result<()> {
    let mut directory = Vec::new();
    for (name, file) in files {
        let start = archive.stream_position()?;
        // The header is rewritten once the sizes are known.
        archive.write_all(&[0; LOCAL_HEADER])?;
        archive.write_all(name.as_bytes())?;
        let contents_start = archive.stream_position()?;
        let mut contents = CrcReader::new(file.contents.open()?);
        let mut encoder = DeflateEncoder::new(&mut *archive, Compression::best());
        let size = io::copy(&mut contents, &mut encoder)?;
        encoder.finish()?;
        let end = archive.stream_position()?;
        // The part that a file's header has in common with its entry in the directory.
        let mut common = Vec::new();
        for number in [VERSION, FLAGS, DEFLATED, TIME, DATE] {
            common.extend(number.to_le_bytes());
        }
        common.extend(contents.crc().sum().to_le_bytes());
        common.extend(four(end - contents_start)?);
        common.extend(four(size)?);
        common.extend(two(name.len())?);
        // No extra fields.
        common.extend([0; 2]);

        archive.seek(SeekFrom::Start(start))?;
        archive.write_all(b"PK\x03\x04")?;
        archive.write_all(&common)?;
        archive.seek(SeekFrom::Start(end))?;

        directory.extend(b"PK\x01\x02");
        directory.extend((UNIX | VERSION).to_le_bytes());
        directory.extend(&common);
        // No comment, the first disk, no internal attributes.
        directory.extend([0; 6]);
        let mode: u32 = if file.is_executable {
            0o100_755
        } else {
            0o100_644
        };
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(four(start)?);
        directory.extend(name.as_bytes());
    }
    let offset = four(archive.stream_position()?)?;
    let size = four(directory.len() as u64)?;
    let count = two(files.len())?;
    directory.extend(b"PK\x05\x06");
    // One disk.
    directory.extend([0; 4]);
    directory.extend(count);
    directory.extend(count);
    directory.extend(size);
    directory.extend(offset);
    // No comment.
    directory.extend([0; 2]);
    archive.write_all(&directory)
}

/// The length of a file's header before its name.
const LOCAL_HEADER: usize = 30;

fn two(number: usize) -> io::Result<[u8; 2]> {
    let number = u16::try_from(number).map_err(|_| too_large())?;
    Ok(number.to_le_bytes())
}

fn four(number: u64) -> io::Result<[u8; 4]> {
    let number = u32::try_from(number).map_err(|_| too_large())?;
    Ok(number.to_le_bytes())
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "the files are too large for a bundle",
    )
}

#[cfg(test)]
mod tests {
    use crate::server::command_line::publish::bundle::*;

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
