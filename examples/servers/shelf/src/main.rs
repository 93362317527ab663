//! A reading list: books with their state, tags, ratings and statistics, in a JSON file.
//!
//! `SHELF_FILE` names the file; without it, the list is gone when the server ends. This is the port of `server.py`, in
//! the same order.

mod shelf;

use std::path::PathBuf;

use mcp_runtime::prelude::*;

use crate::shelf::{Book, Shelf, Statistics, Status};

/// The outcome of an import.
#[data(output)]
struct Imported {
    added: u32,
    skipped: Vec<String>,
}

/// The order of books.
#[data(input)]
#[serde(rename_all = "lowercase")]
enum Sort {
    Added,
    Title,
    Author,
    Rating,
}

/// Puts a book on the shelf.
#[tool]
fn add_book(
    shelf: &State<Shelf>,
    /// Title of the book
    #[arg(length(1..=200))]
    title: String,
    /// Author of the book
    #[arg(length(1..=200))]
    author: String,
    /// Number of pages
    #[arg(range(1..=20_000))]
    pages: u32,
    /// Words to find it by
    tags: Option<Vec<String>>,
) -> Result<Json<Book>> {
    let mut books = shelf.books();
    let book = books
        .add(title, author, pages, tags.unwrap_or_default())?
        .clone();
    books.save()?;
    Ok(Json(book))
}

/// Finds books.
#[tool(read_only)]
fn find_books(
    shelf: &State<Shelf>,
    /// Words of title and author; none finds every book
    #[arg(default = "")]
    words: &str,
    /// Only books with this status
    status: Option<Status>,
    /// Only books with this tag
    tag: Option<String>,
    /// Order
    #[arg(default = "added")]
    sort: Sort,
    /// Maximum number of books
    #[arg(range(1..=100), default = 20)]
    limit: usize,
) -> Json<Vec<Book>> {
    let mut found: Vec<_> = shelf
        .books()
        .find(words, status, tag.as_deref())
        .cloned()
        .collect();
    match sort {
        Sort::Added => {}
        Sort::Title => found.sort_by_key(|book| book.title.to_lowercase()),
        Sort::Author => found.sort_by_key(|book| book.author.to_lowercase()),
        Sort::Rating => found.sort_by_key(|book| std::cmp::Reverse(book.rating)),
    }
    found.truncate(limit);
    Json(found)
}

/// Records how far a book is read.
#[tool]
fn read_to(
    shelf: &State<Shelf>,
    /// Number of the book
    #[arg(range(1..))]
    id: u32,
    /// The page that was reached
    #[arg(range(1..))]
    page: u32,
) -> Result<Json<Book>> {
    let mut books = shelf.books();
    let book = books.get_mut(id)?;
    if page > book.pages {
        bail!("`{}` has {} pages", book.title, book.pages);
    }
    book.page = page;
    book.status = if page == book.pages {
        Status::Finished
    } else {
        Status::Reading
    };
    let book = book.clone();
    books.save()?;
    Ok(Json(book))
}

/// Rates a book that is finished.
#[tool]
fn rate_book(
    shelf: &State<Shelf>,
    /// Number of the book
    #[arg(range(1..))]
    id: u32,
    /// From 1, a waste of time, to 5
    #[arg(range(1..=5))]
    rating: u8,
    /// A few words about it
    #[arg(length(..=5000))]
    review: Option<String>,
) -> Result<Json<Book>> {
    let mut books = shelf.books();
    let book = books.get_mut(id)?;
    if book.status != Status::Finished {
        bail!(
            "`{}` is not finished; it is read to page {} of {}",
            book.title,
            book.page,
            book.pages
        );
    }
    book.rating = Some(rating);
    book.review = review;
    let book = book.clone();
    books.save()?;
    Ok(Json(book))
}

/// Takes a book off the shelf.
#[tool(destructive)]
fn remove_book(
    shelf: &State<Shelf>,
    /// Number of the book
    #[arg(range(1..))]
    id: u32,
) -> Result<String> {
    let mut books = shelf.books();
    let book = books.remove(id)?;
    books.save()?;
    Ok(format!("`{}` is gone", book.title))
}

/// Puts many books on the shelf. Lines that are not understood are skipped.
#[tool]
fn import_books(
    ctx: &Context,
    shelf: &State<Shelf>,
    /// Lines of CSV: title, author, pages
    text: &str,
) -> Result<Json<Imported>> {
    let rows = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes())
        .into_records()
        .collect::<Result<Vec<_>, _>>()
        .expose()?;
    let mut books = shelf.books();
    let (mut added, mut skipped) = (0, Vec::new());
    for (number, row) in (1..).zip(&rows) {
        ctx.progress((number, rows.len()));
        let fields: Vec<_> = row.iter().collect();
        match fields[..] {
            [title, author, pages] if !title.is_empty() && !author.is_empty() => {
                match pages.parse() {
                    Ok(pages @ 1..) => {
                        match books.add(title.to_owned(), author.to_owned(), pages, Vec::new()) {
                            Ok(_) => added += 1,
                            Err(_) => skipped.push(format!("line {number}: on the shelf already")),
                        }
                    }
                    _ => skipped.push(format!("line {number}: expected title, author, pages")),
                }
            }
            _ => skipped.push(format!("line {number}: expected title, author, pages")),
        }
    }
    books.save()?;
    Ok(Json(Imported { added, skipped }))
}

/// Counts books, pages and ratings.
#[tool(read_only)]
fn statistics(shelf: &State<Shelf>) -> Json<Statistics> {
    Json(shelf.books().statistics())
}

/// Figures about the shelf.
#[resource("shelf://statistics", mime_type = "application/json")]
fn statistics_resource(shelf: &State<Shelf>) -> Json<Statistics> {
    Json(shelf.books().statistics())
}

/// One book, to read.
#[resource_template("shelf://books/{id}", mime_type = "text/markdown")]
fn book_page(shelf: &State<Shelf>, id: u32) -> Result<String> {
    let books = shelf.books();
    let Ok(book) = books.get(id) else {
        return Err(HandlerError::no_resource(format!("there is no book {id}")));
    };
    let tags: Vec<_> = book.tags.iter().map(|tag| format!("#{tag}")).collect();
    let stars = "*".repeat(book.rating.unwrap_or_default().into());
    let head = format!("# {}", book.title);
    let facts = format!("by {}, {} pages, {}", book.author, book.pages, book.status);
    let parts = [
        head,
        facts,
        tags.join(", "),
        stars,
        book.review.clone().unwrap_or_default(),
    ];
    Ok(parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n"))
}

/// Asks for the next book, by those that were liked.
#[prompt]
fn recommend(
    shelf: &State<Shelf>,
    /// Kind of book
    mood: &str,
    /// Only like books with this tag
    tag: Option<String>,
) -> String {
    let books = shelf.books();
    let liked: Vec<_> = books
        .find("", Some(Status::Finished), tag.as_deref())
        .filter(|book| book.rating >= Some(4))
        .map(|book| format!("`{}` by {}", book.title, book.author))
        .collect();
    let titles = if liked.is_empty() {
        "nothing yet".to_owned()
    } else {
        liked.join(", ")
    };
    format!("I liked {titles}. What should I read next? Something {mood}, please.")
}

/// Starts a conversation about a book.
#[prompt]
fn discuss(
    shelf: &State<Shelf>,
    /// Number of the book
    id: u32,
) -> Result<String> {
    let books = shelf.books();
    let Book {
        title,
        author,
        page,
        pages,
        ..
    } = books.get(id)?;
    let told = format!("I have read {page} of its {pages} pages; tell me nothing of the rest.");
    Ok(format!("Let us talk about `{title}` by {author}. {told}"))
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::var_os("SHELF_FILE").map(PathBuf::from);
    new_server!()
        .instructions("Look for a book before you add it: it may be on the shelf already.")
        .state(Shelf::open(file)?)
        .run()
        .await?;
    Ok(())
}
