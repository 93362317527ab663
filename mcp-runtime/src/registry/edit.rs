//! Changes while the server runs: prepared and checked first, then made all together on a copy.

use crate::context::Edit;
use crate::error::Error;
use crate::registry::snapshot::Snapshot;

pub(super) struct Prepared;

pub(super) fn prepare(edit: Edit) -> Result<Prepared, Error> {
    let _ = edit;
    todo!()
}

pub(super) fn apply(snapshot: &Snapshot, prepared: Prepared) -> Result<(Snapshot, bool), Error> {
    let _ = (snapshot, prepared);
    todo!()
}
