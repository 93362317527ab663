//! Sealing keys that the instances share. The first instance that needs one makes it; Redis decides by its clock which of
//! them seals.

use std::sync::Arc;
use std::time::Duration;

use mcp_core::seal::SealingKey;
use tokio::time::sleep;

use crate::error::RedisError;
use crate::fields::milliseconds;
use crate::link::OnLostConnection::Repeat;
use crate::shared_keys::SharedKeys;
use crate::{Redis, scripts};

const DAY: Duration = Duration::from_hours(24);
/// Period for which a key seals.
const SEALS_FOR: Duration = DAY.saturating_mul(30);
/// Period for which a new key only opens, so that all instances have it before it seals.
const WAITS_FOR: Duration = Duration::from_mins(10);
/// Period for which a key that no longer seals can still open.
const OPENS_FOR: Duration = DAY.saturating_mul(30);
/// Time between two looks for new keys.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

impl Redis {
    /// Reads the keys, and makes one if there is none or the newest one is too old.
    pub(crate) async fn load_sealing_keys(&self, shared: &SharedKeys) -> Result<(), RedisError> {
        let mut load = self.script(&scripts::SEALING_KEYS);
        for period in [SEALS_FOR, WAITS_FOR, OPENS_FOR] {
            load.arg(milliseconds(period));
        }
        load.arg(SealingKey::random().to_base64())
            .arg(shared.entries());
        let entries: Vec<String> = self.run(&load, Repeat).await?;
        shared.replace(entries).ok_or_else(RedisError::unexpected)
    }

    /// Keeps the keys up to date as long as they are in use.
    pub(crate) fn follow_sealing_keys(&self, shared: &Arc<SharedKeys>) {
        let (shared, store) = (Arc::downgrade(shared), Arc::downgrade(&self.0));
        tokio::spawn(async move {
            loop {
                sleep(LOOK_AGAIN).await;
                let (Some(shared), Some(store)) = (shared.upgrade(), store.upgrade()) else {
                    return;
                };
                if let Err(error) = Self(store).load_sealing_keys(&shared).await {
                    tracing::debug!(%error, "the sealing keys cannot be read; the known ones stay in use");
                }
            }
        });
    }
}
