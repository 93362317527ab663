//! The weather, from an HTTP service: typed output, a time limit, and errors that tell the model how to proceed.
//!
//! Queries <https://open-meteo.com>. `weather --help` lists the environment variables that change this.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Secret;

/// Time limit for an answer of the service.
const PATIENCE: Duration = Duration::from_secs(5);

/// The environment variables, such as `WEATHER_URL`.
#[data(input)]
struct Settings {
    /// URL of the weather service
    #[arg(pattern = "^https?://", default = "https://api.open-meteo.com")]
    url: String,
    /// Key for the weather service, for paying customers
    api_key: Option<Secret<String>>,
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
    settings: &State<Settings>,
    agent: &State<ureq::Agent>,
    /// Degrees north of the equator
    #[arg(range(-90..=90))]
    latitude: f64,
    /// Degrees east of Greenwich
    #[arg(range(-180..=180))]
    longitude: f64,
) -> Result<Json<Weather>> {
    let key = settings.api_key.as_ref().map(Secret::expose_secret);
    let answer = agent
        .get(format!("{}/v1/forecast", settings.url))
        .query_pairs(key.map(|key| ("apikey", key)))
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
        // Other errors do not concern the model, which reads only that the call failed. The cause is logged.
        Err(error) => Err(error)?,
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), mcp_runtime::Error> {
    let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE));
    Server::new("weather", "1.0.0")
        .env::<Settings>("WEATHER_")
        .state(agent.build().new_agent())
        .run()
        .await
}
