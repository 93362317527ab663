//! An instance's tag, which is the prefix of the ids of its questions and streams.

use crate::jsonrpc::RequestId;
use crate::random::random;

/// A number that distinguishes this instance from others. Two instances can have the same number by chance. They then
/// receive each other's messages, but do not recognize the sessions named in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct InstanceTag(u32);

/// Number of bits in a tag.
const TAG_BITS: u32 = 28;
/// Number of bits that follow the tag in a question's id. Any JSON number can represent the whole id exactly.
const QUESTION_BITS: u32 = 25;
/// Number of bits that follow the tag in a stream's number.
const STREAM_BITS: u32 = 34;

impl InstanceTag {
    pub(super) fn random() -> Self {
        Self(u32::from_ne_bytes(random()) >> (u32::BITS - TAG_BITS))
    }

    /// Returns the number after which the numbers of a live part's questions begin.
    pub(super) fn first_question(self) -> u64 {
        self.numbers(
            QUESTION_BITS,
            u64::from_ne_bytes(random()) >> (65 - QUESTION_BITS),
        )
    }

    /// Returns the number at which the numbers of a live part's streams begin.
    pub(super) fn first_stream(self, random: u64) -> u64 {
        self.numbers(STREAM_BITS, random >> (65 - STREAM_BITS))
    }

    fn numbers(self, bits: u32, start: u64) -> u64 {
        (u64::from(self.0) << bits) | start
    }

    /// Returns the instance that asked the question with this id.
    pub(super) fn of_question(id: &RequestId) -> Option<Self> {
        let number: u64 = id.as_json().parse().ok()?;
        u32::try_from(number >> QUESTION_BITS).ok().map(Self)
    }

    /// Returns the instance where the call of the stream with this number runs.
    pub(super) fn of_stream(number: u64) -> Option<Self> {
        u32::try_from(number >> STREAM_BITS).ok().map(Self)
    }

    /// Returns the beginning of the instance's name.
    pub(super) fn prefix(self) -> String {
        format!("{:07x}-", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_streams_name_their_instance_for_as_long_as_they_are_numbered() {
        for tag in [
            InstanceTag(0),
            InstanceTag((1 << TAG_BITS) - 1),
            InstanceTag::random(),
        ] {
            assert_eq!(tag.prefix().len(), 8);
            let first = tag.first_question();
            for number in [first, first + (1 << (QUESTION_BITS - 1))] {
                assert!(number < 1 << 53, "{number} is exact in JSON");
                let id = RequestId::from_valid(&number.to_string());
                assert_eq!(InstanceTag::of_question(&id), Some(tag));
            }
            for random in [0, u64::MAX] {
                let first = tag.first_stream(random);
                for number in [first, first + (1 << (STREAM_BITS - 1))] {
                    assert!(number < 1 << 62);
                    assert_eq!(InstanceTag::of_stream(number), Some(tag));
                }
            }
        }
        for foreign in ["\"1\"", "-1", "1.5", "99999999999999999999"] {
            let id = RequestId::from_valid(foreign);
            assert_eq!(InstanceTag::of_question(&id), None, "{foreign}");
        }
    }
}
