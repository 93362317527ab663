//! A problem with a definition, and the list of those that have been found.

use std::fmt;

use mcp_schema::model_rules::Severity;

/// A problem with a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The consequence.
    pub severity: Severity,
    /// The word for the kind of the affected definition, such as `tool`, or a word for all of them, such as `the tools`.
    pub word: &'static str,
    /// What clients identify the affected definition by, such as its name, unless all of them are affected.
    pub key: Option<String>,
    /// What is wrong.
    pub text: String,
    /// The source of the rule, or an empty string if the rule is simply common sense.
    pub source: &'static str,
}

impl Finding {
    /// Returns the affected definition, such as `` tool `add` ``.
    #[must_use]
    pub fn at(&self) -> String {
        match &self.key {
            Some(key) => format!("{} `{key}`", self.word),
            None => self.word.to_owned(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            severity,
            text,
            source,
            ..
        } = self;
        write!(f, "{}: {}: {text}", severity.as_str(), self.at())?;
        if !source.is_empty() {
            write!(f, " ({source})")?;
        }
        Ok(())
    }
}

/// The findings so far, and the definition being checked.
pub(crate) struct Findings {
    pub(crate) all: Vec<Finding>,
    word: &'static str,
    key: Option<String>,
}

impl Findings {
    pub(crate) const fn new() -> Self {
        Self {
            all: Vec::new(),
            word: "",
            key: None,
        }
    }

    pub(crate) fn set_subject(&mut self, word: &'static str, key: Option<&str>) {
        self.word = word;
        self.key = Some(key.unwrap_or_default().to_owned());
    }

    /// Sets the subject to all definitions that the word describes.
    pub(crate) fn set_subjects(&mut self, word: &'static str) {
        self.word = word;
        self.key = None;
    }

    pub(crate) fn push_refused(&mut self, text: impl Into<String>, source: &'static str) {
        self.push(Severity::Refused, text.into(), source);
    }

    pub(crate) fn push_disliked(&mut self, text: impl Into<String>, source: &'static str) {
        self.push(Severity::Advice, text.into(), source);
    }

    pub(crate) fn push_advice(&mut self, text: impl Into<String>) {
        self.push(Severity::Advice, text.into(), "");
    }

    pub(crate) fn push(&mut self, severity: Severity, text: String, source: &'static str) {
        self.all.push(Finding {
            severity,
            word: self.word,
            key: self.key.clone(),
            text,
            source,
        });
    }
}
