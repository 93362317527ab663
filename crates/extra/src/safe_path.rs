//! A relative path that cannot leave its directory.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use mcp_core::handler::handler_error::{ExposedError, exposed_text};
use mcp_schema::template::write_percent_encoded;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A relative path that is chosen by a client but cannot point outside its directory.
///
/// Use it as the type of an argument or template variable wherever a client chooses a file. Parts are separated by `/`.
/// Empty paths, absolute paths, drive letters, backslashes, control characters, percent-encoded dots and separators,
/// empty parts, and the parts `.` and `..` are rejected. Symbolic links can be checked only on disk; use
/// [`join_to`](Self::join_to) for that.
///
/// ```
/// use mcp_runtime::prelude::*;
///
/// /// The directory of the files.
/// struct Root(std::path::PathBuf);
///
/// #[resource_template("files:///{+path}")]
/// fn file(root: State<Root>, path: SafePath) -> Result<Option<String>> {
///     Ok(std::fs::read_to_string(path.join_to(&root.0)?).ok())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SafePath(String);

/// The reason why a string is not a [`SafePath`], or why a path cannot be used in a directory. If a handler fails with it,
/// the model reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsafePath(&'static str);

impl fmt::Display for UnsafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for UnsafePath {}

inventory::submit! {
    ExposedError(|error| exposed_text::<UnsafePath>(error, |_| true))
}

impl SafePath {
    /// Validates a path.
    ///
    /// # Errors
    ///
    /// Returns the reason if the path is rejected.
    pub fn new(path: impl Into<String>) -> Result<Self, UnsafePath> {
        let path = path.into();
        match fault(&path) {
            Some(fault) => Err(UnsafePath(fault)),
            None => Ok(Self(path)),
        }
    }

    /// Returns the path, whose parts are separated by `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path as a [`Path`].
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Returns the path percent-encoded for a URI, so that `{+path}` in a template matches it and yields this path.
    ///
    /// ```
    /// # use mcp_runtime::SafePath;
    /// let path = SafePath::new("notes/100% sure.txt")?;
    /// assert_eq!(path.to_percent_encoded(), "notes/100%25%20sure.txt");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_percent_encoded(&self) -> String {
        let mut encoded = String::with_capacity(self.0.len());
        for (index, part) in self.0.split('/').enumerate() {
            if index > 0 {
                encoded.push('/');
            }
            write_percent_encoded(part, false, &mut encoded);
        }
        encoded
    }

    /// Joins the path to a directory, resolves all symbolic links, and checks that the result is still in that
    /// directory.
    ///
    /// The path may point to a file that does not exist yet, so that it can be used to create the file. All existing
    /// directories on the path are checked. A process that changes the directory between this check and the use of the
    /// path can still redirect the path.
    ///
    /// # Errors
    ///
    /// Returns an error if `root` cannot be resolved, or [`io::ErrorKind::PermissionDenied`] if the path leads out of
    /// `root`. If a handler returns the latter with `?`, the model reads the reason; other errors are only logged.
    pub fn join_to(&self, root: impl AsRef<Path>) -> io::Result<PathBuf> {
        let root = root.as_ref().canonicalize()?;
        let mut resolved = root.clone();
        let mut parts = self.0.split('/');
        for part in parts.by_ref() {
            resolved.push(part);
            match resolved.symlink_metadata() {
                Ok(_) => {
                    resolved = resolved.canonicalize()?;
                    if !resolved.starts_with(&root) {
                        let fault = UnsafePath("the path leads out of its directory");
                        return Err(io::Error::new(io::ErrorKind::PermissionDenied, fault));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        // A directory that does not exist cannot contain links.
        resolved.extend(parts);
        Ok(resolved)
    }
}

fn fault(path: &str) -> Option<&'static str> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        return Some("the path is empty; name a file below the directory");
    }
    if path.contains('\0') || path.chars().any(char::is_control) {
        return Some("the path contains a control character");
    }
    if path.contains('\\') {
        return Some("the path contains a backslash; separate its parts with `/`");
    }
    if path.starts_with('/') {
        return Some("the path is absolute; make it relative to the directory");
    }
    if bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':')
        || (cfg!(windows) && path.contains(':'))
    {
        return Some("the path names a drive; make it relative to the directory");
    }
    let lower = path.to_ascii_lowercase();
    if ["%2e", "%2f", "%5c", "%00"]
        .iter()
        .any(|escape| lower.contains(escape))
    {
        return Some("the path contains an encoded dot or separator; write it unencoded");
    }
    for part in path.split('/') {
        match part {
            "" => return Some("the path has an empty part; separate its parts with one `/`"),
            "." => return Some("the path has a part `.`; remove it"),
            ".." => return Some("the path has a part `..`, which would leave the directory"),
            _ if cfg!(windows) && part.ends_with(['.', ' ']) => {
                return Some("a part of the path ends with a dot or a space");
            }
            _ => {}
        }
    }
    None
}

impl FromStr for SafePath {
    type Err = UnsafePath;

    fn from_str(path: &str) -> Result<Self, UnsafePath> {
        Self::new(path)
    }
}

impl AsRef<Path> for SafePath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl fmt::Display for SafePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SafePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// This fails while the string is being read so that the error includes its position.
        struct PathVisitor;

        impl Visitor<'_> for PathVisitor {
            type Value = SafePath;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a relative path")
            }

            fn visit_str<E: Error>(self, path: &str) -> Result<SafePath, E> {
                SafePath::new(path).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(PathVisitor)
    }
}

impl JsonSchema for SafePath {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SafePath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A relative path whose parts are separated by `/`, without `..`",
            "minLength": 1
        })
    }
}

#[cfg(test)]
mod tests {
    use mcp_core::handler::handler_error::HandlerError;

    use super::*;

    #[test]
    fn paths_that_leave_the_directory_are_refused() {
        for path in [
            "",
            "/etc/passwd",
            "..",
            "../a",
            "a/../b",
            "a/..",
            ".",
            "./a",
            "a//b",
            "a/",
            "C:/a",
            "c:a",
            "a\\b",
            "\\\\host\\a",
            "a\0b",
            "a\nb",
            "%2e%2e/a",
            "a%2Fb",
            "a%5cb",
            "a%00",
        ] {
            assert!(SafePath::new(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn ordinary_paths_are_taken() {
        for path in [
            "a", "a/b.txt", ".hidden", "...", "a b/ü", "100%", "a..b", "10:30",
        ] {
            assert_eq!(SafePath::new(path).unwrap().as_str(), path);
        }
    }

    #[test]
    fn the_error_of_an_unsafe_path_names_the_invalid_part() {
        let error = serde_json::from_str::<SafePath>(r#""../a""#).unwrap_err();
        assert!(error.to_string().starts_with("the path has a part `..`"));
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_do_not_lead_out() {
        let root = std::env::temp_dir().join(format!("mcp-safe-path-{}", std::process::id()));
        std::fs::create_dir_all(root.join("in/deep")).unwrap();
        std::fs::write(root.join("in/deep/file"), "").unwrap();
        std::os::unix::fs::symlink("/", root.join("in/out")).unwrap();
        std::os::unix::fs::symlink("deep", root.join("in/alias")).unwrap();
        let join = |path: &str| SafePath::new(path).unwrap().join_to(root.join("in"));
        let inside = root.join("in").canonicalize().unwrap();
        assert_eq!(join("deep/file").unwrap(), inside.join("deep/file"));
        assert_eq!(join("alias/file").unwrap(), inside.join("deep/file"));
        assert_eq!(join("new/file").unwrap(), inside.join("new/file"));
        for path in ["out", "out/etc", "out/etc/passwd", "out/no such thing"] {
            assert_eq!(
                join(path).unwrap_err().kind(),
                io::ErrorKind::PermissionDenied,
                "{path}"
            );
        }
        let refused = HandlerError::from(join("out/etc").unwrap_err());
        assert_eq!(
            format!("{refused:?}"),
            r#"Exposed("the path leads out of its directory")"#
        );
        let missing = std::fs::read(join("new/file").unwrap()).unwrap_err();
        let hidden = format!("{:?}", HandlerError::from(missing));
        assert!(hidden.starts_with("Opaque"), "{hidden}");
        std::fs::remove_dir_all(root).unwrap();
    }
}
