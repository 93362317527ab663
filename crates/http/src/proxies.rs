//! Trusted proxies, and the client addresses that they report.
//!
//! A header that describes the client is only as trustworthy as its sender. Only the part of the header that trusted
//! proxies have written is used: its list is read from the end, and the first address that does not belong to a trusted
//! proxy is assumed to be the client's.
//!
//! Specification: RFC 7239; `X-Forwarded-For` has none.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{FORWARDED, HeaderName, HeaderValue};

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies whose reports about clients are trusted, for
/// [`HttpOptions::trusted_proxies`](crate::HttpOptions::trusted_proxies).
///
/// ```
/// use mcp_runtime::http::{HttpOptions, TrustedProxies};
///
/// let nginx = HttpOptions::new().trusted_proxies(TrustedProxies::new(["127.0.0.1", "10.0.0.0/8"]));
/// let rfc_7239 = HttpOptions::new().trusted_proxies(TrustedProxies::new(["fd00::/8"]).forwarded());
/// ```
///
/// The client's address is taken from one header only, `X-Forwarded-For` by default. A proxy forwards the other header
/// unchanged, so the client could forge it.
#[derive(Clone, Debug)]
#[must_use]
pub struct TrustedProxies {
    networks: Vec<Network>,
    /// `true` if requests from anywhere are trusted, even if their peer is unknown.
    everywhere: bool,
    /// `true` if proxies send `Forwarded` instead of `X-Forwarded-For`.
    forwarded: bool,
    /// Entries that are neither addresses nor networks.
    invalid: Vec<String>,
}

/// A network: all addresses that share their first `bits` bits with `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u32,
}

impl TrustedProxies {
    /// Trusts the proxies at these addresses (`127.0.0.1`) and in these networks (`10.0.0.0/8`). `*` trusts every peer,
    /// including those that have no IP address, such as the peers of a Unix socket: use it only if no one but the proxy
    /// can reach the server.
    ///
    /// Start-up fails if an entry is neither an address nor a network.
    pub fn new(proxies: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let trusted = Self {
            networks: Vec::new(),
            everywhere: false,
            forwarded: false,
            invalid: Vec::new(),
        };
        trusted.with_more_proxies(proxies)
    }

    /// Trusts more proxies.
    pub(crate) fn with_more_proxies(
        mut self,
        proxies: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        for proxy in proxies.into_iter().map(Into::into) {
            match Network::parse(&proxy) {
                Some(network) => self.networks.push(network),
                None if proxy == "*" => self.everywhere = true,
                None => self.invalid.push(proxy),
            }
        }
        self
    }

    /// Reads the client's address from `Forwarded` (RFC 7239) instead of `X-Forwarded-For`.
    pub fn forwarded(mut self) -> Self {
        self.forwarded = true;
        self
    }

    /// Describes each problem with the entries in one sentence.
    pub(crate) fn faults(&self) -> impl Iterator<Item = String> {
        self.invalid.iter().map(|entry| {
            format!("the trusted proxy `{entry}` is neither an IP address nor a network such as `10.0.0.0/8`")
        })
    }

    /// Returns `true` if the peer is a trusted proxy.
    pub(super) fn contains_peer(&self, peer: Option<SocketAddr>) -> bool {
        self.everywhere || peer.is_some_and(|peer| self.contains_address(peer.ip()))
    }

    fn contains_address(&self, address: IpAddr) -> bool {
        let mut networks = self.networks.iter();
        networks.any(|network| network.contains(address))
    }

    /// Returns the client's address as reported by a trusted proxy, or `None` if the proxy does not report it. If
    /// trusted proxies report only each other, the first of them is assumed to be the client.
    pub(super) fn reported_client(&self, headers: &HeaderMap) -> Option<IpAddr> {
        if self.forwarded {
            let lists = headers.get_all(FORWARDED).iter().rev();
            self.first_untrusted(lists.flat_map(addresses_in_forwarded))
        } else {
            let lists = headers.get_all(&X_FORWARDED_FOR).iter().rev();
            self.first_untrusted(lists.flat_map(addresses_in_x_forwarded_for))
        }
    }

    /// Returns the first address that does not belong to a trusted proxy, or the last address if all of them do. If an
    /// unreadable element is reached first, the client is unknown, because the client itself may have written all
    /// elements before it.
    fn first_untrusted(&self, addresses: impl Iterator<Item = Option<IpAddr>>) -> Option<IpAddr> {
        let mut last = None;
        for address in addresses {
            let address = address?;
            if !self.contains_address(address) {
                return Some(address);
            }
            last = Some(address);
        }
        last
    }
}

/// Returns the addresses in an `X-Forwarded-For` header in reverse order, with `None` for each unreadable element. The
/// header does not support quoted strings, so a quotation mark sent by a client cannot affect the elements that proxies
/// append.
fn addresses_in_x_forwarded_for(list: &HeaderValue) -> impl Iterator<Item = Option<IpAddr>> {
    let elements = list.as_bytes().rsplit(|byte| *byte == b',');
    elements.map(|element| node_address(std::str::from_utf8(element).ok()?.trim_ascii()))
}

/// Returns the addresses in a `Forwarded` header in reverse order, with `None` for each unreadable element.
fn addresses_in_forwarded(list: &HeaderValue) -> impl Iterator<Item = Option<IpAddr>> {
    let list = String::from_utf8_lossy(list.as_bytes());
    let addresses: Vec<_> = match split_unquoted(&list, ',') {
        Some(elements) => elements.into_iter().rev().map(forwarded_for).collect(),
        None => vec![None],
    };
    addresses.into_iter()
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Self { address, bits })
    }

    fn contains(self, address: IpAddr) -> bool {
        // An IPv4 client that connects to an IPv6 socket has a mapped address.
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.leading_zeros() >= self.bits
            }
            _ => false,
        }
    }
}

/// Splits text at each separator outside quoted strings. Returns `None` if a quoted string is not terminated.
fn split_unquoted(text: &str, separator: char) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut start, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if character == separator && !is_quoted => {
                parts.push(text.get(start..at)?);
                start = at.saturating_add(character.len_utf8());
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?);
    (!is_quoted).then_some(parts)
}

/// Returns the address in the `for` parameter of a `Forwarded` element. The parameter must occur exactly once.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut found = None;
    for pair in split_unquoted(element, ';')? {
        let (name, value) = pair.split_once('=')?;
        if name.trim_ascii().eq_ignore_ascii_case("for") {
            let value = value.trim_ascii();
            let quoted = value
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            if found.replace(quoted.unwrap_or(value)).is_some() {
                return None;
            }
        }
    }
    node_address(found?)
}

/// Returns a node's address. A node is an address, optionally with a port; an IPv6 address with a port is enclosed in
/// brackets. Returns `None` for any other text, such as `unknown`.
fn node_address(node: &str) -> Option<IpAddr> {
    let bracketed = || {
        let (address, rest) = node.strip_prefix('[')?.split_once(']')?;
        let is_port = rest.is_empty() || rest.strip_prefix(':')?.parse::<u16>().is_ok();
        address.parse().ok().filter(|_| is_port)
    };
    let address: Option<IpAddr> = node.parse().ok();
    let address = address.or_else(|| {
        node.parse()
            .ok()
            .map(|with_port: SocketAddr| with_port.ip())
    });
    address
        .or_else(bracketed)
        .map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(proxies: &TrustedProxies, name: &HeaderName, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        match proxies.reported_client(&headers) {
            Some(address) => address.to_string(),
            None => "-".to_owned(),
        }
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_a_trusted_proxy() {
        let proxies = TrustedProxies::new(["10.0.0.0/8", "fd00::/8"]);
        for (lines, client) in [
            (&["203.0.113.7"][..], "203.0.113.7"),
            (&["203.0.113.7, 10.1.2.3"], "203.0.113.7"),
            (&["198.51.100.1, 203.0.113.7, 10.1.2.3"], "203.0.113.7"),
            (&["198.51.100.1", "203.0.113.7", "10.1.2.3"], "203.0.113.7"),
            (&["203.0.113.7:4711"], "203.0.113.7"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["[2001:db8::1]:443 , fd00::1"], "2001:db8::1"),
            (&["::ffff:203.0.113.7"], "203.0.113.7"),
            (&["10.1.2.4, 10.1.2.3"], "10.1.2.4"),
            (&["unknown"], "-"),
            (&["203.0.113.7, "], "-"),
            (&["203.0.113.7, é"], "-"),
            // A client cannot hide its address, which the proxy appends.
            (&["\", 203.0.113.7"], "203.0.113.7"),
            (&["é, 203.0.113.7"], "203.0.113.7"),
            (&["\"", "203.0.113.7, 10.1.2.3"], "203.0.113.7"),
            (&["203.0.113.7, \"10.1.2.3"], "-"),
            (&["203.0.113.7, [10.1.2.3"], "-"),
            (&[], "-"),
        ] {
            assert_eq!(
                reported(&proxies, &X_FORWARDED_FOR, lines),
                client,
                "{lines:?}"
            );
        }
        let only_x = reported(&proxies, &FORWARDED, &["for=203.0.113.7"]);
        assert_eq!(
            only_x, "-",
            "a proxy passes this header on as the client sent it"
        );
    }

    #[test]
    fn forwarded_is_read_with_its_quotes_and_parameters() {
        let proxies = TrustedProxies::new(["10.0.0.0/8"]).forwarded();
        for (lines, client) in [
            (&["for=203.0.113.7"][..], "203.0.113.7"),
            (&["For=\"[2001:db8::1]:4711\";proto=https"], "2001:db8::1"),
            (
                &["proto=https; for=203.0.113.7, for=10.0.0.1;by=10.0.0.2"],
                "203.0.113.7",
            ),
            (&["for=\"a, for=198.51.100.1\", for=10.0.0.1"], "-"),
            (&["for=198.51.100.1", "for=203.0.113.7"], "203.0.113.7"),
            (&["for=é, for=203.0.113.7"], "203.0.113.7"),
            (&["for=\"", "for=203.0.113.7"], "203.0.113.7"),
            (&["for=unknown"], "-"),
            (&["for=\"_hidden\""], "-"),
            (&["proto=https"], "-"),
            (&["for=198.51.100.1;for=203.0.113.7"], "-"),
            (&["for"], "-"),
        ] {
            assert_eq!(reported(&proxies, &FORWARDED, lines), client, "{lines:?}");
        }
        assert_eq!(reported(&proxies, &X_FORWARDED_FOR, &["203.0.113.7"]), "-");
    }

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
        let peer = |text: &str| Some(SocketAddr::new(text.parse().unwrap(), 1));
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("192.0.2.4/31", "192.0.2.5", "192.0.2.6"),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("127.0.0.1", "::ffff:127.0.0.1", "::1"),
            ("fd00::/8", "fd12::1", "fe80::1"),
            ("0.0.0.0/0", "198.51.100.1", "::1"),
        ] {
            let proxies = TrustedProxies::new([network]);
            assert!(proxies.contains_peer(peer(inside)), "{network} {inside}");
            assert!(!proxies.contains_peer(peer(outside)), "{network} {outside}");
            assert!(!proxies.contains_peer(None));
        }
        assert!(TrustedProxies::new(["*"]).contains_peer(None));
        let more = TrustedProxies::new(["10.0.0.1"])
            .forwarded()
            .with_more_proxies(["*"]);
        assert!(more.contains_peer(None) && more.forwarded);
        let invalid =
            TrustedProxies::new(["proxy", "10.0.0.0/33", "::/129", "10.0.0.0/x", "10.0.0.1"]);
        assert_eq!(invalid.faults().count(), 4);
    }
}
