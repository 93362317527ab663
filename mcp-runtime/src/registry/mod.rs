//! Being written; this says only what the transports rely on.

pub(crate) struct Pace;

impl Pace {
    pub(crate) fn spawn_first(&self) -> bool {
        false
    }

    pub(crate) fn observed(&self, _: std::time::Duration) {}
}
