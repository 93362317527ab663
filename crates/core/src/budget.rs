//! Budgets: bytes that clients make the server hold, counted for each client and for all of them.
//!
//! A client may use as much of a budget as remains free afterward. A client that is alone can therefore use half of the
//! budget, and however much others use, a client that uses nothing yet can still get something.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use crate::context::Principal;
use crate::host::timeout;
use crate::sync::lock;

/// The client for whom bytes are held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The key of an authenticated caller.
    Principal(Arc<str>),
    /// The address of an anonymous client. `None` stands for all clients whose addresses are unknown.
    Anonymous(Option<ClientNetwork>),
}

impl Holder {
    /// Returns the holder for a request with this caller, from this address.
    #[must_use]
    pub fn new(caller: Option<&Principal>, network: Option<ClientNetwork>) -> Self {
        match caller {
            Some(principal) => Self::Principal(principal.key().into()),
            None => Self::Anonymous(network),
        }
    }
}

impl Hash for Holder {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Principal(key) => key.hash(state),
            Self::Anonymous(network) => {
                state.write_u64(network.map_or(0, |network| network.0.get()));
            }
        }
    }
}

/// The network of a client: its IPv4 address, or the first 64 bits of its IPv6 address, because a client with one
/// IPv6 address usually has all that differ only in the other bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientNetwork(NonZeroU64);

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
pub struct ByteBudget {
    total: Arc<Total>,
    accounts: Mutex<Accounts>,
}

/// The bytes held for all clients.
struct Total {
    limit: usize,
    held: AtomicUsize,
    /// Notified when bytes are released.
    released: tokio::sync::Notify,
}

/// The accounts of clients. An account for which nobody holds a charge is kept, because most clients come back, until there
/// are as many as at the last peak. So there are never more than twice as many as clients held something at one time.
#[derive(Default)]
struct Accounts {
    open: HashMap<Holder, Arc<Account>>,
    /// The number of accounts at which those that nobody needs are closed.
    max: usize,
}

/// The number of accounts that may always be open.
const MIN_ACCOUNTS: usize = 1_024;

/// The bytes held for one client.
struct Account {
    total: Arc<Total>,
    held: AtomicUsize,
}

/// Bytes that are counted for a client until this is dropped.
pub struct Charge {
    account: Arc<Account>,
    bytes: usize,
}

/// A [`Charge`] for which the client's account is opened once there is something to count.
pub struct LazyCharge {
    budget: Arc<ByteBudget>,
    holder: Holder,
    charge: Option<Charge>,
}

impl ByteBudget {
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            total: Arc::new(Total {
                limit,
                held: AtomicUsize::new(0),
                released: tokio::sync::Notify::new(),
            }),
            accounts: Mutex::default(),
        })
    }

    /// Returns a charge for this client, of zero bytes.
    pub fn charge(self: &Arc<Self>, holder: &Holder) -> Charge {
        Charge {
            account: self.account(holder),
            bytes: 0,
        }
    }

    /// Returns a charge for this client, of zero bytes, which costs hardly anything until it is used.
    pub fn lazy_charge(self: &Arc<Self>, holder: Holder) -> LazyCharge {
        LazyCharge {
            budget: Arc::clone(self),
            holder,
            charge: None,
        }
    }

    /// Returns the client's account.
    fn account(&self, holder: &Holder) -> Arc<Account> {
        let mut accounts = lock(&self.accounts);
        if let Some(account) = accounts.open.get(holder) {
            return Arc::clone(account);
        }
        if accounts.open.len() >= accounts.max {
            let is_needed = |account: &Arc<Account>| Arc::strong_count(account) > 1;
            accounts.open.retain(|_, account| is_needed(account));
            accounts.max = accounts.open.len().saturating_mul(2).max(MIN_ACCOUNTS);
        }
        let account = Arc::new(Account {
            total: Arc::clone(&self.total),
            held: AtomicUsize::new(0),
        });
        accounts.open.insert(holder.clone(), Arc::clone(&account));
        account
    }

    /// Returns how many bytes are held for all clients.
    pub fn held(&self) -> usize {
        self.total.held.load(Relaxed)
    }

    /// Returns `true` if less than half of the budget is free. Otherwise, every client is within its share.
    pub fn is_scarce(&self) -> bool {
        self.total.is_scarce()
    }

    /// Waits until the client is within its share.
    ///
    /// # Errors
    ///
    /// Fails if this takes longer than `limit`.
    pub async fn wait_for_room(
        self: &Arc<Self>,
        holder: &Holder,
        limit: std::time::Duration,
    ) -> Result<(), BudgetExceeded> {
        let account = self.account(holder);
        let waiting = async {
            loop {
                let mut released = std::pin::pin!(self.total.released.notified());
                // Bytes that are released from now on are noticed.
                released.as_mut().enable();
                if account.is_within_share() {
                    return;
                }
                released.await;
            }
        };
        let waited = timeout(limit, waiting).await;
        waited.map_err(|_| match account.held.load(Relaxed) {
            0 => BudgetExceeded::ByOthers,
            _ => BudgetExceeded::ByClient,
        })
    }
}

/// Whose bytes exceed the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetExceeded {
    /// The client itself holds too much.
    ByClient,
    /// Others hold too much.
    ByOthers,
}

impl Total {
    fn is_scarce(&self) -> bool {
        self.is_scarce_at(self.held.load(Relaxed))
    }

    fn is_scarce_at(&self, held: usize) -> bool {
        held > self.limit / 2
    }
}

impl Account {
    /// Returns `true` if the client holds at most as much as remains free.
    fn is_within_share(&self) -> bool {
        let free = self.total.limit.checked_sub(self.total.held.load(Relaxed));
        free.is_some_and(|free| self.held.load(Relaxed) <= free)
    }

    fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, Relaxed);
        self.total.held.fetch_add(bytes, Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Relaxed);
        let before = self.total.held.fetch_sub(bytes, Relaxed);
        // Otherwise, every client was within its share, so nobody is waiting.
        if self.total.is_scarce_at(before) {
            self.total.released.notify_waiters();
        }
    }
}

impl Charge {
    /// Returns `true` if the client holds at most as much as remains free.
    #[must_use]
    pub fn is_within_share(&self) -> bool {
        !self.is_scarce() || self.account.is_within_share()
    }

    /// Returns `true` if less than half of the budget is free.
    #[must_use]
    pub fn is_scarce(&self) -> bool {
        self.account.total.is_scarce()
    }

    /// Returns another charge for the same client, of zero bytes.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            account: Arc::clone(&self.account),
            bytes: 0,
        }
    }

    /// Changes the number of bytes, whether or not the client has room for them.
    pub fn resize(&mut self, bytes: usize) {
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
    pub fn resize(&mut self, bytes: usize) {
        if self.charge.is_some() || bytes > 0 {
            self.charge().resize(bytes);
        }
    }

    /// Like [`Charge::try_resize`].
    pub fn try_resize(&mut self, bytes: usize) -> bool {
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
    fn a_client_can_hold_as_many_bytes_as_remain_free() {
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
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn unused_budget_entries_are_removed_when_there_are_many() {
        let budget = ByteBudget::new(1_000);
        let mut charge = budget.charge(&holder("10.0.0.1"));
        charge.resize(10);
        for number in 0..5 * MIN_ACCOUNTS {
            let of = Holder::Principal(number.to_string().into());
            let account = budget.account(&of);
            assert!(Arc::ptr_eq(&account, &budget.account(&of)));
            assert!(lock(&budget.accounts).open.len() <= MIN_ACCOUNTS);
        }
        let again = budget.charge(&holder("10.0.0.1"));
        assert_eq!(again.account.held.load(Relaxed), 10);
        // Clients that hold something all stay.
        let holders =
            (0..2 * MIN_ACCOUNTS).map(|number| Holder::Principal(number.to_string().into()));
        let charges: Vec<_> = holders.map(|of| budget.charge(&of)).collect();
        assert!(lock(&budget.accounts).open.len() > charges.len());
    }

    #[test]
    fn the_ipv6_addresses_of_a_64_bit_network_count_as_one_client() {
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
