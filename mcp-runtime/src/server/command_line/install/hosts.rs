//! Clients that start servers themselves, and the paths to their configuration files.

use std::env;
use std::path::PathBuf;

/// A client that starts servers.
pub(super) struct HostApplication {
    /// The client's name on the command line.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The configuration member that holds the server entries.
    pub(super) servers: &'static str,
    /// `true` if an entry must specify its transport.
    pub(super) has_type: bool,
    /// Returns the path to the configuration file, or `None` if it is unknown on this system.
    pub(super) file: fn(&Directories) -> Option<PathBuf>,
    /// The next step for the user to take.
    pub(super) next: &'static str,
}

/// All supported clients.
///
/// Sources: Claude Desktop: modelcontextprotocol.io, "Connect to local MCP servers"; Claude Code:
/// code.claude.com/docs/en/mcp, "Project scope"; Cursor: cursor.com/docs/context/mcp, "Configuration locations"; VS Code:
/// code.visualstudio.com/docs/agents/reference/mcp-configuration; Windsurf: docs.windsurf.com/windsurf/cascade/mcp; Zed:
/// zed.dev/docs/ai/mcp and zed.dev/docs/configuring-zed; Gemini CLI: geminicli.com/docs/tools/mcp-server.
pub(super) const HOSTS: [HostApplication; 7] = [
    HostApplication {
        name: "claude-desktop",
        title: "Claude Desktop",
        servers: "mcpServers",
        has_type: false,
        file: |places| {
            let directory = match env::consts::OS {
                "macos" | "windows" => places.settings.as_ref()?.join("Claude"),
                _ => return None,
            };
            Some(directory.join("claude_desktop_config.json"))
        },
        next: "Restart Claude Desktop.",
    },
    HostApplication {
        name: "claude-code",
        title: "Claude Code",
        servers: "mcpServers",
        has_type: false,
        file: |places| Some(places.here.as_ref()?.join(".mcp.json")),
        next: "Start `claude` in this directory and approve the server. The file is shared by everyone who works in this project.",
    },
    HostApplication {
        name: "cursor",
        title: "Cursor",
        servers: "mcpServers",
        has_type: false,
        file: |places| Some(places.home.as_ref()?.join(".cursor").join("mcp.json")),
        next: "Look for the server in Cursor's settings, under MCP.",
    },
    HostApplication {
        name: "vscode",
        title: "VS Code",
        servers: "servers",
        has_type: true,
        file: |places| Some(places.here.as_ref()?.join(".vscode").join("mcp.json")),
        next: "Open this directory in VS Code and start the server with the command `MCP: List Servers`.",
    },
    HostApplication {
        name: "windsurf",
        title: "Windsurf",
        servers: "mcpServers",
        has_type: false,
        file: |places| {
            let directory = places.home.as_ref()?.join(".codeium").join("windsurf");
            Some(directory.join("mcp_config.json"))
        },
        next: "Refresh the list of servers in Windsurf's Cascade panel.",
    },
    HostApplication {
        name: "zed",
        title: "Zed",
        servers: "context_servers",
        has_type: false,
        file: |places| {
            let directory = match env::consts::OS {
                "windows" => places.settings.as_ref()?.join("Zed"),
                "macos" => places.home.as_ref()?.join(".config").join("zed"),
                _ => places.settings.as_ref()?.join("zed"),
            };
            Some(directory.join("settings.json"))
        },
        next: "Look for the server in the settings of Zed's agent panel.",
    },
    HostApplication {
        name: "gemini-cli",
        title: "Gemini CLI",
        servers: "mcpServers",
        has_type: false,
        file: |places| Some(places.home.as_ref()?.join(".gemini").join("settings.json")),
        next: "Type `/mcp` in Gemini CLI to see the server.",
    },
];

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
        let variable = |name| {
            env::var_os(name)
                .filter(|text| !text.is_empty())
                .map(PathBuf::from)
        };
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
}
