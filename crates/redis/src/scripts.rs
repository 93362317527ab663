//! The scripts that Redis runs, each of which is atomic.

use std::sync::LazyLock;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, RedisResult, Script, ServerErrorKind, ToRedisArgs};

/// A script, and the name under which its calls are reported.
pub(crate) struct NamedScript {
    name: &'static str,
    script: LazyLock<Script>,
}

/// A call to a script. It is written as it is sent, which takes fewer allocations than the library's type.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    script: &'static Script,
    command: Cmd,
}

impl NamedScript {
    /// Begins a call to the script, for the keys with this prefix.
    pub(crate) fn with_prefix(&'static self, prefix: &str) -> Operation {
        let script = &*self.script;
        let mut command = Cmd::with_capacity(ARGUMENTS, BYTES);
        command.arg("EVALSHA").arg(script.get_hash());
        command.arg(1).arg(prefix);
        Operation {
            name: self.name,
            script,
            command,
        }
    }
}

impl Operation {
    pub(crate) fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.command.arg(argument);
        self
    }

    /// Runs the script, which is loaded first if Redis does not know it.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<T> {
        let done = self.command.query_async(connection).await;
        let is_unknown = |error: &redis::RedisError| {
            error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
        };
        if !done.as_ref().is_err_and(is_unknown) {
            return done;
        }
        // Boxed, because it is seldom needed.
        Box::pin(async {
            self.script.load_async(connection).await?;
            self.command.query_async(connection).await
        })
        .await
    }
}

/// Usual number and size of the arguments of a command, which are not limits.
const ARGUMENTS: usize = 8;
const BYTES: usize = 192;

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
    ABANDON_STEP = "abandon_step";
    BEGIN_STEP = "begin_step";
    CHANGE = "change";
    CLAIM = "claim";
    CLAIM_DUE = "claim_due";
    COMPLETE_STEP = "complete_step";
    CREATE = "create";
    DELETE_ALL = "delete_all";
    INFO = "info";
    INSPECT = "inspect";
    LIST = "list";
    LIST_ALL = "list_all";
    LOAD = "load";
    PARTITIONS = "partitions";
    RETRY = "retry";
    SET_DUE = "set_due";
    TAKE_TOKENS = "take_tokens";
    USAGE = "usage";
    VERSION = "version";
    WITHDRAW = "withdraw";
}

#[cfg(feature = "http")]
scripts! {
    include_str!("lua/common.lua");
    PROBE = "probe";
}

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
    concat!(include_str!("lua/common.lua"), include_str!("lua/once.lua"));
    ABANDON_ONCE = "abandon_once";
    BEGIN_ONCE = "begin_once";
    COMPLETE_ONCE = "complete_once";
    END_ONCE = "end_once";
    FORGET_ONCE = "forget_once";
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
    LOAD_SESSIONS = "load_sessions";
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
