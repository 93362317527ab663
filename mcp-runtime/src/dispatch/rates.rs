//! Whether a call is let in: the rate of its handler, that of the server, and that of completions.
//!
//! A call of several rounds is let in once, with the first. That it was is proved by the state the client brings, which we
//! sealed when the round before ended. The same round sent again is a call of its own, so that a state is no way around a rate.

use std::hash::{BuildHasher as _, RandomState};

use tokio::time::Instant;

use crate::context::{CallId, Principal};
use crate::dispatch::session::Channel;
use crate::handler::tool_error::{Repr, ToolError};
use crate::limits::Limits;
use crate::protocol::errors;
use crate::rate::{Limiter, Rate};

/// The rates of a server.
#[derive(Debug)]
pub(super) struct Rates {
    /// Of all calls together.
    all: Option<Limiter>,
    completions: Limiter,
    /// Lets each round in once, for as long as its state is good.
    rounds: Limiter,
    /// Told apart are keys of hashes nobody can foresee.
    hashes: RandomState,
    most: usize,
}

/// A call that wants to be let in.
pub(super) struct Applicant<'a> {
    pub(super) principal: Option<&'a Principal>,
    pub(super) channel: Channel,
    /// Which call it goes on with, and how many rounds of that ended.
    pub(super) earlier: Option<(CallId, u16)>,
    pub(super) is_completion: bool,
    /// The rate of what is called.
    pub(super) rate: Option<&'a Limiter>,
}

impl Rates {
    pub(super) fn new(all: Option<Rate>, limits: &Limits) -> Self {
        let completions = limits.completions;
        let completions = Rate::a_second(completions, completions.saturating_mul(2)).per_caller();
        Self {
            all: all.map(Limiter::new),
            completions: Limiter::new(completions),
            rounds: Limiter::new(Rate::new(1, limits.state_time, 1).per_caller()),
            hashes: RandomState::new(),
            most: limits.callers,
        }
    }

    /// Lets a call in, or says when to try again. Nothing is charged to who is not let in. `name` says what is called.
    pub(super) fn admit<'n>(
        &self,
        applicant: &Applicant<'_>,
        name: impl FnOnce() -> &'n str,
    ) -> Result<(), ToolError> {
        let completions = applicant.is_completion.then_some(&self.completions);
        let rates = [completions, applicant.rate, self.all.as_ref()];
        if rates.iter().all(Option::is_none) {
            return Ok(());
        }
        let now = Instant::now();
        if let Some((call, round)) = applicant.earlier {
            let round = self.hashes.hash_one((call.0, round));
            if self.rounds.take(round, self.most, now).is_ok() {
                return Ok(());
            }
        }
        let caller = match applicant.principal {
            Some(principal) => self.hashes.hash_one(principal.key()),
            None => self.hashes.hash_one(applicant.channel),
        };
        let rates = || rates.iter().flatten();
        let checked = rates().try_for_each(|rate| rate.check(caller, now));
        let taken =
            checked.and_then(|()| rates().try_for_each(|rate| rate.take(caller, self.most, now)));
        taken.map_err(|wait| {
            let name = name();
            tracing::debug!(called = name, ?wait, "a call was refused: too often");
            ToolError(Repr::Busy(errors::too_often(&format!("`{name}`"), wait)))
        })
    }
}
