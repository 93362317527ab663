//! Two stores for `once` results: the call's own store lets the call continue where it left off, and the server's store
//! prevents another call from doing the same work.

use std::sync::Arc;

use crate::context::{CallId, OnceClaim, OnceStore, OnceWork, StoreFuture};

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
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let own = self.own.begin(work).await?;
            if own != OnceClaim::Granted {
                return Ok(own);
            }
            let claim = self.of_server.begin(work).await?;
            match &claim {
                OnceClaim::Granted => {}
                OnceClaim::Done(result) => self.own.complete(work, result).await?,
                OnceClaim::Taken(_) | OnceClaim::CallerFull | OnceClaim::Full => {
                    self.own.abandon(work).await?;
                }
            }
            Ok(claim)
        })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.own.complete(work, result).await?;
            self.of_server.complete(work, result).await
        })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.of_server.abandon(work).await?;
            self.own.abandon(work).await
        })
    }

    fn end(&self, call: CallId) -> StoreFuture<'_, ()> {
        self.of_server.end(call)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::context::{ClaimId, OnceKind};
    use crate::stores::MemoryOnceStore;

    #[tokio::test]
    async fn a_second_call_for_the_same_work_is_not_granted() {
        let of_server: Arc<dyn OnceStore> = Arc::new(MemoryOnceStore::default());
        let store = || {
            let own: Arc<dyn OnceStore> = Arc::new(MemoryOnceStore::default());
            BothStores::new(&own, &of_server)
        };
        let work = |claim, name| OnceWork {
            call: CallId([7; 16]),
            name,
            claim: ClaimId([claim; 16]),
            owner: "",
            kind: OnceKind::Step,
            note: "",
            kept: Duration::from_hours(24),
        };
        let (first, second) = (store(), store());
        let (pay, again) = (work(1, "pay"), work(2, "pay"));
        assert_eq!(first.begin(pay).await.unwrap(), OnceClaim::Granted);
        let taken = OnceClaim::Taken(String::new());
        assert_eq!(second.begin(again).await.unwrap(), taken);
        first.complete(pay, "1").await.unwrap();
        let done = OnceClaim::Done("1".to_owned());
        // The first result comes from the call's own store, the second from the server's.
        assert_eq!(first.begin(pay).await.unwrap(), done);
        assert_eq!(second.begin(again).await.unwrap(), done);
        let mail = work(1, "mail");
        assert_eq!(first.begin(mail).await.unwrap(), OnceClaim::Granted);
        first.abandon(mail).await.unwrap();
        let mail = second.begin(work(2, "mail")).await.unwrap();
        assert_eq!(mail, OnceClaim::Granted);
    }
}
