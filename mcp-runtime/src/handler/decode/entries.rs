//! Splits an argument object into its members without decoding the values.

use std::borrow::Cow;
use std::collections::HashSet;

use mcp_schema::explain::Fault;
use serde::de::IgnoredAny;

use super::{FAULTS, serde_message};
use crate::jsonrpc::{Scan, ScanFailure};

/// Returns the names and values in an argument object. Each name must be unique so that all code that examines a call
/// sees the same arguments.
///
/// # Errors
///
/// Returns an error if the text is not an object or if an argument is given twice.
pub(crate) fn entries(arguments: &str) -> Result<Vec<(Cow<'_, str>, &str)>, Vec<Fault>> {
    let mut scan = Scan::new(arguments);
    if scan.peek() != Some(b'{') {
        return Err(vec![Fault::new("", "the arguments must be a JSON object")]);
    }
    let mut entries = Vec::new();
    let scanned = scan.members(|scan, name| {
        entries.push((name, scan.next_value()?));
        Some(())
    });
    // If the arguments are not JSON, only that error is reported, because any other errors would be guesses.
    scanned.ok_or_else(|| vec![not_json(arguments, scan.failure())])?;
    let mut names = HashSet::with_capacity(entries.len());
    let twice = entries.iter().filter(|(name, _)| !names.insert(&**name));
    let faults: Vec<Fault> = twice
        .take(FAULTS)
        .map(|(name, _)| Fault::new("", format!("argument `{name}` is given twice")))
        .collect();
    if faults.is_empty() {
        Ok(entries)
    } else {
        Err(faults)
    }
}

/// Explains why the arguments could not be read. The arguments in a message are always valid JSON, so this is needed
/// only for arguments that were created from strings and for callers in the same program.
fn not_json(arguments: &str, failure: ScanFailure) -> Fault {
    let reason = match (failure, serde_json::from_str::<IgnoredAny>(arguments)) {
        (ScanFailure::Syntax(_), Err(error)) => serde_message(&error),
        (ScanFailure::Syntax(at), Ok(_)) => format!("invalid JSON at byte {at}"),
        (ScanFailure::Deep | ScanFailure::Long, _) => "nested too deeply".to_owned(),
    };
    Fault::new("", format!("the arguments are not valid JSON: {reason}"))
}

/// Returns the value of a member of an object. If there are duplicates, returns the value of the last member, as
/// parsers that accept duplicates do.
pub(crate) fn member<'t>(json: &'t str, name: &str) -> Option<&'t str> {
    let mut found = None;
    let scanned = Scan::new(json).members(|scan, key| {
        let value = scan.next_value()?;
        if key == name {
            found = Some(value);
        }
        Some(())
    });
    scanned.and(found)
}
