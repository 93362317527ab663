//! A systemd unit.
//!
//! Sources: `systemd.service(5)`, `systemd.exec(5)`.

use std::fmt::Write as _;

use crate::server::command_line::publish::recipe::facts::{Recipe, about};

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
        let is_needed = recipe.variables.iter().any(|variable| variable.is_required);
        settings.push_str("# Settings, in a file that only root can read:\n");
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
