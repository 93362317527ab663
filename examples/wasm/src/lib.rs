//! Tools that run inside a WebAssembly module, and the server that has them. Nothing here knows about WebAssembly: `module.rs` is
//! the only file that does.

#[cfg(target_family = "wasm")]
mod module;

use mcp_runtime::prelude::*;
use mcp_runtime::server::BuiltServer;

/// Counts the words and characters of a text.
#[tool]
fn count(text: &str) -> Json<Counts> {
    Json(Counts {
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
    })
}

#[data]
struct Counts {
    words: usize,
    characters: usize,
}

/// Writes a number in Roman numerals.
#[tool]
fn roman(number: u16) -> Result<String> {
    const NUMERALS: [(u16, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..=3_999).contains(&number) {
        bail!("Roman numerals go from 1 to 3999, so there is none for {number}");
    }
    let mut left = number;
    let mut written = String::new();
    for (value, numeral) in NUMERALS {
        while left >= value {
            written += numeral;
            left -= value;
        }
    }
    Ok(written)
}

/// Writes an invitation. Asks the user who should get it.
#[tool]
async fn invite(ctx: Context, event: String) -> Result<String> {
    #[derive(Elicit)]
    struct Guest {
        name: String,
    }
    let Guest { name } = ctx.elicit("Who is invited?").await?;
    Ok(format!("Dear {name}, please come to {event}!"))
}

/// Never answers, to show that calls have a time limit here, too.
#[tool(timeout = "200ms")]
async fn ponder() -> &'static str {
    std::future::pending().await
}

/// Builds the server.
///
/// # Errors
///
/// Fails if a definition or setting is wrong.
pub fn server() -> Result<BuiltServer, mcp_runtime::Error> {
    mcp_runtime::new_server!().build()
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn the_tools_work_on_this_machine_too() {
        let server = server().unwrap();
        let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"roman","arguments":{"number":2026}}}"#;
        let answer = futures_executor::block_on(server.handle(call)).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains("MMXXVI"), "{answer}");
    }
}
