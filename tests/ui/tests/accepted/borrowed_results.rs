//! Results that borrow from the arguments, or from the value that the method is called on.

use mcp_runtime::prelude::*;

#[tool]
fn shorter<'a>(a: &'a str, b: &'a str) -> &'a str {
    if a.len() < b.len() { a } else { b }
}

#[tool]
async fn first(words: &[String]) -> Option<&str> {
    words.first().map(String::as_str)
}

#[tool(blocking)]
fn last(words: &[String]) -> Result<&str> {
    words.last().map(String::as_str).ok_or("no words").expose()
}

struct Notes {
    title: String,
}

#[server]
impl Notes {
    #[tool]
    fn title(&self) -> &str {
        &self.title
    }

    #[tool]
    async fn title_later(&self) -> Result<&str> {
        Ok(&self.title)
    }

    #[prompt]
    async fn review<'a>(&'a self, code: &'a str) -> &'a str {
        let _ = code;
        &self.title
    }
}
