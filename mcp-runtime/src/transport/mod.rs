//! Framing and bytes: stdio, byte streams, memory.

pub trait Transport {}
pub struct Stdio;
impl Stdio {
    pub fn open() -> std::io::Result<Self> {
        todo!()
    }
}
impl Transport for Stdio {}
pub(crate) async fn serve(
    transport: impl Transport,
    dispatcher: std::sync::Arc<crate::dispatch::Dispatcher>,
    shutdown: tokio_util::sync::CancellationToken,
) -> Result<(), crate::error::Error> {
    let _ = (transport, dispatcher, shutdown);
    todo!()
}
