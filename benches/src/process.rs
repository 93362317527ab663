//! Reads the memory usage and processor time of a process from `/proc`.

use std::io::Error;
use std::time::Duration;

/// Returns the processor time that all current threads of a process have used so far.
///
/// # Errors
///
/// Fails if the process does not exist.
pub fn processor_time(process: u32) -> Result<Duration, Error> {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let times = std::fs::read_to_string(task?.path().join("schedstat"))?;
        sum += times
            .split(' ')
            .next()
            .and_then(|time| time.parse::<u64>().ok())
            .unwrap_or(0);
    }
    Ok(Duration::from_nanos(sum))
}

/// Returns an entry of the process status in KiB: `VmRSS` is the current resident memory, `VmHWM` its maximum so far.
///
/// # Errors
///
/// Fails if the process or the entry does not exist.
pub fn memory(process: u32, name: &str) -> Result<u32, Error> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let line = lines.find(|(key, _)| *key == name);
    let kib = line.and_then(|(_, value)| value.trim().strip_suffix(" kB"));
    let kib = kib.ok_or_else(|| Error::other(format!("no {name}")))?;
    kib.parse().map_err(Error::other)
}
