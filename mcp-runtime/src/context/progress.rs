//! The progress of a call, which can be converted from numbers.

/// Progress to report with [`Context::progress`](crate::Context::progress). `Progress` can be converted from a number,
/// `(number, total)`, `(number, total, message)` or, if the total is unknown, `(number, message)`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The amount done so far, in any unit. The amount must be finite and increase from one report to the next.
    pub progress: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// A human-readable description of the current step.
    pub message: Option<String>,
}

/// Number types that can express progress.
pub trait Amount {
    /// Converts the number into the protocol's type.
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($type:ty)*) => {$(
        impl Amount for $type {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress is shown to people")]
            fn amount(self) -> f64 {
                self as f64
            }
        }
        impl From<$type> for Progress {
            fn from(progress: $type) -> Self {
                Self { progress: progress.amount(), total: None, message: None }
            }
        }
    )*};
}
amounts!(i8 i16 i32 i64 u8 u16 u32 u64 isize usize f32 f64);

impl<P: Amount, T: Amount> From<(P, T)> for Progress {
    fn from((progress, total): (P, T)) -> Self {
        Self {
            progress: progress.amount(),
            total: Some(total.amount()),
            message: None,
        }
    }
}

impl<P: Amount> From<(P, &str)> for Progress {
    fn from((progress, message): (P, &str)) -> Self {
        (progress, message.to_owned()).into()
    }
}

impl<P: Amount> From<(P, String)> for Progress {
    fn from((progress, message): (P, String)) -> Self {
        Self {
            message: Some(message),
            ..progress.amount().into()
        }
    }
}

impl<P: Amount, T: Amount, M: Into<String>> From<(P, T, M)> for Progress {
    fn from((progress, total, message): (P, T, M)) -> Self {
        Self {
            message: Some(message.into()),
            ..(progress, total).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_sets_what_it_contains() {
        let progress = |total, text: Option<&str>| Progress {
            progress: 3.0,
            total,
            message: text.map(str::to_owned),
        };
        assert_eq!(Progress::from(3), progress(None, None));
        assert_eq!(Progress::from((3, 4)), progress(Some(4.0), None));
        assert_eq!(Progress::from((3, "x")), progress(None, Some("x")));
        assert_eq!(
            Progress::from((3, "x".to_owned())),
            progress(None, Some("x"))
        );
        assert_eq!(Progress::from((3, 4, "x")), progress(Some(4.0), Some("x")));
    }
}
