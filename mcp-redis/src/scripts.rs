//! The scripts that Redis runs, each of which is atomic.

use std::sync::LazyLock;

use redis::{Script, ScriptInvocation, ToRedisArgs};

/// A script, and the name under which its calls are reported.
pub(crate) struct NamedScript {
    name: &'static str,
    script: LazyLock<Script>,
}

/// A call to a script.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) invocation: ScriptInvocation<'static>,
}

impl NamedScript {
    /// Begins a call to the script, for the keys with this prefix.
    pub(crate) fn with_prefix(&'static self, prefix: &str) -> Operation {
        Operation {
            name: self.name,
            invocation: self.script.key(prefix),
        }
    }
}

impl Operation {
    pub(crate) fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.invocation.arg(argument);
        self
    }
}

/// Declares scripts, each of which begins with the same files.
macro_rules! scripts {
    ($common:expr; $($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: NamedScript = NamedScript {
            name: $file,
            script: LazyLock::new(|| {
                Script::new(&[$common, include_str!(concat!("lua/", $file, ".lua"))].concat())
            }),
        };)*
    };
}

scripts! {
    include_str!("lua/common.lua");
    ABANDON_ONCE = "abandon_once";
    ABANDON_STEP = "abandon_step";
    BEGIN_ONCE = "begin_once";
    BEGIN_STEP = "begin_step";
    CHANGE = "change";
    CLAIM = "claim";
    CLAIM_DUE = "claim_due";
    COMPLETE_ONCE = "complete_once";
    COMPLETE_STEP = "complete_step";
    CREATE = "create";
    DELETE_ALL = "delete_all";
    FORGET_ONCE = "forget_once";
    INFO = "info";
    INSPECT = "inspect";
    LIST = "list";
    LIST_ALL = "list_all";
    LOAD = "load";
    RETRY = "retry";
    SET_DUE = "set_due";
    TAKE_TOKENS = "take_tokens";
    VERSION = "version";
}

#[cfg(feature = "http")]
scripts! {
    include_str!("lua/common.lua");
    PROBE = "probe";
}

#[cfg(feature = "sealing")]
scripts! {
    include_str!("lua/common.lua");
    SEALING_KEYS = "sealing_keys";
}

scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/definitions.lua"));
    PUT_DEFINITION = "put_definition";
    RECEIVE_DEFINITIONS = "receive_definitions";
    REMOVE_DEFINITION = "remove_definition";
}

scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/log.lua"));
    PUBLISH_CHANGES = "publish_changes";
    RECEIVE_CHANGES = "receive_changes";
}

scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/results.lua"));
    DELETE_RESULTS = "delete_results";
    KEEP_RESULT = "keep_result";
    LOAD_RESULT = "load_result";
}

#[cfg(feature = "http")]
scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/sessions.lua"));
    APPEND_EVENT = "append_event";
    FORGET_EVENTS = "forget_events";
    INSERT_SESSION = "insert_session";
    LOAD_SESSION = "load_session";
    READ_EVENTS = "read_events";
    REMOVE_SESSION = "remove_session";
    SAVE_SESSION = "save_session";
}

#[cfg(feature = "http")]
scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/inboxes.lua"));
    LIST_INSTANCES = "list_instances";
    RECEIVE_MESSAGES = "receive_messages";
    SEND_MESSAGE = "send_message";
}
