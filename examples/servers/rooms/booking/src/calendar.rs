//! Rooms, and who has them when.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use chrono::{DateTime, Utc};
use mcp_runtime::prelude::{data, expose};
use mcp_runtime::serde_json;

use crate::journal::{Entry, Journal};

/// A room.
#[data(allow_unknown_fields)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub name: String,
    pub seats: u32,
}

/// A room that is taken for a while.
#[data]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booking {
    pub id: u32,
    pub room: String,
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
    pub title: String,
}

/// A booking that is not possible, in words for the model, or a failure that is only logged.
#[expose]
#[derive(Debug, thiserror::Error)]
pub enum BookingError {
    #[expose]
    #[error("there is no room `{0}`; `free_rooms` lists those there are")]
    NoRoom(String),
    #[expose]
    #[error("there is no booking {0}")]
    NoBooking(u32),
    #[expose]
    #[error("`from` has to be before `to`")]
    NoTime,
    #[expose]
    #[error("`{}` is taken from {} to {} by booking {}, \"{}\"", .0.room, .0.from, .0.to, .0.id, .0.title)]
    Taken(Box<Booking>),
    #[error("the journal cannot be written")]
    Journal(#[from] io::Error),
}

/// All rooms and bookings. Every change is in the journal before it is visible.
pub struct Calendar {
    rooms: Vec<Room>,
    changing: Mutex<Changing>,
}

struct Changing {
    bookings: Vec<Booking>,
    last_id: u32,
    journal: Journal,
}

impl Calendar {
    /// Reads the rooms from a JSON file, and the bookings from a journal, which is made if there is none.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or is damaged.
    pub fn open(rooms: &Path, journal: &Path) -> io::Result<Self> {
        let rooms = serde_json::from_slice(&fs::read(rooms)?)?;
        let (journal, entries) = Journal::open(journal)?;
        let (mut bookings, mut last_id) = (Vec::new(), 0);
        for entry in entries {
            match entry {
                Entry::Booked(booking) => {
                    last_id = last_id.max(booking.id);
                    bookings.push(booking);
                }
                Entry::Cancelled { id } => bookings.retain(|booking: &Booking| booking.id != id),
            }
        }
        let changing = Mutex::new(Changing {
            bookings,
            last_id,
            journal,
        });
        Ok(Self { rooms, changing })
    }

    #[must_use]
    pub fn rooms(&self) -> &[Room] {
        &self.rooms
    }

    /// # Errors
    ///
    /// Fails if there is no such room.
    pub fn room(&self, name: &str) -> Result<&Room, BookingError> {
        let room = self.rooms.iter().find(|room| room.name == name);
        room.ok_or_else(|| BookingError::NoRoom(name.to_owned()))
    }

    /// Returns the bookings of a room that have not ended at this time, in the order of time.
    #[must_use]
    pub fn bookings(&self, room: &str, after: DateTime<Utc>) -> Vec<Booking> {
        let changing = self.lock();
        let bookings = changing.bookings.iter();
        let mut bookings: Vec<_> = bookings
            .filter(|one| one.room == room && one.to > after)
            .cloned()
            .collect();
        bookings.sort_by_key(|booking| booking.from);
        bookings
    }

    /// Returns the rooms that nobody has between these times.
    #[must_use]
    pub fn free(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Room> {
        let changing = self.lock();
        let rooms = self.rooms.iter();
        rooms
            .filter(|room| changing.conflict(&room.name, from, to).is_none())
            .cloned()
            .collect()
    }

    /// # Errors
    ///
    /// Fails if the room does not exist or is taken, or if the journal cannot be written.
    pub fn book(
        &self,
        room: &str,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        title: &str,
    ) -> Result<Booking, BookingError> {
        if from >= to {
            return Err(BookingError::NoTime);
        }
        let room = self.room(room)?.name.clone();
        let mut changing = self.lock();
        if let Some(booking) = changing.conflict(&room, from, to) {
            return Err(BookingError::Taken(Box::new(booking.clone())));
        }
        let id = changing.last_id + 1;
        let booking = Booking {
            id,
            room,
            from,
            to,
            title: title.to_owned(),
        };
        changing.journal.append(&Entry::Booked(booking.clone()))?;
        changing.last_id = id;
        changing.bookings.push(booking.clone());
        Ok(booking)
    }

    /// # Errors
    ///
    /// Fails if there is no such booking.
    pub fn get(&self, id: u32) -> Result<Booking, BookingError> {
        let changing = self.lock();
        let booking = changing.bookings.iter().find(|booking| booking.id == id);
        booking.cloned().ok_or(BookingError::NoBooking(id))
    }

    /// # Errors
    ///
    /// Fails if there is no such booking, or if the journal cannot be written.
    pub fn cancel(&self, id: u32) -> Result<Booking, BookingError> {
        let mut changing = self.lock();
        let position = changing
            .bookings
            .iter()
            .position(|booking| booking.id == id);
        let position = position.ok_or(BookingError::NoBooking(id))?;
        changing.journal.append(&Entry::Cancelled { id })?;
        Ok(changing.bookings.remove(position))
    }

    fn lock(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changing {
    fn conflict(&self, room: &str, from: DateTime<Utc>, to: DateTime<Utc>) -> Option<&Booking> {
        let mut bookings = self.bookings.iter();
        bookings.find(|booking| booking.room == room && booking.from < to && from < booking.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: u32) -> DateTime<Utc> {
        format!("2026-07-28T{hour:02}:00:00Z").parse().unwrap()
    }

    #[test]
    fn a_room_is_taken_once_and_a_restart_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (rooms, journal) = (
            directory.path().join("rooms.json"),
            directory.path().join("journal"),
        );
        fs::write(&rooms, r#"[{"name": "blue", "seats": 4}]"#).unwrap();

        let calendar = Calendar::open(&rooms, &journal).unwrap();
        let first = calendar
            .book("blue", hour(9), hour(10), "Stand-up")
            .unwrap();
        let second = calendar.book("blue", hour(10), hour(11), "Review").unwrap();
        let taken = calendar
            .book("blue", hour(9), hour(11), "Lunch")
            .unwrap_err();
        assert!(matches!(taken, BookingError::Taken(booking) if *booking == first));
        calendar.cancel(first.id).unwrap();

        let calendar = Calendar::open(&rooms, &journal).unwrap();
        assert_eq!(calendar.bookings("blue", hour(0)), [second]);
        assert_eq!(
            calendar
                .book("blue", hour(9), hour(10), "Again")
                .unwrap()
                .id,
            3
        );
    }
}
