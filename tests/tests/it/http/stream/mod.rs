//! Event streams: change notifications on them, and streams that continue at another instance.

mod instances;
mod notifications;
