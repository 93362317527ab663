//! The outcome of checking a rule. The message can be built by a `const fn`.

/// The outcome of checking a rule: either the rule is satisfied, or a message describes the problem.
#[derive(Clone, Copy, Debug)]
pub struct RuleVerdict {
    text: [u8; RuleVerdict::TEXT_CAPACITY_BYTES],
    length: usize,
    holds: bool,
}

impl RuleVerdict {
    const TEXT_CAPACITY_BYTES: usize = 512;

    /// The result for a rule that is satisfied.
    pub const HOLDS: Self = Self {
        text: [0; Self::TEXT_CAPACITY_BYTES],
        length: 0,
        holds: true,
    };

    /// Returns `true` if the rule is satisfied.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.holds
    }

    /// Returns the message, which is empty if the rule is satisfied.
    #[must_use]
    pub const fn text(&self) -> &str {
        match str::from_utf8(self.text.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }

    /// Converts the verdict into a `Result`, for use at run time.
    ///
    /// # Errors
    ///
    /// Returns the message if the rule is violated.
    pub fn into_result(self) -> Result<(), String> {
        if self.holds {
            Ok(())
        } else {
            Err(self.text().to_owned())
        }
    }

    /// Creates the result for a violated rule, with the concatenated `parts` as its message.
    #[must_use]
    pub const fn wrong(parts: &[&str]) -> Self {
        let mut verdict = Self {
            holds: false,
            ..Self::HOLDS
        };
        let mut index = 0;
        while index < parts.len() {
            verdict = verdict.with(parts[index]);
            index += 1;
        }
        verdict
    }

    /// Appends text, truncating it at a character boundary if it does not fit.
    #[must_use]
    pub const fn with(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            let length = character_length(bytes[index]);
            if self.length + length > Self::TEXT_CAPACITY_BYTES || index + length > bytes.len() {
                return self;
            }
            let end = index + length;
            while index < end {
                self.text[self.length] = bytes[index];
                self.length += 1;
                index += 1;
            }
        }
        self
    }

    /// Appends a description of a byte that is not allowed in a name.
    #[must_use]
    pub const fn with_named(self, byte: u8) -> Self {
        match byte {
            b' ' => self.with("a space"),
            0..=0x1F | 0x7F => self.with("a control character"),
            0x80.. => self.with("a non-ASCII character"),
            other => self.with("`").with_byte(other).with("`"),
        }
    }

    /// Appends an ASCII byte, or a question mark for any other byte.
    #[must_use]
    pub const fn with_byte(mut self, byte: u8) -> Self {
        if self.length < Self::TEXT_CAPACITY_BYTES {
            self.text[self.length] = if byte.is_ascii() { byte } else { b'?' };
            self.length += 1;
        }
        self
    }
}

/// Asserts that a rule is satisfied. In a macro's expansion, the assertion is evaluated at compile time.
///
/// # Panics
///
/// Panics with the message, at the caller's location, if the rule is violated.
#[track_caller]
pub const fn check(verdict: &RuleVerdict) {
    assert!(verdict.holds, "{}", verdict.text());
}

/// Returns the length of the UTF-8 character that starts with this byte.
pub(crate) const fn character_length(first: u8) -> usize {
    match first {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}
