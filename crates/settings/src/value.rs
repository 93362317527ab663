//! The value of a variable: its text, or the contents of the file that a second variable names, as Docker and Kubernetes
//! mount secrets.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::counts_as_unset;

/// What follows the name of a variable in the name of the one for the file.
const SUFFIX: &str = "_FILE";

/// Maximum size of such a file.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// A value that was found.
#[derive(Debug)]
pub(crate) struct FoundValue {
    pub(crate) text: OsString,
    /// The file that contains it.
    pub(crate) file: Option<PathBuf>,
}

/// Returns the value of the process's environment variable `name`, or the contents of the file that `NAME_FILE` names,
/// without a line break at its end. Returns `None` if neither is set.
///
/// # Errors
///
/// Returns a line that says what is wrong and never contains the value.
pub fn text_of(name: &str) -> Result<Option<String>, String> {
    let Some(found) = find(name, |name| std::env::var_os(name))? else {
        return Ok(None);
    };
    let text = found.text.into_string();
    let text = text.map_err(|_| format!("the environment variable `{name}` is not valid UTF-8"))?;
    Ok(Some(text))
}

/// Returns the name of the variable for the file.
pub(crate) fn file_variable(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// Finds the value of a variable, with a function that reads the environment.
pub(crate) fn find(
    name: &str,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<FoundValue>, String> {
    let variable = |name: &str| variable(name).filter(|value| !counts_as_unset(value));
    let of_file = file_variable(name);
    match (variable(name), variable(&of_file)) {
        (None, None) => Ok(None),
        (Some(text), None) => Ok(Some(FoundValue { text, file: None })),
        (None, Some(path)) => match read_file(&path) {
            Ok(text) => Ok(Some(FoundValue {
                text: text.into(),
                file: Some(path.into()),
            })),
            Err(problem) => Err(format!(
                "the environment variable `{of_file}` names the file `{}`, which {problem}",
                Path::new(&path).display()
            )),
        },
        (Some(_), Some(_)) => Err(format!(
            "the environment variables `{name}` and `{of_file}` are both set; remove one of them"
        )),
    }
}

/// Reads a value from a file.
fn read_file(path: &OsStr) -> Result<String, String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // One byte more shows that the file is too large.
        let mut file = File::open(path)?.take(MAX_FILE_BYTES + 1);
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("is larger than {MAX_FILE_BYTES} bytes"));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| "is not valid UTF-8".to_owned())?;
    let without_break = text.strip_suffix('\n').map_or(text.len(), |text| {
        text.strip_suffix('\r').unwrap_or(text).len()
    });
    text.truncate(without_break);
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is removed in the end.
    struct TemporaryFile(PathBuf);

    impl TemporaryFile {
        fn new(name: &str, contents: impl AsRef<[u8]>) -> Self {
            let name = format!("mcp-settings-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, contents).unwrap();
            Self(path)
        }

        fn path(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for TemporaryFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn found(variables: &[(&str, &str)]) -> Result<Option<FoundValue>, String> {
        find("T_KEY", |name| {
            let mut variables = variables.iter();
            let found = variables.find(|(known, _)| *known == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_contents_of_a_file_are_a_value_without_the_last_line_break() {
        for (contents, expected) in [
            ("hunter2", "hunter2"),
            ("hunter2\n", "hunter2"),
            ("hunter2\r\n", "hunter2"),
            (" two\nlines\n\n", " two\nlines\n"),
        ] {
            let file = TemporaryFile::new("value", contents);
            let value = found(&[("T_KEY_FILE", file.path())]).unwrap().unwrap();
            assert_eq!(value.text, expected, "{contents:?}");
            assert_eq!(value.file.as_deref(), Some(&*file.0));
            // A variable that counts as absent does not conflict with the file.
            for unset in ["", "${user_config.t_key}"] {
                let both = [("T_KEY", unset), ("T_KEY_FILE", file.path())];
                assert_eq!(found(&both).unwrap().unwrap().text, expected);
            }
        }
        assert!(found(&[("T_KEY_FILE", "")]).unwrap().is_none());
        assert_eq!(found(&[("T_KEY", "x")]).unwrap().unwrap().text, "x");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_without_its_contents() {
        let large = TemporaryFile::new("large", "hunter2".repeat(10_000));
        let binary = TemporaryFile::new("binary", b"hunter2\xff");
        let empty = TemporaryFile::new("empty", "\n");
        for (path, expected) in [
            ("/no/such/file", "cannot be read: "),
            (large.path(), "is larger than 65536 bytes"),
            (binary.path(), "is not valid UTF-8"),
            (empty.path(), "is empty"),
        ] {
            let problem = found(&[("T_KEY_FILE", path)]).unwrap_err();
            let start = format!(
                "the environment variable `T_KEY_FILE` names the file `{path}`, which {expected}"
            );
            assert!(problem.starts_with(&start), "{problem}");
            assert!(!problem.contains("hunter2"), "{problem}");
        }
        assert_eq!(
            found(&[("T_KEY", "hunter2"), ("T_KEY_FILE", large.path())]).unwrap_err(),
            "the environment variables `T_KEY` and `T_KEY_FILE` are both set; remove one of them"
        );
    }
}
