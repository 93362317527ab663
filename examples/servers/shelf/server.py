"""A reading list: books with their state, tags, ratings and statistics, in a JSON file.

`SHELF_FILE` names the file; without it, the list is gone when the server ends. This is the server that `src/` is the port of.
"""

import csv
import io
import json
import os
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ResourceError, ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field, TypeAdapter

mcp = FastMCP(
    "shelf",
    version="0.1.0",
    instructions="Look for a book before you add it: it may be on the shelf already.",
)


class Status(str, Enum):
    """Progress with a book."""

    UNREAD = "unread"
    READING = "reading"
    FINISHED = "finished"


class Book(BaseModel):
    """A book on the shelf."""

    id: int
    title: str
    author: str
    pages: int
    tags: list[str]
    status: Status
    page: int
    rating: int | None
    review: str | None


class Imported(BaseModel):
    """The outcome of an import."""

    added: int
    skipped: list[str]


class Statistics(BaseModel):
    """Figures about the shelf."""

    books: int
    finished: int
    pages_read: int
    average_rating: float | None
    favourite_authors: list[str]


class Shelf:
    """The books, and the file that they are in."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.books: list[Book] = []
        if path and path.exists():
            self.books = TypeAdapter(list[Book]).validate_json(path.read_text())

    def save(self) -> None:
        if self.path:
            text = json.dumps([book.model_dump(mode="json") for book in self.books], indent=2)
            temporary = self.path.with_suffix(".new")
            temporary.write_text(text)
            temporary.replace(self.path)

    def add(self, title: str, author: str, pages: int, tags: list[str]) -> Book:
        if self.has(title, author):
            raise ToolError(f"`{title}` by {author} is on the shelf already")
        book = Book(
            id=max((book.id for book in self.books), default=0) + 1,
            title=title,
            author=author,
            pages=pages,
            tags=sorted(set(tags)),
            status=Status.UNREAD,
            page=0,
            rating=None,
            review=None,
        )
        self.books.append(book)
        return book

    def has(self, title: str, author: str) -> bool:
        key = (title.lower(), author.lower())
        return any((book.title.lower(), book.author.lower()) == key for book in self.books)

    def get(self, id: int) -> Book:
        for book in self.books:
            if book.id == id:
                return book
        raise ToolError(f"there is no book {id}; `find_books` finds those there are")

    def find(self, words: str, status: Status | None, tag: str | None) -> list[Book]:
        return [
            book
            for book in self.books
            if all(word in f"{book.title} {book.author}".lower() for word in words.lower().split())
            and status in (None, book.status)
            and (tag is None or tag in book.tags)
        ]


shelf = Shelf(Path(os.environ["SHELF_FILE"]) if "SHELF_FILE" in os.environ else None)

BookId = Annotated[int, Field(description="Number of the book", ge=1)]
SORTS = {
    "added": lambda book: book.id,
    "title": lambda book: (book.title.lower(), book.id),
    "author": lambda book: (book.author.lower(), book.id),
    "rating": lambda book: (-(book.rating or 0), book.id),
}


@mcp.tool
def add_book(
    title: Annotated[str, Field(description="Title of the book", min_length=1, max_length=200)],
    author: Annotated[str, Field(description="Author of the book", min_length=1, max_length=200)],
    pages: Annotated[int, Field(description="Number of pages", ge=1, le=20000)],
    tags: Annotated[list[str] | None, Field(description="Words to find it by")] = None,
) -> Book:
    """Puts a book on the shelf."""
    book = shelf.add(title, author, pages, tags or [])
    shelf.save()
    return book


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
def find_books(
    words: Annotated[str, Field(description="Words of title and author; none finds every book")] = "",
    status: Annotated[Status | None, Field(description="Only books with this status")] = None,
    tag: Annotated[str | None, Field(description="Only books with this tag")] = None,
    sort: Annotated[Literal["added", "title", "author", "rating"], Field(description="Order")] = "added",
    limit: Annotated[int, Field(description="Maximum number of books", ge=1, le=100)] = 20,
) -> list[Book]:
    """Finds books."""
    return sorted(shelf.find(words, status, tag), key=SORTS[sort])[:limit]


@mcp.tool
def read_to(
    id: BookId,
    page: Annotated[int, Field(description="The page that was reached", ge=1)],
) -> Book:
    """Records how far a book is read."""
    book = shelf.get(id)
    if page > book.pages:
        raise ToolError(f"`{book.title}` has {book.pages} pages")
    book.page = page
    book.status = Status.FINISHED if page == book.pages else Status.READING
    shelf.save()
    return book


@mcp.tool
def rate_book(
    id: BookId,
    rating: Annotated[int, Field(description="From 1, a waste of time, to 5", ge=1, le=5)],
    review: Annotated[str | None, Field(description="A few words about it", max_length=5000)] = None,
) -> Book:
    """Rates a book that is finished."""
    book = shelf.get(id)
    if book.status is not Status.FINISHED:
        raise ToolError(f"`{book.title}` is not finished; it is read to page {book.page} of {book.pages}")
    book.rating = rating
    book.review = review
    shelf.save()
    return book


@mcp.tool(annotations=ToolAnnotations(destructive_hint=True))
def remove_book(id: BookId) -> str:
    """Takes a book off the shelf."""
    book = shelf.get(id)
    shelf.books.remove(book)
    shelf.save()
    return f"`{book.title}` is gone"


@mcp.tool
async def import_books(
    text: Annotated[str, Field(description="Lines of CSV: title, author, pages")],
    ctx: Context,
) -> Imported:
    """Puts many books on the shelf. Lines that are not understood are skipped."""
    rows = list(csv.reader(io.StringIO(text)))
    outcome = Imported(added=0, skipped=[])
    for number, row in enumerate(rows, 1):
        await ctx.report_progress(number, len(rows))
        match [field.strip() for field in row]:
            case [title, author, pages] if title and author and pages.isdecimal() and int(pages) > 0:
                if shelf.has(title, author):
                    outcome.skipped.append(f"line {number}: on the shelf already")
                else:
                    shelf.add(title, author, int(pages), [])
                    outcome.added += 1
            case _:
                outcome.skipped.append(f"line {number}: expected title, author, pages")
    shelf.save()
    return outcome


@mcp.tool(annotations=ToolAnnotations(read_only_hint=True))
def statistics() -> Statistics:
    """Counts books, pages and ratings."""
    return figures()


def figures() -> Statistics:
    finished = [book for book in shelf.books if book.status is Status.FINISHED]
    ratings = [book.rating for book in finished if book.rating]
    authors = Counter(book.author for book in finished)
    favourites = sorted(authors, key=lambda author: (-authors[author], author))
    return Statistics(
        books=len(shelf.books),
        finished=len(finished),
        pages_read=sum(book.page for book in shelf.books),
        average_rating=sum(ratings) / len(ratings) if ratings else None,
        favourite_authors=favourites[:3],
    )


@mcp.resource("shelf://statistics", mime_type="application/json")
def statistics_resource() -> str:
    """Figures about the shelf."""
    return figures().model_dump_json()


@mcp.resource("shelf://books/{id}", mime_type="text/markdown")
def book_page(id: int) -> str:
    """One book, to read."""
    for book in shelf.books:
        if book.id == id:
            break
    else:
        raise ResourceError(f"there is no book {id}")
    lines = [f"# {book.title}", "", f"by {book.author}, {book.pages} pages, {book.status.value}"]
    if book.tags:
        lines += ["", ", ".join(f"#{tag}" for tag in book.tags)]
    if book.rating:
        lines += ["", "*" * book.rating]
    if book.review:
        lines += ["", book.review]
    return "\n".join(lines)


@mcp.prompt
def recommend(
    mood: Annotated[str, Field(description="Kind of book")],
    tag: Annotated[str | None, Field(description="Only like books with this tag")] = None,
) -> str:
    """Asks for the next book, by those that were liked."""
    liked = [book for book in shelf.find("", Status.FINISHED, tag) if (book.rating or 0) >= 4]
    titles = ", ".join(f"`{book.title}` by {book.author}" for book in liked) or "nothing yet"
    return f"I liked {titles}. What should I read next? Something {mood}, please."


@mcp.prompt
def discuss(id: Annotated[int, Field(description="Number of the book")]) -> str:
    """Starts a conversation about a book."""
    book = shelf.get(id)
    told = f"I have read {book.page} of its {book.pages} pages; tell me nothing of the rest."
    return f"Let us talk about `{book.title}` by {book.author}. {told}"


if __name__ == "__main__":
    mcp.run()
