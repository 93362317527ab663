//! Programs and their child processes: scripts, `npx` and cargo start other programs, which must be stopped with them.

use std::io;

use tokio::process::{Child, Command};

/// A program and all its child processes, which are killed when this value is dropped.
pub(crate) struct Group {
    #[cfg_attr(not(unix), expect(dead_code, reason = "other systems have no groups"))]
    leader: Option<u32>,
}

impl Group {
    /// Starts a program in a new process group.
    pub(crate) fn start(command: &mut Command) -> io::Result<(Self, Child)> {
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        Ok((Self { leader: child.id() }, child))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            let leader = self.leader.and_then(|id| i32::try_from(id).ok());
            if let Some(leader) = leader.and_then(Pid::from_raw) {
                // This call fails if the process no longer exists.
                let _ = kill_process_group(leader, Signal::KILL);
            }
        }
    }
}
