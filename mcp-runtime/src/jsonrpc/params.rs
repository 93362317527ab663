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

/// The `_meta` of the message before, with what was found in it: most clients say the same in every request, and what is
/// the same byte for byte need not be read again.
#[derive(Debug, Default)]
pub(crate) struct KnownMeta {
    /// An object without backslashes, valid where it stood; empty if there is none.
    text: String,
    /// How many values that is.
    nodes: usize,
    /// Places in `text`.
    members: [Option<Span>; MetaMember::COUNT],
}

impl KnownMeta {
    /// Longer ones are read each time.
    const MOST: usize = 2 << 10;
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
    pub(super) fn read(
        &mut self,
        scan: &mut Scan<'a>,
        mut known: Option<&mut KnownMeta>,
        repeated: &mut bool,
    ) -> Option<()> {
        let start = scan.mark();
        if scan.peek() != Some(b'{') {
            let raw = scan.value(1)?;
            self.raw = Some(raw).filter(|raw| raw.of(self.text) != "null");
            return Some(());
        }
        scan.object(1, |scan, key| {
            let Some(member) = Member::named(key) else {
                return scan.value(2).map(drop);
            };
            let value = if member == Member::Meta && scan.peek() == Some(b'{') {
                self.read_meta(scan, known.as_deref_mut(), repeated)?
            } else {
                scan.value(2)?
            };
            if let Some(slot) = self.members.get_mut(member as usize) {
                *repeated |= slot.is_some();
                *slot = Some(value);
            }
            Some(())
        })?;
        self.raw = scan.span(start);
        Some(())
    }

    /// Reads `_meta`, an object, unless it is known.
    fn read_meta(
        &mut self,
        scan: &mut Scan<'a>,
        known: Option<&mut KnownMeta>,
        repeated: &mut bool,
    ) -> Option<Span> {
        let start = scan.mark();
        if let Some(known) = &known
            && scan.pass(&known.text, known.nodes)
        {
            self.meta = known.members.map(|place| place?.after(start));
            return scan.span(start);
        }
        let (nodes, escaped) = (scan.nodes(), scan.escaped());
        let meta = &mut self.meta;
        scan.object(2, |scan, key| {
            let member = MetaMember::named(key);
            let value = scan.value(3)?;
            if let Some(slot) = member.and_then(|member| meta.get_mut(member as usize)) {
                *repeated |= slot.is_some();
                *slot = Some(value);
            }
            Some(())
        })?;
        let place = scan.span(start)?;
        let text = place.of(self.text);
        if let Some(known) = known
            && text.len() <= KnownMeta::MOST
            && scan.escaped() == escaped
            && !*repeated
        {
            known.text.clear();
            known.text.push_str(text);
            known.nodes = nodes.saturating_sub(scan.nodes());
            known.members = self.meta.map(|place| place?.within(start));
        }
        Some(place)
    }

    /// The raw JSON of `params`, if there is any.
    pub(crate) fn raw(&self) -> Option<&'a str> {
        Some(self.raw?.of(self.text))
    }

    /// Whether `params` is absent or an object.
    pub(crate) fn is_object(&self) -> bool {
        self.raw().is_none_or(|raw| raw.starts_with('{'))
    }

    /// The raw JSON of a member. `null` is the same as none: clients whose language has no other word for it send that.
    pub(crate) fn get(&self, member: Member) -> Option<&'a str> {
        let json = (*self.members.get(member as usize)?)?.of(self.text);
        (json != "null").then_some(json)
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
