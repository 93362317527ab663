//! Forms of every shape, without a prelude and under strict lints.

#![deny(warnings, unused, clippy::all)]

#[derive(mcp_runtime::Elicit)]
pub struct Everything {
    /// The name
    #[arg(length(1..=20), title = "Name")]
    pub name: String,
    #[arg(range(-1.5..), default = -1)]
    pub temperature: Option<f64>,
    #[arg(range(1..10))]
    pub count: u8,
    pub r#type: Kind,
    #[arg(name = "all", length(1..=2))]
    pub kinds: Vec<Kind>,
    #[arg(format = "date-time", description = "When")]
    pub at: Option<String>,
    #[arg(default = "Small")]
    pub other: Option<Kind>,
}

#[derive(mcp_runtime::Elicit)]
pub enum Kind {
    /// As small as can be
    Small,
    #[arg(name = "x-large", title = concat!("Very", " large"))]
    Large,
}

#[derive(mcp_runtime::Elicit)]
pub struct Consent;

#[derive(mcp_runtime::Elicit)]
pub struct Empty {}

#[test]
fn a_form_has_what_its_options_say() {
    use mcp_runtime::Elicit;
    let form = format!("{:?}", Everything::form());
    for part in [
        "x-large",
        "Very large",
        "As small as can be",
        "\"type\"",
        "date",
    ] {
        assert!(
            form.to_lowercase().contains(&part.to_lowercase()),
            "{part} in {form}"
        );
    }
    drop((Consent::form(), Empty::form()));
}
