//! The connections to Redis: one for the keys of the server, which include the first partition of its tasks, and one for
//! each further partition. In a cluster, each of them leads to the node that has these keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_stores::TaskId;

use crate::changes::Changes;
use crate::error::RedisError;
use crate::link::Link;
use crate::options::RedisOptions;

pub(crate) struct Partitions {
    first: Link,
    others: Vec<Link>,
    /// The partition in which the next due task is looked for first.
    turn: AtomicUsize,
}

impl Partitions {
    pub(crate) fn new(
        options: &RedisOptions,
        url: &str,
        changes: &Arc<Changes>,
    ) -> Result<Self, RedisError> {
        let link = |partition| Link::new(options, partition, url, Arc::clone(changes));
        Ok(Self {
            first: link(0)?,
            others: (1..options.task_partitions)
                .map(link)
                .collect::<Result<_, _>>()?,
            turn: AtomicUsize::new(0),
        })
    }

    /// Returns the connection for everything but tasks.
    pub(crate) fn first(&self) -> &Link {
        &self.first
    }

    pub(crate) fn count(&self) -> usize {
        self.others.len().saturating_add(1)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Link> + Clone + Send {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns the connections other than a task's own.
    pub(crate) fn without(&self, id: &TaskId) -> impl Iterator<Item = &Link> + Send {
        let own = self.index(id);
        let all = self.all().enumerate();
        all.filter_map(move |(index, link)| (index != own).then_some(link))
    }

    /// Returns all connections, beginning with the next one each time, so that no partition is served last forever.
    pub(crate) fn by_turns(&self) -> impl Iterator<Item = &Link> + Send {
        let count = self.count();
        let first = match &*self.others {
            [] => 0,
            _ => self.turn.fetch_add(1, Ordering::Relaxed) % count,
        };
        self.all().cycle().skip(first).take(count)
    }

    /// Returns the number of a task's partition. All builds must agree on it.
    pub(crate) fn index(&self, id: &TaskId) -> usize {
        let bytes = id.as_str().bytes();
        let hash = bytes.fold(0_u32, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(byte.into())
        });
        let hash = usize::try_from(hash).unwrap_or_default();
        hash.checked_rem(self.count()).unwrap_or_default()
    }

    pub(crate) fn at(&self, partition: usize) -> &Link {
        self.all().nth(partition).unwrap_or(&self.first)
    }

    /// Returns the connection for a task.
    pub(crate) fn of(&self, id: &TaskId) -> &Link {
        self.at(self.index(id))
    }

    /// Returns the part of a limit that applies to one partition.
    pub(crate) fn share(&self, limit: usize) -> usize {
        limit.div_ceil(self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(count: usize) -> Partitions {
        let options = RedisOptions::new().task_partitions(count);
        Partitions::new(&options, "redis://127.0.0.1", &Arc::new(Changes::new())).unwrap()
    }

    #[test]
    fn task_ids_are_divided_evenly_and_deterministically() {
        let four = partitions(4);
        let mut tasks = [0; 4];
        for _ in 0..4_000 {
            tasks[four.index(&TaskId::random())] += 1;
        }
        assert!(
            tasks.iter().all(|tasks| (800..1_200).contains(tasks)),
            "{tasks:?}"
        );
        // Another build would not find its tasks if this changed.
        let known = TaskId::parse("AbCdEfGhIjKlMnOpQrStUvWxYz012347").unwrap();
        assert_eq!((four.index(&known), partitions(1).index(&known)), (2, 0));
        assert_eq!(four.without(&known).count(), 3);
        assert_eq!((four.share(10), partitions(1).share(10)), (3, 10));
    }

    #[test]
    fn the_order_of_partitions_rotates() {
        let three = partitions(3);
        let order = || {
            let links = three.by_turns().map(std::ptr::from_ref::<Link>);
            links.collect::<Vec<_>>()
        };
        let [first, second, third, fourth] = [(); 4].map(|()| order());
        assert_eq!(first.len(), 3);
        assert_eq!(second, [first[1], first[2], first[0]]);
        assert_eq!(third, [first[2], first[0], first[1]]);
        assert_eq!(fourth, first);
    }
}
