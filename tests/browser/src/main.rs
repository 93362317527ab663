//! Opens apps in a headless browser, in a small host that speaks the protocol of MCP Apps: `host.html`, and between it
//! and the page `sandbox.html`.
//!
//! `browser DIRECTORY DRIVER [IMAGE]`: the directory of the servers' programs, the URL of a WebDriver, and a file for a
//! image of the example.

mod server;
mod web;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use server::{Era, McpServer};
use web::Web;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().context("DIRECTORY")?;
    let driver = arguments.next().context("DRIVER")?;
    let image = arguments.next();

    let mut web = Web::default();
    for (era, date) in [(Era::Modern, "modern"), (Era::Legacy, "legacy")] {
        for name in ["chart", "probe"] {
            let started = McpServer::start(&format!("{directory}/{name}"), era).await?;
            web.servers.insert(format!("{name}-{date}"), started);
        }
    }
    let web = Arc::new(web);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(web::serve(listener, Arc::clone(&web)));

    let options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--window-size=720,560",
    ];
    let capabilities = json!({"goog:chromeOptions": {"args": options}});
    let mut builder = ClientBuilder::new(HttpConnector::new());
    if let Value::Object(capabilities) = capabilities {
        builder.capabilities(capabilities);
    }
    let browser = builder.connect(&driver).await?;

    let (mut passed, mut failed) = (0, 0);
    for era in ["modern", "legacy"] {
        let tests = [
            (
                "shows a result, and calls a tool",
                chart(&browser, port, era, image.as_deref()).await,
            ),
            (
                "is refused what its policy does not allow",
                probe(&browser, port, era, &web).await,
            ),
        ];
        for (name, outcome) in tests {
            match outcome {
                Ok(()) => passed += 1,
                Err(error) => {
                    failed += 1;
                    println!("FAILED: {name} ({era}): {error:#}");
                }
            }
        }
    }
    for mistake in web.mistakes.lock().unwrap().iter() {
        println!("{mistake}");
    }
    browser.close().await?;
    println!("{passed} passed, {failed} failed");
    ensure!(failed == 0);
    Ok(())
}

/// The page shows the result of its tool, and calls another one when a user chooses a bar.
async fn chart(browser: &Client, port: u16, era: &str, image: Option<&str>) -> Result<()> {
    open(
        browser,
        port,
        &format!("chart-{era}"),
        "sales",
        &json!({"year": 2025}),
    )
    .await?;
    enter_page(browser).await?;
    until(browser, "title", "contains(., 'Sales in 2025')").await?;
    let bars = browser.find_all(Locator::Css("#bars button")).await?;
    ensure!(bars.len() == 12, "{} bars", bars.len());
    bars[2].click().await?;
    until(browser, "customers", "starts-with(., 'Mar: ')").await?;
    let style = "return getComputedStyle(document.documentElement).getPropertyValue('--color-background-info')";
    ensure!(
        browser.execute(style, vec![]).await? == "#2f6fb0",
        "the colours of the host"
    );
    leave_page(browser).await?;
    let sizes = browser
        .execute("return seen['ui/notifications/size-changed']", vec![])
        .await?;
    let height = sizes
        .as_array()
        .and_then(|sizes| sizes.last()?["height"].as_u64());
    ensure!(
        height.is_some_and(|height| (200..400).contains(&height)),
        "{sizes}"
    );
    let called = browser.execute("return seen['tools/call']", vec![]).await?;
    ensure!(
        called == json!([{"name": "customers", "arguments": {"month": 3}}]),
        "{called}"
    );
    if let (Some(file), "modern") = (image, era) {
        std::fs::write(file, browser.screenshot().await?)?;
    }
    Ok(())
}

/// The page reaches the origin that its policy has, no other one, and no tool that is not for pages.
async fn probe(browser: &Client, port: u16, era: &str, web: &Web) -> Result<()> {
    let before = web.reached.load(Ordering::Relaxed);
    open(
        browser,
        port,
        &format!("probe-{era}"),
        "probe",
        &json!({"port": port}),
    )
    .await?;
    enter_page(browser).await?;
    let found = until(browser, "found", ". != ''").await?;
    let found: Value = serde_json::from_str(&found)?;
    let expected = json!({
        "declared": "worked: reached",
        "undeclared": "failed: Failed to fetch",
        "image": "failed: not shown",
        "hidden": "failed: for_models is not for pages",
        "context": "light",
    });
    ensure!(found == expected, "{found}");
    let reached = web.reached.load(Ordering::Relaxed) - before;
    ensure!(reached == 1, "{reached} requests left the page");

    browser.find(Locator::Css("a")).await?.click().await?;
    leave_page(browser).await?;
    let change = "notify('ui/notifications/host-context-changed', {theme: 'dark'})";
    browser.execute(change, vec![]).await?;
    enter_page(browser).await?;
    until(browser, "theme", ". = 'dark'").await?;
    leave_page(browser).await?;
    let opened = browser
        .execute("return seen['ui/open-link']", vec![])
        .await?;
    ensure!(
        opened == json!([{"url": "https://example.com/more"}]),
        "{opened}"
    );
    Ok(())
}

async fn open(
    browser: &Client,
    port: u16,
    server: &str,
    tool: &str,
    arguments: &Value,
) -> Result<()> {
    let arguments = arguments.to_string().replace('"', "%22");
    let url =
        format!("http://127.0.0.1:{port}/host?server={server}&tool={tool}&arguments={arguments}");
    Ok(browser.goto(&url).await?)
}

/// Enters the frame of the page, which is in that of the sandbox.
async fn enter_page(browser: &Client) -> Result<()> {
    for _ in 0..2 {
        let frame = browser.wait().for_element(Locator::Css("iframe")).await?;
        frame.enter_frame().await?;
    }
    Ok(())
}

/// Waits until the text of an element fulfils a condition in XPath, and returns it.
async fn until(browser: &Client, id: &str, condition: &str) -> Result<String> {
    let path = format!("//*[@id='{id}'][{condition}]");
    let wait = browser.wait().at_most(Duration::from_secs(20));
    let element = wait.for_element(Locator::XPath(&path)).await;
    Ok(element.with_context(|| path.clone())?.text().await?)
}

/// Returns from the frame of the page to the host.
async fn leave_page(browser: &Client) -> Result<()> {
    for _ in 0..2 {
        browser.enter_parent_frame().await?;
    }
    Ok(())
}
