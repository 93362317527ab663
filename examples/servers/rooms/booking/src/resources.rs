//! The schedule of each room.

use chrono::Utc;
use mcp_runtime::prelude::*;
use mcp_runtime::values::percent_encode;

use crate::{Booking, Calendar};

/// The bookings of a room, from now on.
#[resource_template("room:///{name}", list = rooms)]
fn room(calendar: &State<Calendar>, #[complete(names)] name: &str) -> Option<Json<Vec<Booking>>> {
    let room = calendar.rooms().iter().find(|room| room.name == name)?;
    Some(Json(calendar.bookings(&room.name, Utc::now())))
}

/// Returns the URI of a room.
pub fn uri(room: &str) -> String {
    format!("room:///{}", percent_encode(room))
}

fn rooms(calendar: &State<Calendar>) -> Vec<Resource> {
    let rooms = calendar.rooms().iter();
    rooms
        .map(|room| Resource::new(uri(&room.name), &room.name))
        .collect()
}

#[completer]
fn names(_partial: &str, calendar: &State<Calendar>) -> Vec<String> {
    calendar
        .rooms()
        .iter()
        .map(|room| room.name.clone())
        .collect()
}
