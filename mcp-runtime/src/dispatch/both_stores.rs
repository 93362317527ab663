//! Two stores for `once` results: the call's own store lets the call continue where it left off, and the server's store
//! prevents another call from doing the same work.

use std::sync::Arc;

use crate::context::{CallId, OnceClaim, OnceStore, StoreFuture};

/// Grants work only if both of its stores grant it.
pub(super) struct BothStores {
    own: Arc<dyn OnceStore>,
    of_server: Arc<dyn OnceStore>,
}

impl BothStores {
    pub(super) fn new(own: &Arc<dyn OnceStore>, of_server: &Arc<dyn OnceStore>) -> Self {
        let (own, of_server) = (Arc::clone(own), Arc::clone(of_server));
        Self { own, of_server }
    }
}

impl OnceStore for BothStores {
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let own = self.own.begin(call, name).await?;
            if own != OnceClaim::Granted {
                return Ok(own);
            }
            let claim = self.of_server.begin(call, name).await?;
            match &claim {
                OnceClaim::Granted => {}
                OnceClaim::Done(result) => self.own.complete(call, name, result).await?,
                OnceClaim::Taken => self.own.abandon(call, name).await?,
            }
            Ok(claim)
        })
    }

    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.own.complete(call, name, result).await?;
            self.of_server.complete(call, name, result).await
        })
    }

    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.of_server.abandon(call, name).await?;
            self.own.abandon(call, name).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::MemoryOnceStore;

    #[tokio::test]
    async fn a_second_call_for_the_same_work_is_not_granted() {
        let of_server: Arc<dyn OnceStore> = Arc::new(MemoryOnceStore::default());
        let store = || {
            let own: Arc<dyn OnceStore> = Arc::new(MemoryOnceStore::default());
            BothStores::new(&own, &of_server)
        };
        let call = CallId([7; 16]);
        let (first, second) = (store(), store());
        assert_eq!(first.begin(call, "pay").await.unwrap(), OnceClaim::Granted);
        assert_eq!(second.begin(call, "pay").await.unwrap(), OnceClaim::Taken);
        first.complete(call, "pay", "1").await.unwrap();
        let done = OnceClaim::Done("1".to_owned());
        // The first result comes from the call's own store, the second from the server's.
        assert_eq!(first.begin(call, "pay").await.unwrap(), done);
        assert_eq!(second.begin(call, "pay").await.unwrap(), done);
        assert_eq!(first.begin(call, "mail").await.unwrap(), OnceClaim::Granted);
        first.abandon(call, "mail").await.unwrap();
        assert_eq!(
            second.begin(call, "mail").await.unwrap(),
            OnceClaim::Granted
        );
    }
}
