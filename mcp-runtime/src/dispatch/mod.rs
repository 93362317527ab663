//! One message in, one decision out; calls under way; change notices. No I/O.
//!
//! Being written; this says only what the transports rely on.
#![allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    reason = "a stand-in until the dispatcher is there"
)]

use std::convert::Infallible;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::jsonrpc::{Message, RequestId};
use crate::limits::Limits;
use crate::registry::Pace;

pub(crate) trait Sink: Send + Sync {
    fn send(&self, message: &[u8]) -> bool;
}

pub(crate) struct Dispatcher(Limits);
pub(crate) struct Session(Infallible);
pub(crate) struct Prepared<'m>(Infallible, PhantomData<&'m ()>);
pub(crate) struct RunningCall(Infallible);
pub(crate) struct Finished(Infallible);

pub(crate) enum Started {
    Done(Finished),
    Running(RunningCall),
}

pub(crate) enum Decision<'m> {
    Silent,
    Answered,
    Call(Prepared<'m>),
    Cancel(RequestId),
}

impl Dispatcher {
    pub(crate) fn limits(&self) -> &Limits {
        &self.0
    }

    pub(crate) fn decide<'m>(
        self: &Arc<Self>,
        _: Message<'m>,
        _: &mut Session,
        _: &mut Vec<u8>,
    ) -> Decision<'m> {
        Decision::Silent
    }
}

impl Prepared<'_> {
    pub(crate) fn pace(&self) -> Option<&Arc<Pace>> {
        None
    }

    pub(crate) fn start(self, _: &dyn Fn() -> Arc<dyn Sink>) -> Started {
        match self.0 {}
    }
}

impl Future for RunningCall {
    type Output = Finished;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Finished> {
        match self.0 {}
    }
}

impl Finished {
    pub(crate) fn encode(self, _: &mut Vec<u8>) {
        match self.0 {}
    }
}

impl Session {
    pub(crate) fn new(_: &Arc<Dispatcher>, _: Arc<dyn Fn() + Send + Sync>) -> Self {
        unreachable!()
    }

    pub(crate) fn allows_batch(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn drain(&mut self, _: &mut Vec<u8>, _: usize) -> bool {
        match self.0 {}
    }

    pub(crate) fn cancel(&mut self, _: &RequestId) -> bool {
        match self.0 {}
    }

    pub(crate) fn end(&mut self, _: &mut Vec<u8>) {
        match self.0 {}
    }
}
