//! Reads `params` and, in the same pass, finds the members that the protocol uses.

use std::borrow::Cow;

use crate::jsonrpc::scan::{Scan, Span};
use crate::jsonrpc::text::{unquote, without_quotes};

/// Defines an enum of members, with their names on the wire and conversions in both directions.
macro_rules! members {
    ($(#[$doc:meta])* $kind:ident { $($member:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $(#[doc = concat!("`", $name, "`")] $member,)+
        }

        impl $kind {
            const COUNT: usize = [$($name),+].len();

            /// Returns the name used on the wire.
            pub const fn as_str(self) -> &'static str {
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
    /// Members of `params` that are recorded while a message is read.
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
        Task = "task",
        Meta = "_meta",
    }
}

members! {
    /// Members of `params._meta` that are recorded. The first is the claim that makes a message modern.
    MetaMember {
        ProtocolVersion = "io.modelcontextprotocol/protocolVersion",
        ClientCapabilities = "io.modelcontextprotocol/clientCapabilities",
        ClientInfo = "io.modelcontextprotocol/clientInfo",
        LogLevel = "io.modelcontextprotocol/logLevel",
        ProgressToken = "progressToken",
    }
}

/// The `_meta` from the previous message, with the members found in it. Most clients send the same `_meta` in every
/// request, so this avoids reading the same bytes again.
#[derive(Debug, Default)]
pub struct KnownMeta {
    /// The object as valid JSON without backslashes. Empty if there is no known `_meta`.
    text: String,
    /// Number of values in `text`.
    nodes: usize,
    /// Positions in `text`.
    members: [Option<Span>; MetaMember::COUNT],
}

impl KnownMeta {
    /// Maximum length of a known `_meta`, in bytes. A longer one is parsed every time.
    const MAX_BYTES: usize = 2 << 10;
}

/// The raw `params`, together with the positions of the members that the protocol uses.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    /// The text of the message. Members are stored as positions in this text because positions are half the size of
    /// slices and this struct is moved often.
    text: &'a str,
    /// `true` if no string in the message contains a backslash.
    pub(super) is_plain: bool,
    raw: Option<Span>,
    members: [Option<Span>; Member::COUNT],
    meta: [Option<Span>; MetaMember::COUNT],
}

impl<'a> Params<'a> {
    /// Creates the value for a message without `params`.
    pub(super) fn absent(text: &'a str) -> Self {
        Self {
            text,
            is_plain: false,
            raw: None,
            members: [None; Member::COUNT],
            meta: [None; MetaMember::COUNT],
        }
    }

    /// Returns the text of the message.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns these `params` in another copy of the text.
    pub(super) fn in_copy<'b>(&self, text: &'b str) -> Params<'b> {
        Params { text, ..*self }
    }

    /// Reads the value of `params`. Sets `repeated` if a member that is kept occurs more than once.
    pub(super) fn read(
        &mut self,
        scan: &mut Scan<'a>,
        mut known: Option<&mut KnownMeta>,
        repeated: &mut bool,
    ) -> Option<()> {
        let start = scan.next_value_start();
        if scan.peek() != Some(b'{') {
            let raw = scan.read_value(1)?;
            self.raw = Some(raw).filter(|raw| raw.slice(self.text) != "null");
            return Some(());
        }
        scan.read_object(1, |scan, key| {
            let Some(member) = Member::named(key) else {
                return scan.read_value(2).map(drop);
            };
            let value = if member == Member::Meta && scan.peek() == Some(b'{') {
                self.read_meta(scan, known.as_deref_mut(), repeated)?
            } else {
                scan.read_value(2)?
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

    /// Reads `_meta`, which must be an object, or skips it if it equals the known `_meta`.
    fn read_meta(
        &mut self,
        scan: &mut Scan<'a>,
        known: Option<&mut KnownMeta>,
        repeated: &mut bool,
    ) -> Option<Span> {
        let start = scan.next_value_start();
        if let Some(known) = &known
            && scan.skip_if_next(&known.text, known.nodes)
        {
            self.meta = known.members.map(|span| span?.after(start));
            return scan.span(start);
        }
        let (nodes, escaped) = (scan.nodes(), scan.escaped_string_count());
        let meta = &mut self.meta;
        scan.read_object(2, |scan, key| {
            let member = MetaMember::named(key);
            let value = scan.read_value(3)?;
            if let Some(slot) = member.and_then(|member| meta.get_mut(member as usize)) {
                *repeated |= slot.is_some();
                *slot = Some(value);
            }
            Some(())
        })?;
        let meta_span = scan.span(start)?;
        let text = meta_span.slice(self.text);
        if let Some(known) = known
            && text.len() <= KnownMeta::MAX_BYTES
            && scan.escaped_string_count() == escaped
            && !*repeated
        {
            known.text.clear();
            known.text.push_str(text);
            known.nodes = nodes.saturating_sub(scan.nodes());
            known.members = self.meta.map(|span| span?.within(start));
        }
        Some(meta_span)
    }

    /// Returns the raw JSON of `params`, if present.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> Option<&'a str> {
        Some(self.raw?.slice(self.text))
    }

    /// Returns `true` if `params` is absent or an object.
    #[inline]
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.raw().is_none_or(|raw| raw.starts_with('{'))
    }

    /// Returns the raw JSON of a member. `null` counts as absent, because some clients send it instead of omitting a
    /// member.
    #[inline]
    #[must_use]
    pub fn get(&self, member: Member) -> Option<&'a str> {
        let json = (*self.members.get(member as usize)?)?.slice(self.text);
        (json != "null").then_some(json)
    }

    /// Returns the raw JSON of a member of `_meta`.
    #[inline]
    #[must_use]
    pub fn meta(&self, member: MetaMember) -> Option<&'a str> {
        Some((*self.meta.get(member as usize)?)?.slice(self.text))
    }

    /// Returns the unescaped text of a member that must be a string, or an error if the member is present but not a
    /// string.
    #[inline]
    pub fn string(&self, member: Member) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.text_of(self.get(member))
    }

    /// Returns the unescaped text of a member of `_meta` that must be a string, or an error if the member is present
    /// but not a string.
    #[inline]
    pub fn meta_string(&self, member: MetaMember) -> Result<Option<Cow<'a, str>>, NotAString> {
        self.text_of(self.meta(member))
    }

    /// Returns the text of a JSON string in the message.
    pub(super) fn text_of(
        &self,
        json: Option<&'a str>,
    ) -> Result<Option<Cow<'a, str>>, NotAString> {
        let text = |json| {
            if self.is_plain {
                without_quotes(json).map(Cow::Borrowed)
            } else {
                unquote(json)
            }
        };
        json.map(text).transpose()
    }
}

/// The error for a member whose value must be a string but is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAString;
