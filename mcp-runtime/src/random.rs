//! Unpredictable bytes from the operating system.

/// Fills all of `bytes` with random data.
///
/// # Errors
///
/// Fails if the operating system cannot provide random data.
#[cfg(target_os = "linux")]
pub(crate) fn fill(bytes: &mut [u8]) -> std::io::Result<()> {
    use rustix::rand::{GetRandomFlags, getrandom};

    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..)
        && !rest.is_empty()
    {
        match getrandom(rest, GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(crate) use getrandom::fill;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_filled() {
        let mut bytes = [0; 1_024];
        fill(&mut bytes).unwrap();
        // Fails by chance once in 2^128.
        assert!(bytes.chunks(16).all(|chunk| chunk != [0; 16]));
    }
}
