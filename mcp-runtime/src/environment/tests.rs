//! Reads variables and reports mistakes in them.

use std::ffi::OsString;

use expect_test::{Expect, expect};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::*;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// Nothing but errors
    Quiet,
    Loud,
}

/// A name with a rule that its `Deserialize` implementation checks but its schema does not show.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.starts_with('-') {
            return Err(de::Error::custom(format!("`{text}` begins with a dash")));
        }
        Ok(Self(text))
    }
}

fn ten() -> u16 {
    10
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Settings {
    /// Connection string
    /// of the database
    database_url: Secret<String>,
    /// Most rows of a page
    #[serde(default = "ten")]
    #[schemars(range(min = 1))]
    max_rows: u16,
    #[serde(default)]
    read_only: bool,
    /// Loudness
    level: Option<Level>,
    hosts: Option<Vec<String>>,
    ports: Option<Vec<u16>>,
    ratio: Option<f64>,
    name: Option<Name>,
    pin: Option<Secret<u32>>,
    #[allow(dead_code, reason = "only its `Deserialize` is of interest")]
    token: Option<Secret<Name>>,
}

fn reading(variables: &[(&str, &str)]) -> EnvironmentReading<Settings> {
    let os = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    read("T_", os)
}

fn value(variables: &[(&str, &str)]) -> Settings {
    let with_url = [&[("T_DATABASE_URL", "postgres://u:hunter2@db")], variables].concat();
    reading(&with_url).value.unwrap()
}

fn check_faults(variables: &[(&str, &str)], expected: &Expect) {
    let faults = reading(variables).value.unwrap_err();
    expected.assert_eq(&(faults.join("\n") + "\n"));
}

#[test]
fn each_field_has_a_variable_of_its_type() {
    let bare = value(&[]);
    assert_eq!(
        (bare.max_rows, bare.read_only, bare.level),
        (10, false, None)
    );
    assert_eq!(bare.database_url.expose_secret(), "postgres://u:hunter2@db");
    let full = value(&[
        ("T_MAX_ROWS", "65535"),
        ("T_READ_ONLY", "ON"),
        ("T_LEVEL", "loud"),
        ("T_HOSTS", "a.example, b.example"),
        ("T_PORTS", "1,2"),
        ("T_RATIO", "0.5"),
        ("T_NAME", "007"),
        ("T_PIN", "1234"),
        ("OTHER", "x"),
    ]);
    assert_eq!((full.max_rows, full.read_only), (65_535, true));
    assert_eq!(full.level, Some(Level::Loud));
    assert_eq!(full.hosts.unwrap(), ["a.example", "b.example"]);
    assert_eq!((full.ports.unwrap(), full.ratio), (vec![1, 2], Some(0.5)));
    assert_eq!(full.name.unwrap().0, "007");
    assert_eq!(full.pin.unwrap().expose_secret(), &1234);
    for (text, expected) in [
        ("yes", true),
        ("1", true),
        ("False", false),
        ("0", false),
        ("off", false),
    ] {
        assert_eq!(value(&[("T_READ_ONLY", text)]).read_only, expected);
    }
}

#[test]
fn names_that_are_nearly_right_are_noticed_after_a_prefix_only() {
    let typo = [
        ("T_DATABASE_URL", "x"),
        ("T_MAX_ROW", "5"),
        ("T_QUITE_ANOTHER", "x"),
    ];
    let found = reading(&typo).misspelled;
    assert_eq!(found, [("T_MAX_ROW".to_owned(), "T_MAX_ROWS".to_owned())]);
    let os =
        [("MAX_ROW", "5"), ("DATABASE_URL", "x")].map(|(name, value)| (name.into(), value.into()));
    assert!(read::<Settings>("", os).misspelled.is_empty());
}

#[test]
fn an_empty_variable_is_absent() {
    assert_eq!(value(&[("T_MAX_ROWS", ""), ("T_NAME", "")]).max_rows, 10);
    assert!(reading(&[("T_DATABASE_URL", "")]).value.is_err());
    // A host leaves such placeholders unchanged if the user of a bundle sets nothing.
    let unset = "${user_config.t_max_rows}";
    assert_eq!(value(&[("T_MAX_ROWS", unset)]).max_rows, 10);
    let name = "${user_config.x} and more";
    let read = value(&[("T_NAME", name)]).name;
    assert_eq!(read.map(|read| read.0).as_deref(), Some(name));
}

#[test]
fn all_mistakes_are_found_at_once() {
    check_faults(
        &[
            ("T_MAX_ROWS", "0"),
            ("T_READ_ONLY", "perhaps"),
            ("T_LEVEL", "lound"),
            ("T_PORTS", "1,http"),
            ("T_RATIO", "half"),
        ],
        &expect![[r#"
            the environment variable `T_DATABASE_URL` is not set: Connection string of the database (string, required, secret)
            the environment variable `T_MAX_ROWS`: 0 is less than 1
            the environment variable `T_READ_ONLY`: expected boolean, received "perhaps"
            the environment variable `T_LEVEL`: unknown value "lound"; did you mean "loud"? (allowed: "loud", "quiet")
            the environment variable `T_PORTS`: /1: expected integer, received "http"
            the environment variable `T_RATIO`: expected number, received "half"
        "#]],
    );
    check_faults(
        &[("T_DATABSE_URL", "x")],
        &expect![[r"
        the environment variable `T_DATABASE_URL` is not set: Connection string of the database (string, required, secret); `T_DATABSE_URL` is set; is its name misspelled?
    "]],
    );
    check_faults(
        &[("T_DATABASE_URL", "x"), ("T_NAME", "-n")],
        &expect![[r"
        the environment variable `T_NAME`: `-n` begins with a dash
    "]],
    );
}

#[test]
fn no_mistake_shows_a_secret() {
    for variables in [
        &[("T_DATABASE_URL", "x"), ("T_PIN", "hunter2")][..],
        &[("T_DATABASE_URL", "x"), ("T_TOKEN", "-hunter2")],
        &[("T_PIN", "[\"hunter2\"]")],
    ] {
        let reading = reading(variables);
        let faults = reading.value.unwrap_err().join("\n");
        assert!(
            !faults.contains("hunter2") && faults.contains("secret"),
            "{faults}"
        );
    }
    assert!(!format!("{:?}", value(&[])).contains("hunter2"));
}

#[cfg(unix)]
#[test]
fn a_value_that_is_not_text_is_a_mistake_and_a_name_that_is_not_is_none() {
    use std::os::unix::ffi::OsStringExt as _;

    let not_text = || OsString::from_vec(b"a\xff".to_vec());
    let variables = [
        ("T_DATABASE_URL".into(), not_text()),
        (not_text(), "x".into()),
    ];
    let faults = read::<Settings>("T_", variables).value.unwrap_err();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].contains("UTF-8"), "{faults:?}");
}

#[test]
fn the_help_shows_every_variable_and_no_secret_default() {
    let lines: Vec<_> = reading(&[])
        .variables
        .iter()
        .map(|variable| format!("{} {variable}\n", variable.name))
        .collect();
    expect![[r"
        T_DATABASE_URL Connection string of the database (string, required, secret)
        T_MAX_ROWS Most rows of a page (integer 1 to 65535, default 10)
        T_READ_ONLY (true|false, default false)
        T_LEVEL Loudness (loud|quiet)
        T_HOSTS ([string])
        T_PORTS ([integer 0 to 65535])
        T_RATIO (number)
        T_NAME A name with a rule that its `Deserialize` implementation checks but its schema does not show. (string)
        T_PIN (integer from 0, secret)
        T_TOKEN A name with a rule that its `Deserialize` implementation checks but its schema does not show. (string, secret)
    "]]
    .assert_eq(&lines.concat());
}

#[test]
fn only_structs_declare_variables() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Empty {}
    let none = std::iter::empty;
    for fault in [
        read::<String>("", none()).value.unwrap_err(),
        read::<Empty>("", none()).value.unwrap_err().clone(),
    ] {
        assert!(fault[0].contains("use a struct"), "{fault:?}");
    }
}

/// Settings with a rule that involves several fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Bounds")]
#[schemars(with = "Bounds")]
struct Range;

#[derive(Deserialize, JsonSchema)]
struct Bounds {
    least: u8,
    most: u8,
    /// The last field of all
    zone_token: Secret<String>,
}

impl TryFrom<Bounds> for Range {
    type Error = &'static str;

    fn try_from(bounds: Bounds) -> Result<Self, Self::Error> {
        drop(bounds.zone_token);
        if bounds.least > bounds.most {
            return Err("`least` exceeds `most`");
        }
        Ok(Self)
    }
}

#[test]
fn a_mistake_that_concerns_several_variables_is_blamed_on_none() {
    let variables = [("T_LEAST", "2"), ("T_MOST", "1"), ("T_ZONE_TOKEN", "x")];
    let os = variables.map(|(name, value)| (name.into(), value.into()));
    let faults = read::<Range>("T_", os).value.unwrap_err();
    assert_eq!(
        faults,
        ["the environment variables are not valid settings: `least` exceeds `most`"]
    );
}
