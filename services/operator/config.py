"""Settings of the operating role."""

from shared.config import BusConfig


class Config(BusConfig, frozen=True, kw_only=True):
    """There is no channel, no address of a channel and no seal key among these, by design."""

    model_base_url: str
    """OpenAI-compatible endpoint, for example `https://models.example.org/v1`."""
    model_api_key: str = "none"
    """Its key; a local endpoint needs none."""
    model_name: str = "chancela-local"
    """The model that operates."""
    model_timeout_seconds: float = 30.0
    """For one answer."""
    model_retries: int = 2
    """Of one question, with the client's own backoff."""
    model_attempts: int = 4
    """How often a turn is tried before it counts as one that could not act."""
