//! Paths at which probes are answered.

use crate::http::health::HealthProbe;

/// Paths at which probes are answered, and the setting that turns them on or off.
#[derive(Clone, Debug)]
pub(in crate::http) struct HealthPaths {
    pub(in crate::http) live: String,
    pub(in crate::http) ready: String,
    /// `None` means that this crate's listener answers probes but a service mounted in another program does not,
    /// because that program may already use these paths.
    pub(in crate::http) served: Option<bool>,
}

impl Default for HealthPaths {
    fn default() -> Self {
        Self {
            live: "/livez".to_owned(),
            ready: "/readyz".to_owned(),
            served: None,
        }
    }
}

impl HealthPaths {
    /// Returns the probe that this crate's listener serves at this path, if any.
    pub(in crate::http) fn probe_at(&self, path: &str) -> Option<HealthProbe> {
        if self.served == Some(false) {
            return None;
        }
        let at = [
            (&self.live, HealthProbe::Live),
            (&self.ready, HealthProbe::Ready),
        ];
        at.into_iter()
            .find_map(|(of, probe)| (path == of).then_some(probe))
    }

    /// Returns the path and probe for each route that a mounted service adds.
    #[cfg(feature = "axum")]
    pub(in crate::http) fn routes_when_mounted(&self) -> Vec<(&str, HealthProbe)> {
        if self.served == Some(true) {
            vec![
                (&self.live, HealthProbe::Live),
                (&self.ready, HealthProbe::Ready),
            ]
        } else {
            Vec::new()
        }
    }

    /// Returns an error message if both probes have the same path or if one of their paths is also one of the
    /// protocol's `endpoints`.
    pub(in crate::http) fn fault(&self, endpoints: &[&str]) -> Option<String> {
        if self.served == Some(false) {
            return None;
        }
        let twice = if self.live == self.ready || endpoints.contains(&&*self.live) {
            &self.live
        } else if endpoints.contains(&&*self.ready) {
            &self.ready
        } else {
            return None;
        };
        Some(format!(
            "the HTTP path `{twice}` is used twice: choose others with `HttpOptions::live_path` and `ready_path`, or call \
             `HttpOptions::health(false)`"
        ))
    }
}

/// Returns the path, adding a leading slash if it is missing.
pub(in crate::http) fn absolute_path(path: impl Into<String>) -> String {
    let mut path = path.into();
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    path
}
