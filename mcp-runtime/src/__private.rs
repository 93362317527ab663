//! Used by generated code and by nothing else. Promises nothing.

pub use crate::context::{Context, FromContext};
pub use crate::handler::call::{
    Call, Output, Refusal, Run, Running, completer, prompt, resource, tool,
};
pub use crate::handler::completion::IntoCompletion;
pub use crate::handler::constraint::{Bound, ConstraintFallback, Constraints, Probe};
pub use crate::handler::definition::{
    ClientFeature, Completes, Definition, Kind, Location, Options, Submitted, has_argument, named,
    selected, type_id_of,
};
pub use crate::handler::listing::Lister;
pub use crate::handler::output::IntoToolResult;
pub use crate::handler::parameter::{DefaultValue, Lend, ParameterMeta, parameter, referent};
pub use crate::handler::prompt::IntoPrompt;
pub use crate::handler::resource::IntoResource;
pub use crate::types::{CacheScope, Icon, IconTheme, Role};
pub use inventory;
pub use serde_json;
