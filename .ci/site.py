"""Prepares the guide for mdBook, and checks the links of the result: see .ci/site."""

import html.parser
import pathlib
import re
import subprocess
import sys
import urllib.parse

import stage

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


REPOSITORY = stage.address()


def parts(text):
    """Splits Markdown into prose and code blocks, in turns."""
    return re.split(r"(^[ \t]*```.*?^[ \t]*```[^\n]*$)", text, flags=re.M | re.S)


def outside_code(text, change):
    return "".join(part if at % 2 else change(part) for at, part in enumerate(parts(text)))


def absolute(prose):
    """Turns links to files outside of the guide into URLs of the repository, or into plain text while it has none."""

    def change(found):
        target = found[2]
        if "://" in target or target.startswith("#"):
            return found[0]
        if target.split("#")[0] == "README.md":
            return f"[{found[1]}](" + target.replace("README.md", "index.md") + ")"
        file = (DOCS / target.split("#")[0]).resolve()
        if file.parent == DOCS and file.suffix == ".md" and file.name != "requirements.md":
            return found[0]
        if file.is_relative_to(DOCS / "images"):
            return found[0]
        fragment = "".join(target.partition("#")[1:])
        if not REPOSITORY:
            return found[1]
        return f"[{found[1]}]({REPOSITORY}/blob/main/{file.relative_to(ROOT)}{fragment})"

    return re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)", change, prose)


def summary():
    """The contents of the site: the pages that docs/README.md links to, under its headings, in its order."""
    lines, seen = ["# Summary", "", "[Contents](index.md)"], {"README.md", "requirements.md"}
    contents = (DOCS / "README.md").read_text()
    for line in contents[contents.index("\n## ") :].splitlines():
        if line.startswith("## "):
            lines += ["", "# " + line[3:], ""]
        for title, page in re.findall(r"\[([^\]]+)\]\(([\w-]+\.md)\)", line):
            if page not in seen:
                seen.add(page)
                lines.append(f"- [{title_of(page)}]({page})")
    # Headings without pages are left out.
    text = "\n".join(lines) + "\n"
    return re.sub(r"\n# [^\n]+\n+(?=\n# |\Z)", "\n", text)


def title_of(page):
    return (DOCS / page).read_text().splitlines()[0].removeprefix("# ")


def first_sentence(page):
    prose = parts((DOCS / page).read_text())[0].split("\n\n")[1]
    prose = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[.:]) (?=[A-Z`])", prose)[0].rstrip(".:")


def without_hidden_lines(text):
    def change(block):
        return re.sub(r"^# .*\n|^#\n", "", block, flags=re.M) if block.lstrip().startswith("```rust") else block

    return "".join(change(part) if at % 2 else absolute(part) for at, part in enumerate(parts(text)))


def write(book):
    source = book / "src"
    source.mkdir(parents=True)
    pages = sorted(path.name for path in DOCS.glob("*.md") if path.name != "requirements.md")
    for page in pages:
        (source / page.replace("README", "index")).write_text(outside_code((DOCS / page).read_text(), absolute))
    subprocess.run(["cp", "-r", DOCS / "images", source / "images"], check=True)
    (source / "SUMMARY.md").write_text(summary())
    listed = re.findall(r"\]\(([\w-]+\.md)\)", summary())
    missing = set(pages) - {"README.md", *listed}
    if missing:
        sys.exit(f"docs/README.md has no link to {sorted(missing)}")
    home = f'git-repository-url = "{REPOSITORY}"\n' if REPOSITORY else ""
    (book / "book.toml").write_text(
        f"""[book]
title = "mcp-runtime"
description = "Write servers for the Model Context Protocol as plain Rust functions"
language = "en"
[output.html]
{home}[output.html.playground]
runnable = false
[output.html.search]
limit-results = 20
"""
    )
    about = "Write servers for the Model Context Protocol as plain Rust functions."
    listing = [f"- [{title_of(page)}]({page}): {first_sentence(page)}" for page in listed[1:]]
    (book / "llms.txt").write_text(
        f"# mcp-runtime\n\n> {about}\n\nThe whole guide in one file: [llms-full.txt](llms-full.txt)\n\n## Guide\n\n" + "\n".join(listing) + "\n"
    )
    # Models read the pages as Markdown, so the site has them in this form, too.
    markdown = book / "markdown"
    markdown.mkdir()
    for page in listed:
        (markdown / page).write_text(without_hidden_lines((DOCS / page.replace("index", "README")).read_text()))
    (book / "llms-full.txt").write_text("\n\n".join((markdown / page).read_text() for page in listed))


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(filter(None, [attributes.get("id"), attributes.get("name")]))
        link = attributes.get("href" if tag in ("a", "link") else "src")
        if link:
            self.links.append(link)


def check(folder):
    """Checks the links of all pages in a folder: each leads to a file in it, and to an element there."""
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html")}
    broken, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc or path.name in ("print.html", "404.html", "toc.html"):
                continue
            count += 1
            file = (path.parent / urllib.parse.unquote(target.path)).resolve() if target.path else path
            file = file / "index.html" if file.is_dir() else file
            fragment = urllib.parse.unquote(target.fragment)
            if not file.exists():
                broken.append(f"{path.relative_to(folder)}: {link}: there is no such file")
            elif fragment and file in pages and fragment not in pages[file].ids:
                broken.append(f"{path.relative_to(folder)}: {link}: there is no such heading")
    print("\n".join(broken))
    print(f"{count - len(broken)} passed, {len(broken)} failed")
    sys.exit(bool(broken))


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())
