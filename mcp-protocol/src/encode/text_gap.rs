//! Text that is omitted from a message, so that it need not be copied.

/// The position of text that has been omitted from a message.
#[derive(Clone, Copy, Debug)]
pub struct TextGap(usize);

impl TextGap {
    /// Minimum size in bytes from which a text is shared by messages rather than copied into each.
    pub const MIN_SHARED_BYTES: usize = 8 << 10;

    /// Marks the position at this index of a message.
    pub(super) fn at(index: usize) -> Self {
        Self(index)
    }

    /// Inserts the omitted text.
    pub fn fill(self, out: &mut Vec<u8>, missing: &[u8]) {
        let after = self.split(out);
        // Reserves an extra byte for the line break, because growing by one byte later would copy the whole message
        // again.
        let length = missing.len().saturating_add(after.len());
        out.reserve(length.saturating_add(1));
        out.extend_from_slice(missing);
        out.extend_from_slice(&after);
    }

    /// Removes and returns the text after the gap.
    pub fn split(self, out: &mut Vec<u8>) -> Vec<u8> {
        out.split_off(self.0.min(out.len()))
    }

    /// Returns the text before and after the gap.
    #[must_use]
    pub fn parts(self, message: &[u8]) -> (&[u8], &[u8]) {
        message.split_at(self.0.min(message.len()))
    }
}
