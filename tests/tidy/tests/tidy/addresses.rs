//! Checks that no file names an address of the project, which has no home on the web yet: whatever stands at such an
//! address belongs to others, and readers would follow it.
//!
//! Links to the project's own files are relative. When it has a home, `.ci/release` writes it into the packages.

use crate::sources::{files, root};

/// Sites on which anybody may take a name. Every address there must begin with a line of `tests/tidy/addresses.txt`, in all
/// files.
const FORGES: [&str; 9] = [
    "bitbucket.org",
    "codeberg.org",
    "crates.io",
    "docs.rs",
    "github.com",
    "github.io",
    "githubusercontent.com",
    "gitlab.com",
    "lib.rs",
];

/// The endings of names that are reserved for documentation and tests (RFC 2606, RFC 6761).
const RESERVED: [&str; 7] = [
    "example",
    "example.com",
    "example.net",
    "example.org",
    "invalid",
    "localhost",
    "test",
];

/// Returns the addresses of others that files may name.
fn known() -> Vec<String> {
    std::fs::read_to_string(root().join("tests/tidy/addresses.txt"))
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// Returns the addresses in a text without their schemes. A namespace such as `io.github.NAME`, which registries give to
/// whoever has that name, counts as `github.com/NAME`.
fn addresses(text: &str) -> Vec<String> {
    let end = |rest: &str| {
        rest.find(|letter: char| letter.is_whitespace() || "\"'`<>()[]{}|\\,;*$".contains(letter))
            .unwrap_or(rest.len())
    };
    let mut found = Vec::new();
    for scheme in ["https://", "http://"] {
        for (at, _) in text.match_indices(scheme) {
            let rest = &text[at + scheme.len()..];
            let address = rest[..end(rest)].trim_end_matches(['.', ':', '/']);
            found.push(address.to_owned());
        }
    }
    for (at, namespace) in text.match_indices("io.github.") {
        let rest = &text[at + namespace.len()..];
        let name = rest[..end(rest)]
            .split(['/', '.'])
            .next()
            .unwrap_or_default();
        found.push(
            format!("github.com/{name}")
                .trim_end_matches('/')
                .to_owned(),
        );
    }
    found
}

fn host(address: &str) -> &str {
    address
        .split(['/', ':', '?', '#'])
        .next()
        .unwrap_or_default()
}

fn is_at(host: &str, site: &str) -> bool {
    host.strip_suffix(site)
        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Returns `true` if no list has to name the address: nobody can have it, or it is a site as a whole.
fn is_nobodys(address: &str) -> bool {
    let host = host(address);
    // Hosts in a command's usage, such as `TENANT.example.com`, are placeholders.
    !host.contains('.')
        || FORGES.contains(&address)
        || host.contains(|letter: char| letter.is_uppercase())
        || host.parse::<std::net::IpAddr>().is_ok()
        || RESERVED.iter().any(|site| is_at(host, site))
}

/// Returns the addresses that are not known. Files that users read may not name any other site either.
fn unknown(known: &[String], text: &str, is_for_users: bool) -> Vec<String> {
    let mut unknown = addresses(text);
    unknown.retain(|address| {
        let is_relevant = is_for_users || FORGES.iter().any(|forge| is_at(host(address), forge));
        is_relevant
            && !is_nobodys(address)
            && !known.iter().any(|known| {
                address
                    .strip_prefix(known.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '#', '?', ':']))
            })
    });
    unknown
}

/// Returns the folders and files of the root, and those folders of `tests/` whose files are text.
fn roots() -> Vec<String> {
    let mut roots: Vec<String> = [
        "tests/fixtures",
        "tests/src",
        "tests/tests",
        "tests/tidy/tests",
    ]
    .map(str::to_owned)
    .to_vec();
    for entry in std::fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !matches!(&*name, ".git" | "fuzz" | "target" | "tests") {
            roots.push(name);
        }
    }
    roots
}

#[test]
fn published_files_contain_only_known_urls() {
    let roots = roots();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    let known = known();
    let mut found = Vec::new();
    for extension in [
        "md", "rs", "toml", "yml", "yaml", "py", "html", "js", "mjs", "ts", "json", "service",
    ] {
        for file in files(&roots, extension) {
            if !file.path.ends_with(&format!(".{extension}")) {
                continue;
            }
            // The runtime's folder has a link to the guide.
            if file.path.starts_with("mcp-runtime/docs/")
                || file.path.ends_with("tidy/addresses.rs")
                || file.path.ends_with("package-lock.json")
            {
                continue;
            }
            let is_for_users =
                matches!(extension, "md" | "toml") || file.path.starts_with("template/");
            for address in unknown(&known, &file.text, is_for_users) {
                found.push(format!("{}: {address}", file.path));
            }
        }
    }
    assert!(
        found.is_empty(),
        "make links to our own files relative, and add addresses of others to tests/tidy/addresses.txt:\n{}",
        found.join("\n")
    );
}

#[test]
fn urls_of_the_project_are_found() {
    let known = ["github.com/rust-lang".to_owned(), "www.w3.org".to_owned()];
    let text = "[a](https://github.com/mcp-runtime/mcp-runtime/blob/main/a.md) <https://docs.rs/mcp-runtime> \
                https://github.com/rust-lang/rust/issues/1, https://github.com/rust-lang-other `io.github.mcp-runtime/key` \
                https://example.com/x http://127.0.0.1:80/mcp https://www.w3.org/TR https://home.page.dev/x";
    let ours = [
        "github.com/mcp-runtime/mcp-runtime/blob/main/a.md",
        "docs.rs/mcp-runtime",
        "github.com/rust-lang-other",
    ];
    let sorted = |mut addresses: Vec<String>| {
        addresses.sort();
        addresses
    };
    let mut expected: Vec<String> = ours.iter().map(|address| (*address).to_owned()).collect();
    expected.push("github.com/mcp-runtime".to_owned());
    assert_eq!(
        sorted(unknown(&known, text, false)),
        sorted(expected.clone())
    );
    expected.push("home.page.dev/x".to_owned());
    assert_eq!(sorted(unknown(&known, text, true)), sorted(expected));
}
