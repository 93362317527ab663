//! A guest house: a server with something of everything that the page shows.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::skills::{Skill, Skills};
use mcp_runtime::types::{ContentBlock, LoggingLevel};
use tokio::time::sleep;

/// The person who comes.
#[data(input)]
struct Guest {
    /// Full name
    #[arg(length(1..=80))]
    name: String,
    /// Age in years
    #[arg(range(0..=130))]
    age: u8,
    /// How we reach them
    email: Option<String>,
}

/// Size of a room.
#[data(input)]
#[derive(Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Room {
    Single,
    Double,
}

/// Books a room for a guest, for **some nights**.
#[tool(title = "Book a room", idempotent)]
fn book(
    /// The guest
    guest: Guest,
    /// Size of the room
    room: Room,
    /// Nights to stay
    #[arg(range(1..=30), default = 1)]
    nights: u32,
    /// Wishes, one each
    wishes: Option<Vec<String>>,
    /// With breakfast
    #[arg(default = true)]
    breakfast: bool,
) -> Json<Booking> {
    let wishes = wishes.unwrap_or_default();
    let size = match room {
        Room::Single => "single",
        Room::Double => "double",
    };
    Json(Booking {
        guest: guest.name,
        adult: guest.age >= 18,
        reachable: guest.email.is_some(),
        room: size.to_owned(),
        nights: (1..=nights)
            .map(|night| Night {
                night,
                price: 80,
                breakfast,
            })
            .collect(),
        wishes,
    })
}

/// A booking.
#[data]
struct Booking {
    guest: String,
    adult: bool,
    reachable: bool,
    room: String,
    nights: Vec<Night>,
    wishes: Vec<String>,
}

/// One night of a booking.
#[data]
struct Night {
    night: u32,
    price: u32,
    breakfast: bool,
}

/// The form that confirms a cancellation.
#[derive(Elicit)]
struct Sure {
    /// Really cancel?
    really: bool,
    /// Why, in a few words
    reason: Option<String>,
}

/// Cancels a booking, after asking.
#[tool(destructive)]
async fn cancel_booking(
    ctx: Context,
    /// Number of the booking
    booking: u64,
) -> Result<String> {
    let sure: Sure = ctx.elicit(format!("Cancel booking {booking}?")).await?;
    if !sure.really {
        mcp_runtime::bail!("booking {booking} stays");
    }
    let reason = sure.reason.unwrap_or_else(|| "no reason".to_owned());
    Ok(format!("booking {booking} is cancelled: {reason}"))
}

/// Cleans all rooms, and says how far it is.
#[tool]
async fn clean(
    ctx: &Context,
    /// Rooms to clean
    #[arg(range(1..=1000), default = 4)]
    rooms: u32,
) -> String {
    for room in 1..=rooms {
        ctx.progress((room, rooms, format!("room {room}")));
        ctx.log(LoggingLevel::Info, format!("room {room} is clean"));
        sleep(Duration::from_millis(100)).await;
    }
    format!("{rooms} rooms are clean")
}

/// Returns what must not act: markup, colours of terminals, overrides of direction.
#[tool(read_only)]
fn guest_book() -> String {
    "<img src=x onerror=\"document.title='pwned'\"> \u{1b}[31mred\u{1b}[0m \u{202e}drawkcab\u{202c} end".to_owned()
}

/// Returns a picture of the house.
#[tool(read_only)]
fn picture() -> ContentBlock {
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='160' height='120'><rect width='160' height='120' fill='#bde0fe'/>\
        <path d='M30 60L80 20l50 40v50H30z' fill='#e76f51'/><rect x='70' y='75' width='20' height='35' fill='#264653'/></svg>";
    ContentBlock::image(svg.as_bytes(), "image/svg+xml")
}

/// Ends the process.
#[tool]
fn burn_down() {
    std::process::exit(3);
}

/// Writes a letter to a guest.
#[prompt]
fn letter(
    /// Name of the guest
    guest: &str,
    /// Tone of the letter
    #[complete(["formal", "friendly", "funny"])]
    tone: &str,
) -> String {
    format!("Write a {tone} letter to {guest}.")
}

/// The rules of the house.
#[resource("house://rules", mime_type = "text/markdown")]
fn rules() -> &'static str {
    "# Rules\n\n- Quiet after *ten*\n- Shoes off\n\n| Meal | From |\n|---|---|\n| Breakfast | 7:30 |\n"
}

/// One room.
#[resource_template("house://rooms/{name}")]
fn room(#[complete(["attic", "garden", "kitchen"])] name: &str) -> String {
    format!("The {name} is free.")
}

/// The form of a renovation.
#[derive(Elicit)]
struct Colour {
    /// Colour of the walls
    colour: String,
}

/// Paints all rooms, which takes its time.
#[tool(task(poll = "100ms"))]
async fn paint(
    ctx: &Context,
    /// Rooms to paint
    #[arg(range(1..=1000), default = 3)]
    rooms: u32,
) -> Result<String> {
    let Colour { colour } = ctx.elicit("Which colour?").await?;
    for room in 1..=rooms {
        ctx.progress((room, rooms, "painting"));
        sleep(Duration::from_millis(150)).await;
    }
    Ok(format!("{rooms} rooms are {colour}"))
}

/// The plan of the house.
#[app("ui/plan.html", title = "Plan")]
struct Plan;

/// Which rooms are free.
#[data]
struct Free {
    floor: u8,
    rooms: Vec<String>,
}

/// Returns the free rooms of a floor.
#[tool(app = Plan, read_only)]
fn free_rooms(
    /// 0 is the ground floor
    floor: u8,
) -> Json<Free> {
    let rooms = ["attic", "garden"].map(|room| format!("{room} {floor}"));
    Json(Free {
        floor,
        rooms: rooms.into(),
    })
}

/// Lists what is in the house, for models only.
#[tool(visibility(model), read_only)]
fn inventory() -> &'static str {
    "two beds"
}

/// The code of the safe.
#[data]
#[schemars(extend("writeOnly" = true))]
struct Code(String);

/// Opens the safe.
#[tool]
fn unlock(
    /// The code
    code: Code,
) -> String {
    format!("not with {}", code.0)
}

// No description: `check` has something to say.
#[tool]
fn sweep() {}

fn server() -> Server {
    let text = "---\nname: check-in\ndescription: Checks a guest in. Use it when a guest arrives.\n---\n# Check-in\n\nAsk for the [name](references/names.md).\n";
    let skill =
        Skill::new("check-in", text).file("references/names.md", "Names are **never** shouted.\n");
    let skills = Skills::new().skill(skill);
    Server::new("guest-house", "1.0.0").with(skills)
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    server().run().await
}
