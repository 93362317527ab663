//! Sorted values, without the code of a sort for each of their types.
//!
//! A sort is about 8 KiB of machine code, anew for each type, and `collect` into a set or map of the standard library
//! contains one. Where speed does not count, these functions take their place.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Sorts values, keeping the order of equal ones, as `slice::sort_by` does.
pub fn sort_by<T>(values: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    if values.is_sorted_by(|one, other| compare(one, other).is_le()) {
        return;
    }
    let order = sorted_indexes(values.len(), &|one, other| match (
        values.get(one),
        values.get(other),
    ) {
        (Some(one), Some(other)) => compare(one, other),
        _ => Ordering::Equal,
    });
    let mut unsorted: Vec<Option<T>> = values.drain(..).map(Some).collect();
    let sorted = order.into_iter();
    values.extend(sorted.filter_map(|index| unsorted.get_mut(index)?.take()));
}

/// Returns the indexes of values in the order that `compare` gives them.
fn sorted_indexes(length: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..length).collect();
    indexes.sort_by(|one, other| compare(*one, *other));
    indexes
}

/// Returns a set of these values.
pub(crate) fn set_of<T: Ord>(values: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(values);
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_and_equal_ones_keep_their_order() {
        let mut values = vec![(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e')];
        sort_by(&mut values, |(one, _), (other, _)| one.cmp(other));
        assert_eq!(values, [(1, 'b'), (1, 'e'), (2, 'd'), (3, 'a'), (3, 'c')]);
        assert_eq!(set_of([2, 1, 2]).into_iter().collect::<Vec<_>>(), [1, 2]);
    }
}
