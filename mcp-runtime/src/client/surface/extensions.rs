//! Compares the extensions of two surfaces.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::client::surface::Surface;
use crate::client::surface::compare::SurfaceChanges;

impl SurfaceChanges {
    pub(super) fn compare_extensions(&mut self, old: &Surface, new: &Surface) {
        let mut after: BTreeMap<_, _> = new.extensions().collect();
        for (id, was) in old.extensions() {
            let Some(is) = after.remove(id) else {
                self.push_breaking(format!("extension `{id}` was removed"));
                continue;
            };
            let (had, has) = (extension_methods(was), extension_methods(is));
            for method in had.iter().filter(|method| !has.contains(method)) {
                self.push_breaking(format!("method `{method}` of extension `{id}` was removed"));
            }
            for method in has.iter().filter(|method| !had.contains(method)) {
                self.push_compatible(format!("method `{method}` of extension `{id}` was added"));
            }
            if was["settings"] != is["settings"] {
                self.push_compatible(format!("extension `{id}` has different settings"));
            }
        }
        for id in after.keys() {
            self.push_compatible(format!("extension `{id}` was added"));
        }
    }
}

fn extension_methods(extension: &Value) -> Vec<&str> {
    let methods = extension["methods"].as_array();
    methods
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
