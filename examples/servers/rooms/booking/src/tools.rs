//! Tools.

use chrono::{DateTime, Utc};
use mcp_runtime::prelude::*;

use crate::resources::uri;
use crate::{Booking, Calendar, Room};

/// Lists the rooms that are free.
#[tool(read_only)]
fn free_rooms(
    calendar: &State<Calendar>,
    /// Begin of the meeting
    from: DateTime<Utc>,
    /// End of the meeting
    to: DateTime<Utc>,
    /// Number of people
    #[arg(range(1..), default = 1)]
    people: u32,
) -> Result<Json<Vec<Room>>> {
    let mut rooms = calendar.free(from, to);
    rooms.retain(|room| room.seats >= people);
    if rooms.is_empty() {
        bail!("no room for {people} is free then; try another time");
    }
    Ok(Json(rooms))
}

/// Books a room.
#[tool(blocking)]
fn book_room(
    ctx: &Context,
    calendar: &State<Calendar>,
    /// Name of the room
    room: &str,
    /// Begin of the meeting
    from: DateTime<Utc>,
    /// End of the meeting
    to: DateTime<Utc>,
    /// Subject of the meeting
    #[arg(length(1..=100))]
    title: &str,
) -> Result<Json<Booking>> {
    let booking = calendar.book(room, from, to, title)?;
    ctx.server().notify().resource_updated(uri(room));
    Ok(Json(booking))
}

/// The form that a user fills in before a booking is cancelled.
#[derive(Elicit)]
struct Sure {
    /// Really cancel it?
    really: bool,
}

/// Cancels a booking, after asking.
#[tool(destructive)]
async fn cancel_booking(
    ctx: Context,
    calendar: &State<Calendar>,
    /// Id of the booking
    id: u32,
) -> Result<String> {
    let Booking {
        room, from, title, ..
    } = calendar.get(id)?;
    let sure: Sure = ctx
        .elicit(format!("Cancel \"{title}\" in {room} at {from}?"))
        .await?;
    if !sure.really {
        bail!("the user wants to keep it");
    }
    calendar.cancel(id)?;
    ctx.server().notify().resource_updated(uri(&room));
    Ok(format!("booking {id} is cancelled"))
}
