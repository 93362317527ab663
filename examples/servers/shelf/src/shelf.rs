//! The books, and the file that they are in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fmt, fs, io};

use mcp_runtime::prelude::{data, expose};
use mcp_runtime::serde_json;

/// Progress with a book.
#[data]
#[derive(Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Unread,
    Reading,
    Finished,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unread => "unread",
            Self::Reading => "reading",
            Self::Finished => "finished",
        })
    }
}

/// A book on the shelf.
#[data]
#[derive(Clone)]
pub struct Book {
    pub id: u32,
    pub title: String,
    pub author: String,
    pub pages: u32,
    pub tags: Vec<String>,
    pub status: Status,
    pub page: u32,
    pub rating: Option<u8>,
    pub review: Option<String>,
}

/// Figures about the shelf.
#[data(output)]
pub struct Statistics {
    books: usize,
    finished: usize,
    pages_read: u64,
    average_rating: Option<f64>,
    favourite_authors: Vec<String>,
}

/// A mistake, in words for the model.
#[expose]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[expose]
    #[error("there is no book {0}; `find_books` finds those there are")]
    NoBook(u32),
    #[expose]
    #[error("`{0}` by {1} is on the shelf already")]
    Exists(String, String),
}

/// The state that all calls share.
pub struct Shelf(Mutex<Books>);

pub struct Books {
    path: Option<PathBuf>,
    books: Vec<Book>,
}

impl Shelf {
    pub fn open(path: Option<PathBuf>) -> io::Result<Self> {
        let books = match &path {
            Some(path) if path.exists() => serde_json::from_str(&fs::read_to_string(path)?)?,
            _ => Vec::new(),
        };
        Ok(Self(Mutex::new(Books { path, books })))
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    /// Replaces the file as a whole: a crash leaves the old one or the new one.
    pub fn save(&self) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let temporary = path.with_extension("new");
        fs::write(&temporary, serde_json::to_string_pretty(&self.books)?)?;
        fs::rename(temporary, path)
    }

    pub fn add(
        &mut self,
        title: String,
        author: String,
        pages: u32,
        mut tags: Vec<String>,
    ) -> Result<&Book, Error> {
        let key = |title: &str, author: &str| (title.to_lowercase(), author.to_lowercase());
        let new = key(&title, &author);
        if self
            .books
            .iter()
            .any(|book| key(&book.title, &book.author) == new)
        {
            return Err(Error::Exists(title, author));
        }
        tags.sort();
        tags.dedup();
        let id = self.books.iter().map(|book| book.id).max().unwrap_or(0) + 1;
        let (status, page, rating, review) = (Status::Unread, 0, None, None);
        Ok(self.books.push_mut(Book {
            id,
            title,
            author,
            pages,
            tags,
            status,
            page,
            rating,
            review,
        }))
    }

    pub fn get(&self, id: u32) -> Result<&Book, Error> {
        self.books
            .iter()
            .find(|book| book.id == id)
            .ok_or(Error::NoBook(id))
    }

    pub fn get_mut(&mut self, id: u32) -> Result<&mut Book, Error> {
        self.books
            .iter_mut()
            .find(|book| book.id == id)
            .ok_or(Error::NoBook(id))
    }

    pub fn remove(&mut self, id: u32) -> Result<Book, Error> {
        let position = self.books.iter().position(|book| book.id == id);
        position
            .map(|position| self.books.remove(position))
            .ok_or(Error::NoBook(id))
    }

    pub fn find(
        &self,
        words: &str,
        status: Option<Status>,
        tag: Option<&str>,
    ) -> impl Iterator<Item = &Book> {
        let words = words.to_lowercase();
        self.books.iter().filter(move |book| {
            let text = format!("{} {}", book.title, book.author).to_lowercase();
            words.split_whitespace().all(|word| text.contains(word))
                && status.is_none_or(|status| book.status == status)
                && tag.is_none_or(|tag| book.tags.iter().any(|one| one == tag))
        })
    }

    pub fn statistics(&self) -> Statistics {
        let finished: Vec<_> = self.find("", Some(Status::Finished), None).collect();
        let ratings: Vec<_> = finished
            .iter()
            .filter_map(|book| book.rating)
            .map(f64::from)
            .collect();
        let mut authors = BTreeMap::<_, usize>::new();
        for book in &finished {
            *authors.entry(&book.author).or_default() += 1;
        }
        let mut favourites: Vec<_> = authors.into_iter().collect();
        favourites.sort_by_key(|&(_, books)| std::cmp::Reverse(books));
        #[expect(clippy::cast_precision_loss, reason = "nobody has that many books")]
        let average = ratings.iter().sum::<f64>() / ratings.len() as f64;
        Statistics {
            books: self.books.len(),
            finished: finished.len(),
            pages_read: self.books.iter().map(|book| u64::from(book.page)).sum(),
            average_rating: (!ratings.is_empty()).then_some(average),
            favourite_authors: favourites
                .into_iter()
                .take(3)
                .map(|(author, _)| author.clone())
                .collect(),
        }
    }
}
