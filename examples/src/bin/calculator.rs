//! A `#[server]` impl block, whose tools share a value, together with free functions.

use std::sync::Mutex;

use mcp_runtime::prelude::*;

/// A calculator that remembers its last result.
#[derive(Default)]
struct Calculator {
    memory: Mutex<f64>,
}

#[server]
impl Calculator {
    /// Adds a number to the memory and returns the new value.
    #[tool(destructive, idempotent = false)]
    fn accumulate(&self, number: f64) -> f64 {
        let mut memory = self.lock();
        *memory += number;
        *memory
    }

    /// Returns the value in memory.
    #[tool(read_only)]
    async fn recall(&self) -> f64 {
        tokio::task::yield_now().await;
        *self.lock()
    }

    /// Sets the memory to zero.
    #[tool(destructive, idempotent)]
    fn clear(&self) {
        *self.lock() = 0.0;
    }
}

impl Calculator {
    fn lock(&self) -> std::sync::MutexGuard<'_, f64> {
        self.memory
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Adds two whole numbers.
#[tool(read_only)]
fn add(
    /// Left operand
    a: i64,
    /// Right operand
    b: i64,
) -> Result<i64> {
    match a.checked_add(b) {
        Some(sum) => Ok(sum),
        None => bail!("the sum does not fit into 64 bits"),
    }
}

/// Divides one number by another.
#[tool(read_only)]
fn divide(dividend: f64, divisor: f64) -> Result<f64> {
    if divisor == 0.0 {
        bail!("nothing can be divided by zero; choose another divisor");
    }
    Ok(dividend / divisor)
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    new_server!().handlers(Calculator::default()).run().await
}
