//! Budgets: bytes that clients make the server hold, counted for each client and for all of them.
//!
//! A client may use as much of a budget as remains free afterward. A client that is alone can therefore use half of the
//! budget, and however much others use, a client that uses nothing yet can still get something.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

use crate::context::Principal;
use crate::lock::lock;

/// The client for whom bytes are held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// The key of an authenticated caller.
    Principal(Arc<str>),
    /// The address of an anonymous client. `None` stands for all clients whose addresses are unknown.
    Anonymous(Option<ClientNetwork>),
}

impl Holder {
    /// Returns the holder for a request with this caller, from this address.
    pub(crate) fn new(caller: Option<&Principal>, network: Option<ClientNetwork>) -> Self {
        match caller {
            Some(principal) => Self::Principal(principal.key().into()),
            None => Self::Anonymous(network),
        }
    }
}

/// The network of a client: its IPv4 address, or the first 64 bits of its IPv6 address, because a client with one
/// IPv6 address usually has all that differ only in the other bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientNetwork(NonZeroU64);

impl From<IpAddr> for ClientNetwork {
    fn from(address: IpAddr) -> Self {
        let bits = match address {
            // No client has an IPv6 address that begins with these bits: they denote groups of receivers.
            IpAddr::V4(address) => (u64::from(u32::MAX) << 32) | u64::from(address.to_bits()),
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
        };
        // The address of this machine, `::1`, begins with zeros.
        Self(NonZeroU64::new(bits).unwrap_or(NonZeroU64::MIN))
    }
}

/// A number of bytes that all clients share.
pub(crate) struct ByteBudget {
    limit: usize,
    held: AtomicUsize,
    accounts: Mutex<HashMap<Holder, Weak<Account>>>,
    /// Notified when bytes are released.
    #[cfg(feature = "http")]
    released: tokio::sync::Notify,
}

/// The bytes held for one client.
struct Account {
    budget: Arc<ByteBudget>,
    holder: Holder,
    held: AtomicUsize,
}

/// Bytes that are counted for a client until this is dropped.
pub(crate) struct Charge {
    account: Arc<Account>,
    bytes: usize,
}

/// A [`Charge`] for which the client's account is opened once there is something to count.
pub(crate) struct LazyCharge {
    budget: Arc<ByteBudget>,
    holder: Holder,
    charge: Option<Charge>,
}

impl ByteBudget {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: AtomicUsize::new(0),
            accounts: Mutex::default(),
            #[cfg(feature = "http")]
            released: tokio::sync::Notify::new(),
        })
    }

    /// Returns a charge for this client, of zero bytes.
    pub(crate) fn charge(self: &Arc<Self>, holder: &Holder) -> Charge {
        Charge {
            account: self.account(holder),
            bytes: 0,
        }
    }

    /// Returns a charge for this client, of zero bytes, which costs hardly anything until it is used.
    pub(crate) fn lazy_charge(self: &Arc<Self>, holder: Holder) -> LazyCharge {
        LazyCharge {
            budget: Arc::clone(self),
            holder,
            charge: None,
        }
    }

    /// Returns the client's account.
    fn account(self: &Arc<Self>, holder: &Holder) -> Arc<Account> {
        let mut accounts = lock(&self.accounts);
        if let Some(account) = accounts.get(holder).and_then(Weak::upgrade) {
            return account;
        }
        let account = Arc::new(Account {
            budget: Arc::clone(self),
            holder: holder.clone(),
            held: AtomicUsize::new(0),
        });
        accounts.insert(holder.clone(), Arc::downgrade(&account));
        account
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    /// Returns `true` if less than half of the budget is free. Otherwise, every client is within its share.
    #[cfg(feature = "http")]
    pub(crate) fn is_scarce(&self) -> bool {
        self.is_scarce_at(self.held.load(Relaxed))
    }

    #[cfg(feature = "http")]
    fn is_scarce_at(&self, held: usize) -> bool {
        held > self.limit / 2
    }

    /// Waits until the client is within its share.
    ///
    /// # Errors
    ///
    /// Fails if this takes longer than `limit`.
    #[cfg(feature = "http")]
    pub(crate) async fn wait_for_room(
        self: &Arc<Self>,
        holder: &Holder,
        limit: std::time::Duration,
    ) -> Result<(), Shortage> {
        let account = self.account(holder);
        let waiting = async {
            loop {
                let mut released = std::pin::pin!(self.released.notified());
                // Bytes that are released from now on are noticed.
                released.as_mut().enable();
                if account.is_within_share() {
                    return;
                }
                released.await;
            }
        };
        let waited = tokio::time::timeout(limit, waiting).await;
        waited.map_err(|_| match account.held.load(Relaxed) {
            0 => Shortage::Everywhere,
            _ => Shortage::OfClient,
        })
    }
}

/// The reason why there is no room.
#[cfg(feature = "http")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// The client itself holds too much.
    OfClient,
    /// Others hold too much.
    Everywhere,
}

impl Account {
    /// Returns `true` if the client holds at most as much as remains free.
    fn is_within_share(&self) -> bool {
        let free = self
            .budget
            .limit
            .checked_sub(self.budget.held.load(Relaxed));
        free.is_some_and(|free| self.held.load(Relaxed) <= free)
    }

    fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, Relaxed);
        self.budget.held.fetch_add(bytes, Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Relaxed);
        let before = self.budget.held.fetch_sub(bytes, Relaxed);
        // Otherwise, every client was within its share, so nobody is waiting.
        #[cfg(feature = "http")]
        if self.budget.is_scarce_at(before) {
            self.budget.released.notify_waiters();
        }
        #[cfg(not(feature = "http"))]
        let _ = before;
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut accounts = lock(&self.budget.accounts);
        // The client may have a new account by now.
        let is_this = |account: &Weak<Self>| account.strong_count() == 0;
        if accounts.get(&self.holder).is_some_and(is_this) {
            accounts.remove(&self.holder);
        }
    }
}

impl Charge {
    /// Returns `true` if the client holds at most as much as remains free.
    #[cfg(feature = "http")]
    pub(crate) fn is_within_share(&self) -> bool {
        !self.is_scarce() || self.account.is_within_share()
    }

    /// Returns `true` if less than half of the budget is free.
    #[cfg(feature = "http")]
    pub(crate) fn is_scarce(&self) -> bool {
        self.account.budget.is_scarce()
    }

    /// Returns another charge for the same client, of zero bytes.
    #[cfg(feature = "http")]
    pub(crate) fn another(&self) -> Self {
        Self {
            account: Arc::clone(&self.account),
            bytes: 0,
        }
    }

    /// Changes the number of bytes, whether or not the client has room for them.
    pub(crate) fn resize(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.account.add(bytes.saturating_sub(self.bytes));
        } else if bytes < self.bytes {
            self.account.subtract(self.bytes.saturating_sub(bytes));
        }
        self.bytes = bytes;
    }

    /// Changes the number of bytes. Returns `false`, without a change, if there would be more than before and the
    /// client would hold more than would remain free.
    pub(crate) fn try_resize(&mut self, bytes: usize) -> bool {
        let before = self.bytes;
        self.resize(bytes);
        if bytes > before && !self.account.is_within_share() {
            self.resize(before);
            return false;
        }
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.resize(0);
    }
}

impl LazyCharge {
    /// Like [`Charge::resize`].
    pub(crate) fn resize(&mut self, bytes: usize) {
        if self.charge.is_some() || bytes > 0 {
            self.charge().resize(bytes);
        }
    }

    /// Like [`Charge::try_resize`].
    pub(crate) fn try_resize(&mut self, bytes: usize) -> bool {
        (self.charge.is_none() && bytes == 0) || self.charge().try_resize(bytes)
    }

    fn charge(&mut self) -> &mut Charge {
        let charge = || self.budget.charge(&self.holder);
        self.charge.get_or_insert_with(charge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(address: &str) -> Holder {
        let address: IpAddr = address.parse().unwrap();
        Holder::new(None, Some(address.into()))
    }

    #[test]
    fn a_client_may_hold_as_much_as_remains_free() {
        let budget = ByteBudget::new(1_000);
        let [one, other] = ["10.0.0.1", "10.0.0.2"].map(holder);
        let (mut first, mut more) = (budget.charge(&one), budget.lazy_charge(one));
        assert!(!first.try_resize(501) && first.try_resize(500));
        assert!(!more.try_resize(1));
        let mut second = budget.charge(&other);
        assert!(!second.try_resize(251) && second.try_resize(250));
        assert!(second.try_resize(200));
        drop(first);
        assert!(second.try_resize(500) && !second.try_resize(501));
        second.resize(2_000);
        assert!(second.try_resize(1_999), "less is never refused");
        assert!(!more.try_resize(1));
        drop(second);
        assert_eq!(budget.held.load(Relaxed), 0);
    }

    #[test]
    fn clients_are_forgotten_with_what_is_held_for_them() {
        let budget = ByteBudget::new(1_000);
        for number in 0..100 {
            let account = budget.account(&holder(&format!("10.0.0.{number}")));
            let again = budget.account(&holder(&format!("10.0.0.{number}")));
            assert!(Arc::ptr_eq(&account, &again));
            let mut charge = budget.lazy_charge(holder(&format!("10.0.0.{number}")));
            charge.resize(10);
            assert_eq!(account.held.load(Relaxed), 10);
        }
        assert!(lock(&budget.accounts).is_empty());
    }

    #[test]
    fn the_addresses_of_a_network_are_one_client() {
        for (one, other, same) in [
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("2001:db8::1", "2001:db8::2:3:4:5", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("255.255.255.255", "::ffff:ffff:ffff:ffff", false),
        ] {
            assert_eq!(holder(one) == holder(other), same, "{one} {other}");
        }
        assert_ne!(holder("10.0.0.1"), Holder::Anonymous(None));
    }
}
