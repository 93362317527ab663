//! Annotated functions that `macro_rules!` generates.

use mcp_runtime::prelude::*;

macro_rules! greetings {
    ($($name:ident: $greeting:literal, $type:ty;)*) => {$(
        #[doc = $greeting]
        #[tool(title = $greeting, timeout = "5s")]
        async fn $name(
            ctx: &Context,
            #[arg(default = "you", length(1..))] whom: $type,
            #[arg(range(1..=3), default = 1)] times: usize,
        ) -> String {
            let _ = ctx;
            format!("{}, {whom}!", $greeting).repeat(times)
        }
    )*};
}

greetings! {
    hello: "Hello", String;
    bye: "Goodbye", &str;
}
