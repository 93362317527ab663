//! Clients that start or connect to servers, the paths to their configuration files, and the form of their entries.

use std::env;
use std::path::PathBuf;

use serde_json::json;

use crate::install::document::ConfigFormat;
use crate::install::entry::{
    EntryMembers, LocalServer, RemoteServer, command, in_transport, remote, with_first,
};

/// A client that starts servers or connects to them.
pub(super) struct HostApplication {
    /// The client's name on the command line.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) format: ConfigFormat,
    /// The configuration member that holds the server entries.
    pub(super) servers: &'static str,
    /// `true` if entry names may contain only letters, digits, `-` and `_`.
    pub(super) has_bare_names: bool,
    /// Returns the entry for a server that the client starts.
    pub(super) local: fn(&LocalServer) -> EntryMembers,
    /// Returns the entry for a server to which the client connects, if the file can contain such entries.
    pub(super) remote: Option<fn(&RemoteServer) -> EntryMembers>,
    /// Returns the path to the configuration file, or `None` if it is unknown on this system.
    pub(super) file: fn(&Directories) -> Option<PathBuf>,
    /// Names of files beside that one which the client reads as well. Where one exists, it takes precedence.
    pub(super) also_reads: &'static [&'static str],
    /// The members that the client expects in front of the servers in a new file, as text.
    pub(super) preamble: &'static str,
    /// The next step for the user to take.
    pub(super) next: &'static str,
}

/// All supported clients.
///
/// Sources: Claude Desktop: modelcontextprotocol.io, "Connect to local MCP servers"; Claude Code:
/// code.claude.com/docs/en/mcp, "Project scope"; Cursor: cursor.com/docs/context/mcp, "Configuration locations"; VS
/// Code: code.visualstudio.com/docs/agents/reference/mcp-configuration; Windsurf:
/// docs.windsurf.com/windsurf/cascade/mcp; Zed: zed.dev/docs/ai/mcp and zed.dev/docs/configuring-zed; Gemini CLI:
/// geminicli.com/docs/tools/mcp-server; Codex: developers.openai.com/codex/mcp; Copilot CLI: docs.github.com, "Adding
/// MCP servers for GitHub Copilot CLI"; `OpenCode`: opencode.ai/docs/mcp-servers; LM Studio: lmstudio.ai/docs/app/mcp;
/// Junie: jetbrains.com/help/junie, "Model Context Protocol (MCP)"; Goose: goose-docs.ai, "Configuration files"; Qwen Code:
/// qwenlm.github.io/qwen-code-docs, "MCP"; Cline: what `cline mcp install` of 3.0 writes; Amp: ampcode.com/manual, "MCP";
/// Continue: docs.continue.dev/reference, "mcpServers".
pub(super) const HOSTS: [HostApplication; 17] = [
    HostApplication {
        name: "claude-desktop",
        title: "Claude Desktop",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: None,
        file: |places| {
            let directory = match env::consts::OS {
                "macos" | "windows" => places.settings.as_ref()?.join("Claude"),
                _ => return None,
            };
            Some(directory.join("claude_desktop_config.json"))
        },
        also_reads: &[],
        preamble: "",
        next: "Restart Claude Desktop.",
    },
    HostApplication {
        name: "claude-code",
        title: "Claude Code",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| with_first("type", json!("http"), remote(server, "url", "headers"))),
        file: |places| Some(places.here.as_ref()?.join(".mcp.json")),
        also_reads: &[],
        preamble: "",
        next: "Start `claude` in this directory and approve the server. The file is shared by everyone who works in this project.",
    },
    HostApplication {
        name: "cursor",
        title: "Cursor",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| remote(server, "url", "headers")),
        file: |places| places.in_home(&[".cursor", "mcp.json"]),
        also_reads: &[],
        preamble: "",
        next: "Look for the server in Cursor's settings, under MCP.",
    },
    HostApplication {
        name: "vscode",
        title: "VS Code",
        format: ConfigFormat::Json,
        servers: "servers",
        has_bare_names: false,
        local: |server| with_first("type", json!("stdio"), command(server)),
        remote: Some(|server| with_first("type", json!("http"), remote(server, "url", "headers"))),
        file: |places| Some(places.here.as_ref()?.join(".vscode").join("mcp.json")),
        also_reads: &[],
        preamble: "",
        next: "Open this directory in VS Code and start the server with the command `MCP: List Servers`.",
    },
    HostApplication {
        name: "windsurf",
        title: "Windsurf",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| remote(server, "serverUrl", "headers")),
        file: |places| places.in_home(&[".codeium", "windsurf", "mcp_config.json"]),
        also_reads: &[],
        preamble: "",
        next: "Refresh the list of servers in Windsurf's Cascade panel.",
    },
    HostApplication {
        name: "zed",
        title: "Zed",
        format: ConfigFormat::Json,
        servers: "context_servers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| remote(server, "url", "headers")),
        file: |places| {
            let directory = match env::consts::OS {
                "windows" => places.settings.as_ref()?.join("Zed"),
                "macos" => places.in_home(&[".config", "zed"])?,
                _ => places.settings.as_ref()?.join("zed"),
            };
            Some(directory.join("settings.json"))
        },
        also_reads: &[],
        preamble: "",
        next: "Look for the server in the settings of Zed's agent panel.",
    },
    HostApplication {
        name: "gemini-cli",
        title: "Gemini CLI",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| with_first("type", json!("http"), remote(server, "url", "headers"))),
        file: |places| places.in_home(&[".gemini", "settings.json"]),
        also_reads: &[],
        preamble: "",
        next: "Type `/mcp` in Gemini CLI to see the server.",
    },
    HostApplication {
        name: "codex",
        title: "Codex",
        format: ConfigFormat::Toml,
        servers: "mcp_servers",
        has_bare_names: true,
        local: command,
        remote: Some(|server| remote(server, "url", "http_headers")),
        file: |places| Some(places.own("CODEX_HOME", ".codex")?.join("config.toml")),
        also_reads: &[],
        preamble: "",
        next: "Type `/mcp` in a new Codex session to see the server.",
    },
    HostApplication {
        name: "copilot-cli",
        title: "Copilot CLI",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: |server| {
            let mut members = with_first("type", json!("local"), command(server));
            members.insert("tools".into(), json!(["*"]));
            members
        },
        remote: Some(|server| {
            let mut members = with_first("type", json!("http"), remote(server, "url", "headers"));
            members.insert("tools".into(), json!(["*"]));
            members
        }),
        file: |places| {
            Some(
                places
                    .own("COPILOT_HOME", ".copilot")?
                    .join("mcp-config.json"),
            )
        },
        also_reads: &[],
        preamble: "",
        next: "Type `/mcp show` in Copilot CLI to see the server.",
    },
    HostApplication {
        name: "opencode",
        title: "OpenCode",
        format: ConfigFormat::Json,
        servers: "mcp",
        has_bare_names: false,
        local: |server| {
            let mut members = EntryMembers::new();
            members.insert("type".into(), "local".into());
            let words = std::iter::once(&server.executable).chain(&server.arguments);
            members.insert("command".into(), words.cloned().collect());
            if !server.environment.is_empty() {
                members.insert("environment".into(), server.environment.clone().into());
            }
            members
        },
        remote: Some(|server| {
            with_first("type", json!("remote"), remote(server, "url", "headers"))
        }),
        file: |places| {
            let directory = match env::consts::OS {
                "windows" | "macos" => places.in_home(&[".config", "opencode"])?,
                _ => places.settings.as_ref()?.join("opencode"),
            };
            Some(directory.join("opencode.json"))
        },
        also_reads: &["opencode.jsonc"],
        preamble: "",
        next: "Run `opencode mcp list` to see the server.",
    },
    HostApplication {
        name: "lm-studio",
        title: "LM Studio",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| remote(server, "url", "headers")),
        file: |places| places.in_home(&[".lmstudio", "mcp.json"]),
        also_reads: &[],
        preamble: "",
        next: "Switch the server on in LM Studio, under Program.",
    },
    HostApplication {
        name: "junie",
        title: "JetBrains Junie",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: None,
        file: |places| places.in_home(&[".junie", "mcp", "mcp.json"]),
        also_reads: &[],
        preamble: "",
        next: "Look for the server in the settings of your JetBrains IDE, under Junie, MCP Settings.",
    },
    HostApplication {
        name: "goose",
        title: "Goose",
        format: ConfigFormat::YamlMap,
        servers: "extensions",
        has_bare_names: false,
        local: |server| {
            let mut members = EntryMembers::new();
            members.insert("type".into(), "stdio".into());
            members.insert("enabled".into(), true.into());
            members.insert("cmd".into(), server.executable.as_str().into());
            members.insert("args".into(), server.arguments.iter().cloned().collect());
            members.insert("envs".into(), server.environment.clone().into());
            members.insert("timeout".into(), 300.into());
            members
        },
        remote: Some(|server| {
            let mut members = EntryMembers::new();
            members.insert("type".into(), "streamable_http".into());
            members.insert("enabled".into(), true.into());
            members.insert("uri".into(), server.url.as_str().into());
            members.insert("headers".into(), server.headers.clone().into());
            members.insert("timeout".into(), 300.into());
            members
        }),
        file: |places| match env::consts::OS {
            "windows" => {
                let settings = places.settings.as_ref()?;
                Some(
                    settings
                        .join("Block")
                        .join("goose")
                        .join("config")
                        .join("config.yaml"),
                )
            }
            _ => places.in_home(&[".config", "goose", "config.yaml"]),
        },
        also_reads: &[],
        preamble: "",
        next: "Start a new Goose session.",
    },
    HostApplication {
        name: "qwen-code",
        title: "Qwen Code",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| remote(server, "httpUrl", "headers")),
        file: |places| places.in_home(&[".qwen", "settings.json"]),
        also_reads: &[],
        preamble: "",
        next: "Type `/mcp` in Qwen Code to see the server.",
    },
    HostApplication {
        name: "cline",
        title: "Cline",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        has_bare_names: false,
        local: |server| in_transport("stdio", command(server)),
        remote: Some(|server| in_transport("streamableHttp", remote(server, "url", "headers"))),
        file: |places| {
            let path = [".cline", "data", "settings", "cline_mcp_settings.json"];
            places.in_home(&path)
        },
        also_reads: &[],
        preamble: "",
        next: "Start a new Cline session.",
    },
    HostApplication {
        name: "amp",
        title: "Amp",
        format: ConfigFormat::Json,
        servers: "amp.mcpServers",
        has_bare_names: false,
        local: command,
        remote: Some(|server| remote(server, "url", "headers")),
        file: |places| places.in_home(&[".config", "amp", "settings.json"]),
        also_reads: &["settings.jsonc"],
        preamble: "",
        next: "Run `amp mcp list` to see the server.",
    },
    HostApplication {
        name: "continue",
        title: "Continue",
        format: ConfigFormat::YamlList,
        servers: "mcpServers",
        has_bare_names: false,
        local: |server| with_first("type", json!("stdio"), command(server)),
        remote: Some(|server| {
            let mut members =
                with_first("type", json!("streamable-http"), remote(server, "url", ""));
            if let Some(headers) = members.shift_remove("") {
                members.insert("requestOptions".into(), json!({"headers": headers}));
            }
            members
        }),
        file: |places| places.in_home(&[".continue", "config.yaml"]),
        also_reads: &[],
        preamble: "name: \"Local\"\nversion: \"1.0.0\"\nschema: \"v1\"\n",
        next: "Start a new Continue session.",
    },
];

impl HostApplication {
    /// Returns the paths to all configuration files, beginning with the one that takes precedence. The last is the one to
    /// create if none exists. Returns `None` if they are unknown on this system.
    pub(super) fn files(&self, places: &Directories) -> Option<Vec<PathBuf>> {
        let file = (self.file)(places)?;
        let beside = self.also_reads.iter().map(|name| file.with_file_name(name));
        let beside: Vec<_> = beside.filter(|path| path.exists()).collect();
        Some(beside.into_iter().chain([file]).collect())
    }
}

/// Directories that depend on the system and the user.
pub(super) struct Directories {
    home: Option<PathBuf>,
    /// The directory in which programs store their settings.
    settings: Option<PathBuf>,
    /// The current directory.
    here: Option<PathBuf>,
}

impl Directories {
    pub(super) fn read() -> Self {
        let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let in_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let settings = match env::consts::OS {
            "windows" => variable("APPDATA"),
            "macos" => in_home("Library/Application Support"),
            _ => variable("XDG_CONFIG_HOME").or_else(|| in_home(".config")),
        };
        Self {
            settings,
            here: env::current_dir().ok(),
            home,
        }
    }

    fn in_home(&self, names: &[&str]) -> Option<PathBuf> {
        let mut path = self.home.clone()?;
        path.extend(names);
        Some(path)
    }

    /// Returns the client's own directory, which an environment variable may place outside the home directory.
    fn own(&self, name: &str, in_home: &str) -> Option<PathBuf> {
        variable(name).or_else(|| self.in_home(&[in_home]))
    }
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|text| !text.is_empty())
        .map(PathBuf::from)
}
