use neva::prelude::*;

#[tool(descr = "Greets a user.")]
fn hello(name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let is_http = std::env::args().nth(1).as_deref() == Some("--http");
    let app = App::new().with_options(|server| match is_http {
        true => server.with_http(|http| http.bind("127.0.0.1:8000")),
        false => server.with_stdio(),
    });
    app.run().await;
}
