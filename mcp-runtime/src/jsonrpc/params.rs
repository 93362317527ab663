//! `params`, with the members the protocol uses found on the way through the message.

use std::borrow::Cow;

use crate::jsonrpc::scan::{Scan, Span};
use crate::jsonrpc::text::{inside, unquote};

/// Names members once: an enum, the names on the wire, and the way back.
macro_rules! members {
    ($(#[$doc:meta])* $kind:ident { $($member:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $kind {
            $(#[doc = concat!("`", $name, "`")] $member,)+
        }

        impl $kind {
            const COUNT: usize = [$($name),+].len();

            /// Its name on the wire.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $name,)+
                }
            }

            fn named(name: &[u8]) -> Option<Self> {
                Some(match name {
                    $(name if name == $name.as_bytes() => Self::$member,)+
                    _ => return None,
                })
            }
        }
    };
}

members! {
    /// Members of `params` that are kept on the way through a message.
    Member {
        Name = "name",
        Uri = "uri",
        Cursor = "cursor",
        Arguments = "arguments",
        Ref = "ref",
        Argument = "argument",
        Context = "context",
        Level = "level",
        RequestId = "requestId",
        ProtocolVersion = "protocolVersion",
        Capabilities = "capabilities",
        ClientInfo = "clientInfo",
        Notifications = "notifications",
        InputResponses = "inputResponses",
        RequestState = "requestState",
        Meta = "_meta",
    }
}

members! {
    /// Members of `params._meta` that are kept. The first is the claim that makes a message modern.
    MetaMember {
        ProtocolVersion = "io.modelcontextprotocol/protocolVersion",
        ClientCapabilities = "io.modelcontextprotocol/clientCapabilities",
        ClientInfo = "io.modelcontextprotocol/clientInfo",
        LogLevel = "io.modelcontextprotocol/logLevel",
        ProgressToken = "progressToken",
    }
}

/// `params`, raw, with the members the protocol uses already found.
#[derive(Clone, Debug)]
pub(crate) struct Params<'a> {
    /// The message. Places in it are half as large as slices, and this is moved around a lot.
    text: &'a str,
    /// No string of the message holds a backslash.
    pub(super) is_plain: bool,
    raw: Option<Span>,
    members: [Option<Span>; Member::COUNT],
    meta: [Option<Span>; MetaMember::COUNT],
}

impl<'a> Params<'a> {
    /// None, of this message.
    pub(super) fn none(text: &'a str) -> Self {
        Self {
            text,
            is_plain: false,
            raw: None,
            members: [None; Member::COUNT],
            meta: [None; MetaMember::COUNT],
        }
    }

    /// Reads the value of `params`. `repeated` is set if a member that is kept is there twice.
    pub(super) fn read(&mut self, scan: &mut Scan<'a>, repeated: &mut bool) -> Option<()> {
        let start = scan.mark();
        if scan.peek() != Some(b'{') {
            let raw = scan.value(1)?;
            self.raw = Some(raw).filter(|raw| raw.of(self.text) != "null");
            return Some(());
        }
        let Self { members, meta, .. } = self;
        scan.object(1, |scan, key| {
            let Some(member) = Member::named(key) else {
                return scan.value(2).map(drop);
            };
            let value = if member == Member::Meta && scan.peek() == Some(b'{') {
                let start = scan.mark();
                scan.object(2, |scan, key| {
                    let member = MetaMember::named(key);
                    let value = scan.value(3)?;
                    if let Some(slot) = member.and_then(|member| meta.get_mut(member as usize)) {
                        *repeated |= slot.is_some();
                        *slot = Some(value);
                    }
                    Some(())
                })?;
                scan.span(start)?
            } else {
                scan.value(2)?
            };
            if let Some(slot) = members.get_mut(member as usize) {
                *repeated |= slot.is_some();
                *slot = Some(value);
            }
            Some(())
        })?;
        self.raw = scan.span(start);
        Some(())
    }

    /// The raw JSON of `params`, if there is any.
    pub(crate) fn raw(&self) -> Option<&'a str> {
        Some(self.raw?.of(self.text))
    }

    /// Whether `params` is absent or an object.
    pub(crate) fn is_object(&self) -> bool {
        self.raw().is_none_or(|raw| raw.starts_with('{'))
    }

    /// The raw JSON of a member.
    pub(crate) fn get(&self, member: Member) -> Option<&'a str> {
        Some((*self.members.get(member as usize)?)?.of(self.text))
    }

    /// The raw JSON of a member of `_meta`.
    pub(crate) fn meta(&self, member: MetaMember) -> Option<&'a str> {
        Some((*self.meta.get(member as usize)?)?.of(self.text))
    }

    /// A member that must be a string, unescaped; `Err` if it is there and is none.
    pub(crate) fn string(&self, member: Member) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.text_of(self.get(member))
    }

    /// A member of `_meta` that must be a string, unescaped.
    pub(crate) fn meta_string(
        &self,
        member: MetaMember,
    ) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.text_of(self.meta(member))
    }

    /// The text of a string of the message.
    pub(super) fn text_of(
        &self,
        json: Option<&'a str>,
    ) -> Result<Option<Cow<'a, str>>, NotAString> {
        let text = |json| {
            if self.is_plain {
                inside(json).map(Cow::Borrowed)
            } else {
                unquote(json)
            }
        };
        json.map(text).transpose()
    }
}

/// The value of a member that should be a string is something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAString;
