//! Memory and time of a process, as `/proc` has them.

use std::io::Error;
use std::time::Duration;

/// The processor time of all threads so far.
///
/// # Errors
///
/// If there is no such process.
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

/// A number of kibibytes of its status: `VmRSS` is what is resident now, `VmHWM` the most that ever was.
///
/// # Errors
///
/// If there is no such process, or no such number.
pub fn memory(process: u32, name: &str) -> Result<u32, Error> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let line = lines.find(|(key, _)| *key == name);
    let kib = line.and_then(|(_, value)| value.trim().strip_suffix(" kB"));
    let kib = kib.ok_or_else(|| Error::other(format!("no {name}")))?;
    kib.parse().map_err(Error::other)
}
