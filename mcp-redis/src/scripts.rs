//! The scripts that Redis runs, each of which is atomic.

use std::sync::LazyLock;

use redis::Script;

/// Declares scripts, each of which begins with the same files.
macro_rules! scripts {
    ($common:expr; $($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(&[$common, include_str!(concat!("lua/", $file))].concat())
        });)*
    };
}

scripts! {
    include_str!("lua/common.lua");
    ABANDON_ONCE = "abandon_once.lua";
    ABANDON_STEP = "abandon_step.lua";
    BEGIN_ONCE = "begin_once.lua";
    BEGIN_STEP = "begin_step.lua";
    CHANGE = "change.lua";
    CLAIM = "claim.lua";
    CLAIM_DUE = "claim_due.lua";
    COMPLETE_ONCE = "complete_once.lua";
    COMPLETE_STEP = "complete_step.lua";
    CREATE = "create.lua";
    DELETE_ALL = "delete_all.lua";
    FORGET_ONCE = "forget_once.lua";
    INFO = "info.lua";
    INSPECT = "inspect.lua";
    LIST = "list.lua";
    LIST_ALL = "list_all.lua";
    LOAD = "load.lua";
    PROBE = "probe.lua";
    RETRY = "retry.lua";
    SET_DUE = "set_due.lua";
    VERSION = "version.lua";
}

scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/log.lua"));
    PUBLISH_CHANGES = "publish_changes.lua";
    RECEIVE_CHANGES = "receive_changes.lua";
}

scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/results.lua"));
    DELETE_RESULTS = "delete_results.lua";
    KEEP_RESULT = "keep_result.lua";
    LOAD_RESULT = "load_result.lua";
}

#[cfg(feature = "http")]
scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/sessions.lua"));
    APPEND_EVENT = "append_event.lua";
    FORGET_EVENTS = "forget_events.lua";
    INSERT_SESSION = "insert_session.lua";
    LOAD_SESSION = "load_session.lua";
    READ_EVENTS = "read_events.lua";
    REMOVE_SESSION = "remove_session.lua";
    SAVE_SESSION = "save_session.lua";
}

#[cfg(feature = "http")]
scripts! {
    concat!(include_str!("lua/common.lua"), include_str!("lua/inboxes.lua"));
    LIST_INSTANCES = "list_instances.lua";
    RECEIVE_MESSAGES = "receive_messages.lua";
    SEND_MESSAGE = "send_message.lua";
}
