//! The weather, from an HTTP service: typed output, a time limit, and errors that say what to do.
//!
//! Asks <https://open-meteo.com>, or what `WEATHER_URL` names instead.

use std::time::Duration;

use mcp_runtime::prelude::*;

/// How long the service may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The service that knows the weather.
struct Service {
    url: String,
    agent: ureq::Agent,
}

/// What the service answers.
#[data(input, allow_unknown_fields)]
struct Answer {
    current: Current,
}

#[data(input, allow_unknown_fields)]
struct Current {
    time: String,
    temperature_2m: f64,
    wind_speed_10m: f64,
    relative_humidity_2m: u8,
}

/// The weather somewhere.
#[data(output)]
struct Weather {
    /// When it was measured, in universal time
    time: String,
    /// In degrees Celsius
    temperature: f64,
    /// In kilometres per hour
    wind: f64,
    /// In percent
    humidity: u8,
}

/// Says what the weather is like right now.
#[tool(blocking, read_only, open_world)]
fn current_weather(
    service: &State<Service>,
    /// Degrees north of the equator
    #[arg(range(-90..=90))]
    latitude: f64,
    /// Degrees east of Greenwich
    #[arg(range(-180..=180))]
    longitude: f64,
) -> Result<Json<Weather>> {
    let answer = service
        .agent
        .get(format!("{}/v1/forecast", service.url))
        .query("latitude", latitude.to_string())
        .query("longitude", longitude.to_string())
        .query(
            "current",
            "temperature_2m,wind_speed_10m,relative_humidity_2m",
        )
        .call()
        .and_then(|mut answer| answer.body_mut().read_json::<Answer>());
    match answer {
        Ok(Answer { current }) => Ok(Json(Weather {
            time: current.time,
            temperature: current.temperature_2m,
            wind: current.wind_speed_10m,
            humidity: current.relative_humidity_2m,
        })),
        Err(ureq::Error::Timeout(_)) => {
            bail!("the weather service did not answer in time; try again once")
        }
        Err(ureq::Error::StatusCode(429)) => {
            bail!("the weather service was asked too often; try again in a minute")
        }
        Err(ureq::Error::StatusCode(400)) => {
            bail!("the weather service knows nothing of this place; try one nearby")
        }
        // Anything else is no business of the model: it reads that something failed, and the log has the cause.
        Err(error) => Err(error)?,
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let url = std::env::var("WEATHER_URL");
    let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE));
    let service = Service {
        url: url.unwrap_or_else(|_| "https://api.open-meteo.com".to_owned()),
        agent: agent.build().new_agent(),
    };
    Server::new("weather", "1.0.0").state(service).run().await
}
