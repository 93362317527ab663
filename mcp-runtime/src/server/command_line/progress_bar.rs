//! Formats a call's progress as a single line for the terminal.

use std::fmt::Write as _;

use crate::context::Progress;

/// Maximum width of a progress bar, in characters.
const MAX_BAR: usize = 24;

/// Returns the number of columns of the terminal that is connected to standard error.
pub(super) fn terminal_width() -> usize {
    /// The assumed width of terminals that do not report their width.
    const USUAL: usize = 80;
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stderr())
        && size.ws_col > 0
    {
        return size.ws_col.into();
    }
    USUAL
}

/// Formats progress for a terminal with this many columns, as in `[########----] 2/3 copying`.
pub(super) fn bar(progress: &Progress, width: usize) -> String {
    let most = MAX_BAR.min(width / 3);
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
            reason = "the bar is only a few characters wide"
        )]
        let filled = ((done / total).clamp(0.0, 1.0) * most as f64) as usize;
        let open = most.saturating_sub(filled);
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
    single_line(&text, width)
}

/// Removes control characters and truncates a text to a line of the terminal.
pub(super) fn single_line(text: &str, width: usize) -> String {
    // The line is truncated because a line that wraps cannot be cleared. Wide characters occupy two columns.
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| {
        let columns = if *c < '\u{1100}' { 1 } else { 2 };
        left.checked_sub(columns).map(|rest| left = rest).is_some()
    };
    text.chars()
        .filter(|c| !c.is_control())
        .take_while(fits)
        .collect()
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
            assert_eq!(bar(&progress, 80), expected);
        }
        let long = Progress::from((1, 2, "x".repeat(500)));
        for width in [0, 1, 20, 40, 80, 200] {
            assert_eq!(bar(&long, width).len(), width.saturating_sub(1), "{width}");
        }
        assert!(bar(&long, 40).starts_with("[######-------] 1/2 x"));
        let wide = Progress::from((1, 2, "\u{6c34}".repeat(500)));
        assert_eq!(bar(&wide, 40).matches('\u{6c34}').count(), 9);
    }
}
