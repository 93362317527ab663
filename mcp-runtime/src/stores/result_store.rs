//! The trait for stores of results that are too large to be sent in one piece.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::context::StoreFuture;
use crate::random::RandomId;

/// The id of a kept result: 192 random bits, as 32 characters of URL-safe base64. It is never reused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResultId(RandomId);

impl ResultId {
    /// Creates an id from bytes of the operating system's random number generator.
    #[must_use]
    pub fn random() -> Self {
        Self(RandomId::new())
    }

    /// Parses an id. Returns `None` if the text is not a valid id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        RandomId::parse(text).map(Self)
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for ResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Shows only the first characters, because any anonymous caller who knows the id of an anonymous caller's result can
/// read the result.
impl fmt::Debug for ResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResultId({:?})", self.0)
    }
}

/// A result that is kept for its caller. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptResult {
    /// The id.
    pub id: ResultId,
    /// The key of the caller who owns the result ([`Caller::key`](crate::Caller::key)).
    pub owner: Arc<str>,
    /// A short description of the result, as text that is opaque to stores.
    pub about: Arc<str>,
    /// The result: JSON or plain text.
    pub text: Arc<str>,
}

impl KeptResult {
    /// Creates a result with a new id.
    #[must_use]
    pub fn new(
        owner: impl Into<Arc<str>>,
        about: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        Self::stored(ResultId::random(), owner, about, text)
    }

    /// Creates a result as read from a store.
    #[must_use]
    pub fn stored(
        id: ResultId,
        owner: impl Into<Arc<str>>,
        about: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            id,
            owner: owner.into(),
            about: about.into(),
            text: text.into(),
        }
    }

    /// Returns the size in bytes, for stores that limit it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.owner.len() + self.about.len() + self.text.len()
    }
}

impl fmt::Debug for KeptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptResult")
            .field("id", &self.id)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// A store for results that are too large to send in one piece, for
/// [`Backend::results`](crate::backend::Backend::results).
///
/// **Open**: implement it on a database that all instances of a server share, so that a result can be read through any
/// of them. [`Backend::check`](crate::backend::Backend::check) (feature `testing`) tests whether an implementation
/// follows the rules:
///
/// - A result can be found from the time it is kept until its time to live expires, and never after that.
/// - A result never changes.
/// - A store that is full refuses further results rather than dropping others, so that no caller can displace
///   another caller's results.
///
/// An error means that the store is not working, for example because it cannot be reached. The error is logged, and the
/// result is not kept. Each method must be safe to drop at any `await`.
pub trait ResultStore: Send + Sync + 'static {
    /// Keeps a result for this duration. Returns `false` if there is no room for it.
    fn keep(&self, result: KeptResult, ttl: Duration) -> StoreFuture<'_, bool>;

    /// Returns the result with this id, unless it does not exist or its time to live has ended.
    fn load<'a>(&'a self, id: &'a ResultId) -> StoreFuture<'a, Option<KeptResult>>;

    /// Deletes all results of a caller. Returns the number of deleted results.
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize>;
}
