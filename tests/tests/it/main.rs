//! Integration tests, one file per feature. Most of them run once per era, over the in-memory transport.

#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    clippy::needless_pass_by_value,
    clippy::unused_async,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test that goes wrong may panic, and handlers under test come in every shape"
)]

mod apps;
mod arguments;
mod asking;
mod auth;
mod backend;
mod background_work;
mod bad_input;
mod batches;
mod cancellation;
mod chaos;
mod check;
mod completion;
mod debug_output;
mod down_conversion;
mod extension;
mod extensions;
mod fixture;
mod generated_schemas;
mod guards;
mod handshakes;
mod http;
mod icons;
mod identity;
mod lifecycle;
mod limits;
mod listen;
mod lists;
mod logging;
mod many_tools;
mod meta;
mod middleware;
mod on_serve;
mod progress;
mod prompts;
mod properties;
mod request;
mod resources;
mod results;
mod retries;
mod sessions;
mod single_messages;
mod skills;
mod spill;
mod support;
mod surface;
mod tasks;
mod telemetry;
mod template_values;
mod test_client;
mod test_output;
mod tool_schemas;
mod tool_sources;
mod tools;
mod uri_spellings;
mod values;
mod watch;
