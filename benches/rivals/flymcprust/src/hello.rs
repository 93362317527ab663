use flymcprust::prelude::*;

/// Greets a user.
#[tool]
fn hello(name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("hello", "1.0.0").tool::<hello>().build()?;
    match std::env::args().nth(1).as_deref() {
        Some("--http") => server.serve_http("127.0.0.1:8000").await?,
        _ => server.serve_stdio().await?,
    }
    Ok(())
}
