#![cfg_attr(doctest, doc = "The guide.")]
#![cfg_attr(not(doctest), doc = mcp_macros::guide_page!("README.md", "src/guide_items.txt"))]
//!
//! <!-- The pages are in the repository's `docs/` folder, which `mcp-runtime/docs` links to. Tests read the files
//! directly, so that a failure names the file and line; in the documentation, the pages contain links to modules and
//! items. -->

// Links to items require the items' features. The documentation on docs.rs is built with all features.
#![cfg_attr(
    not(all(
        feature = "auth",
        feature = "axum",
        feature = "skills",
        feature = "telemetry",
        feature = "testing",
        feature = "tower"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

/// Declares a module for each page. The listed features are needed by the page's examples.
macro_rules! pages {
    ($($module:ident = $page:literal $(needs $features:meta)?;)*) => {$(
        #[cfg(any(not(doctest), all($($features)?)))]
        #[cfg_attr(doctest, doc = include_str!(concat!("../docs/", $page)))]
        #[cfg_attr(not(doctest), doc = mcp_macros::guide_page!($page, "src/guide_items.txt"))]
        pub mod $module {}
    )*};
}

pages! {
    first_server = "first-server.md" needs not(doctest); // a whole program: the `garden` example
    command_line = "command-line.md" needs feature = "cli";
    cookbook = "cookbook.md" needs feature = "auth";
    troubleshooting = "troubleshooting.md";
    arguments = "arguments.md";
    types = "types.md";
    results = "results.md";
    prompts = "prompts.md";
    resources = "resources.md";
    state = "state.md" needs all(feature = "http", feature = "main");
    notifications = "notifications.md" needs feature = "main";
    asking = "asking.md";
    guards = "guards.md";
    authorization = "authorization.md" needs feature = "testing";
    extensions = "extensions.md";
    apps = "apps.md";
    tasks = "tasks.md";
    retries = "retries.md";
    backends = "backends.md";
    more_than_one_process = "more-than-one-process.md";
    operating_a_cluster = "operating-a-cluster.md";
    skills = "skills.md" needs all(feature = "main", feature = "skills");
    several_crates = "several-crates.md";
    many_tools = "many-tools.md";
    mcp_dev = "mcp-dev.md";
    testing = "testing.md" needs feature = "testing";
    http = "http.md" needs feature = "axum";
    ship = "ship.md";
    deployment = "deployment.md" needs feature = "http";
    observability = "observability.md" needs feature = "telemetry";
    security = "security.md";
    limits = "limits.md";
    hosts = "hosts.md";
    glossary = "glossary.md";
    not_supported = "not-supported.md";
    from_rmcp = "from-rmcp.md" needs feature = "main";
    from_fastmcp = "from-fastmcp.md" needs feature = "main";
    from_typescript = "from-typescript.md" needs feature = "main";
}
