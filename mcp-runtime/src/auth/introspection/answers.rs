//! What an authorization server has said about tokens, for a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::context::Principal;
use crate::lock::lock;

/// Maximum number of active tokens that are remembered, and of refused tokens.
const MOST: usize = 1_000;
/// Time for which a refusal is kept. Short, because a new token may take a moment to reach all of an issuer's servers.
const REFUSED: Duration = Duration::from_secs(5);

/// The digest of a token.
pub(super) type TokenDigest = [u8; 32];

/// What is known about a token.
pub(super) enum TokenStanding {
    Active(Principal),
    /// The token has been active, but must be checked again.
    Stale,
    Refused(&'static str),
    Unknown,
}

/// The kept answers.
#[derive(Default)]
pub(super) struct KeptAnswers(Mutex<AnswerTable>);

#[derive(Default)]
struct AnswerTable {
    /// The tokens that were active, with the time until which that counts. After it, an entry only says that its token
    /// has been active.
    active: HashMap<TokenDigest, (Principal, Instant)>,
    refused: HashMap<TokenDigest, (&'static str, Instant)>,
}

impl KeptAnswers {
    fn table(&self) -> MutexGuard<'_, AnswerTable> {
        lock(&self.0)
    }

    pub(super) fn standing(&self, token: &TokenDigest) -> TokenStanding {
        let table = self.table();
        let now = Instant::now();
        if let Some((why, until)) = table.refused.get(token)
            && now < *until
        {
            return TokenStanding::Refused(why);
        }
        match table.active.get(token) {
            Some((principal, until)) if now < *until => TokenStanding::Active(principal.clone()),
            Some(_) => TokenStanding::Stale,
            None => TokenStanding::Unknown,
        }
    }

    /// Records that a token is active, which counts for this time.
    pub(super) fn keep_active(&self, token: TokenDigest, principal: &Principal, time: Duration) {
        let now = Instant::now();
        let until = now.checked_add(time).unwrap_or(now);
        let mut table = self.table();
        table.refused.remove(&token);
        insert(&mut table.active, token, (principal.clone(), until));
    }

    /// Records that a token was refused.
    pub(super) fn keep_refused(&self, token: TokenDigest, why: &'static str) {
        let until = Instant::now() + REFUSED;
        let mut table = self.table();
        table.active.remove(&token);
        insert(&mut table.refused, token, (why, until));
    }
}

/// Inserts an entry. If there is no room, the entry that ends first makes room.
fn insert<T>(
    entries: &mut HashMap<TokenDigest, (T, Instant)>,
    token: TokenDigest,
    entry: (T, Instant),
) {
    if entries.len() >= MOST && !entries.contains_key(&token) {
        let first = entries.iter().min_by_key(|(_, (_, until))| *until);
        if let Some(first) = first.map(|(token, _)| *token) {
            entries.remove(&first);
        }
    }
    entries.insert(token, entry);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: usize) -> TokenDigest {
        let mut token = [0; 32];
        token[..8].copy_from_slice(&number.to_be_bytes());
        token
    }

    fn is_stale(kept: &KeptAnswers, number: usize) -> bool {
        matches!(kept.standing(&token(number)), TokenStanding::Stale)
    }

    fn is_active(kept: &KeptAnswers, number: usize) -> bool {
        matches!(kept.standing(&token(number)), TokenStanding::Active(_))
    }

    fn is_refused(kept: &KeptAnswers, number: usize) -> bool {
        matches!(kept.standing(&token(number)), TokenStanding::Refused(_))
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_was_active_is_remembered_longer_than_it_counts() {
        let (kept, alice) = (KeptAnswers::default(), Principal::new("alice"));
        kept.keep_active(token(1), &alice, Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(29)).await;
        assert!(is_active(&kept, 1) && !is_active(&kept, 2));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(is_stale(&kept, 1));
        kept.keep_active(token(2), &alice, Duration::ZERO);
        assert!(is_stale(&kept, 2));
        kept.keep_refused(token(1), "revoked");
        assert!(is_refused(&kept, 1));
        tokio::time::advance(REFUSED).await;
        assert!(matches!(kept.standing(&token(1)), TokenStanding::Unknown));
        kept.keep_refused(token(2), "not yet");
        kept.keep_active(token(2), &alice, Duration::from_secs(1));
        assert!(is_active(&kept, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn the_tables_are_bounded() {
        let (kept, alice) = (KeptAnswers::default(), Principal::new("alice"));
        for number in 0..=MOST {
            kept.keep_active(token(number), &alice, Duration::from_secs(30));
            kept.keep_refused(token(MOST + 1 + number), "made up");
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let table = kept.table();
        assert_eq!((table.active.len(), table.refused.len()), (MOST, MOST));
        drop(table);
        assert!(!is_active(&kept, 0) && is_active(&kept, 1) && is_active(&kept, MOST));
        assert!(!is_refused(&kept, MOST + 1) && is_refused(&kept, MOST + 2));
    }
}
