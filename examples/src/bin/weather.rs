//! The weather, from an HTTP service: typed output, a time limit, and errors that tell the model how to proceed.
//!
//! Queries <https://open-meteo.com>, or the URL in `WEATHER_URL`.

use std::time::Duration;

use mcp_runtime::prelude::*;

/// Time limit for an answer of the service.
const PATIENCE: Duration = Duration::from_secs(5);

/// The weather service.
struct Service {
    url: String,
    agent: ureq::Agent,
}

/// The answer of the service.
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

/// The weather at a location.
#[data(output)]
struct Weather {
    /// Time of the measurement, in UTC
    time: String,
    /// Temperature in degrees Celsius
    temperature: f64,
    /// Wind speed in kilometres per hour
    wind: f64,
    /// Relative humidity in percent
    humidity: u8,
}

/// Returns the current weather.
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
        // Other errors do not concern the model: it reads that the call failed, and the cause is logged.
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
