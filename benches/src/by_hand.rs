//! The same tools written without a framework. There are no other tools or methods and no limits, and only the required
//! input is checked.
//!
//! This is the baseline that the framework's cost is compared with.

use std::borrow::Cow;
use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::data::{Order, PAGE, PICTURE, ROWS};

/// A request, of which only the parts needed for the answer have been read.
#[derive(Debug)]
pub struct Request<'a> {
    id: &'a str,
    is_modern: bool,
    work: Work,
}

/// The kind of a request.
#[derive(Debug)]
pub enum Work {
    /// Adds two integers.
    Add(i64, i64),
    /// Yields to other tasks, then adds two integers.
    AddLater(i64, i64),
    /// Returns the text unchanged.
    Echo(String),
    /// Lists the tools.
    List,
    /// Returns a table.
    Rows,
    /// Counts the urgent orders in a list.
    Urgent(Vec<Order>),
    /// Returns a long text.
    Page,
    /// Returns a large file.
    Picture,
    /// Completes the handshake.
    Initialize,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta", borrow)]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow)]
    version: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Two {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Many {
    orders: Vec<Order>,
}

/// Reads a request; returns `None` for notifications and for messages that the benchmarks do not send.
#[must_use]
pub fn read(message: &[u8]) -> Option<Request<'_>> {
    let message: Message<'_> = serde_json::from_slice(message).ok()?;
    let id = message.id?.get();
    let params: Params<'_> = serde_json::from_str(message.params?.get()).ok()?;
    let version = params.meta.and_then(|meta| meta.version);
    let work = match &*message.method {
        "tools/call" => {
            let arguments = params.arguments.map_or("{}", RawValue::get);
            match &*params.name? {
                "echo" => {
                    let One { text } = serde_json::from_str(arguments).ok()?;
                    Work::Echo(text)
                }
                "rows" => Work::Rows,
                "urgent" => {
                    let Many { orders } = serde_json::from_str(arguments).ok()?;
                    if !orders.iter().all(Order::is_valid) {
                        return None;
                    }
                    Work::Urgent(orders)
                }
                "add_later" => {
                    let Two { a, b } = serde_json::from_str(arguments).ok()?;
                    Work::AddLater(a, b)
                }
                _ => {
                    let Two { a, b } = serde_json::from_str(arguments).ok()?;
                    Work::Add(a, b)
                }
            }
        }
        "tools/list" => Work::List,
        "resources/read" if params.uri? == "bench://page" => Work::Page,
        "resources/read" => Work::Picture,
        _ => Work::Initialize,
    };
    Some(Request {
        id,
        is_modern: version.is_some(),
        work,
    })
}

/// The future of a tool call.
pub type Handler = Pin<Box<dyn Future<Output = String> + Send>>;

impl Request<'_> {
    /// Returns the request id, whether the request is modern, and the future of the called tool. The future is boxed,
    /// as it would have to be if the tools were in a table.
    #[must_use]
    pub fn handler(&self) -> Option<(Box<str>, bool, Handler)> {
        let handler: Handler = match &self.work {
            Work::Add(a, b) => {
                let (a, b) = (*a, *b);
                Box::pin(async move { a.wrapping_add(b).to_string() })
            }
            Work::AddLater(a, b) => {
                let (a, b) = (*a, *b);
                Box::pin(async move {
                    tokio::task::yield_now().await;
                    a.wrapping_add(b).to_string()
                })
            }
            Work::Echo(text) => {
                let text = text.clone();
                Box::pin(async move { text })
            }
            Work::Urgent(orders) => {
                let urgent = urgent(orders);
                Box::pin(async move { urgent })
            }
            Work::List | Work::Rows | Work::Page | Work::Picture | Work::Initialize => {
                return None;
            }
        };
        Some((self.id.into(), self.is_modern, handler))
    }

    /// Appends the answer.
    pub fn answer(&self, page: &str, out: &mut Vec<u8>) {
        match &self.work {
            Work::Add(a, b) | Work::AddLater(a, b) => {
                write_text(
                    self.id,
                    self.is_modern,
                    &a.wrapping_add(*b).to_string(),
                    out,
                );
            }
            Work::Echo(text) => write_text(self.id, self.is_modern, text, out),
            Work::Urgent(orders) => write_text(self.id, self.is_modern, &urgent(orders), out),
            Work::Rows => {
                let rows = serde_json::to_string(&*ROWS).unwrap_or_default();
                open(self.id, out);
                out.extend_from_slice(br#""content":[{"type":"text","text":"#);
                let _ = serde_json::to_writer(&mut *out, &rows);
                out.extend_from_slice(br#"}],"structuredContent":"#);
                if !self.is_modern {
                    out.extend_from_slice(br#"{"result":"#);
                }
                out.extend_from_slice(rows.as_bytes());
                if !self.is_modern {
                    out.push(b'}');
                }
                close(self.is_modern, out);
            }
            Work::Page => {
                open(self.id, out);
                out.extend_from_slice(br#""contents":[{"uri":"bench://page","text":"#);
                let _ = serde_json::to_writer(&mut *out, &*PAGE);
                out.extend_from_slice(b"}]");
                close(self.is_modern, out);
            }
            Work::Picture => {
                open(self.id, out);
                out.extend_from_slice(br#""contents":[{"uri":"bench://picture","blob":"#);
                let _ = serde_json::to_writer(&mut *out, &STANDARD.encode(&*PICTURE));
                out.extend_from_slice(b"}]");
                close(self.is_modern, out);
            }
            Work::List => {
                open(self.id, out);
                out.extend_from_slice(page.as_bytes());
                close(self.is_modern, out);
            }
            Work::Initialize => {
                open(self.id, out);
                out.extend_from_slice(
                    br#""protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"by hand","version":"1"}"#,
                );
                close(self.is_modern, out);
            }
        }
    }
}

fn urgent(orders: &[Order]) -> String {
    orders
        .iter()
        .filter(|order| order.is_urgent())
        .count()
        .to_string()
}

/// Appends the answer of a tool that returns text.
pub fn write_text(id: &str, is_modern: bool, text: &str, out: &mut Vec<u8>) {
    open(id, out);
    out.extend_from_slice(br#""content":[{"type":"text","text":"#);
    // Cannot fail, because writing to a vector does not fail and any string can be serialized.
    let _ = serde_json::to_writer(&mut *out, text);
    out.extend_from_slice(b"}]");
    close(is_modern, out);
}

fn open(id: &str, out: &mut Vec<u8>) {
    let _ = write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"#);
}

fn close(is_modern: bool, out: &mut Vec<u8>) {
    if is_modern {
        out.extend_from_slice(
            br#","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"by hand","version":"1"}},"resultType":"complete""#,
        );
    }
    out.extend_from_slice(b"}}");
}
