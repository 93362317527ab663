//! Formats a call's progress as a single line for the terminal.

use std::fmt::Write as _;

use crate::context::Progress;

/// Width of a progress bar, in characters.
const BAR: usize = 24;

/// Formats progress as in `[########----] 2/3 copying`.
pub(super) fn bar(progress: &Progress) -> String {
    let Progress {
        progress: done,
        total,
        message,
    } = progress;
    let mut text = String::new();
    if let Some(total) = total.filter(|total| *total > 0.0) {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a fraction of a few characters"
        )]
        let filled = ((done / total).clamp(0.0, 1.0) * BAR as f64) as usize;
        let open = BAR.saturating_sub(filled);
        let _ = write!(
            text,
            "[{}{}] {done}/{total}",
            "#".repeat(filled),
            "-".repeat(open)
        );
    } else {
        let _ = write!(text, "{done}");
    }
    if let Some(message) = message {
        let _ = write!(text, " {message}");
    }
    // The line is truncated because a line that wraps cannot be cleared.
    text.chars().filter(|c| !c.is_control()).take(76).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_how_far_it_is() {
        for (progress, expected) in [
            (Progress::from(3), "3"),
            (Progress::from((1, 2)), "[############------------] 1/2"),
            (
                Progress::from((9, 3, "a\nb")),
                "[########################] 9/3 ab",
            ),
        ] {
            assert_eq!(bar(&progress), expected);
        }
    }
}
