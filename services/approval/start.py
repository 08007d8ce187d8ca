"""What must hold before the service counts as started."""

from pathlib import Path

from services.approval.config import Config
from services.approval.people import RIGHTS
from shared.config import ConfigError
from shared.runtime import Context
from shared.seal import APPROVAL, SealError, Signer
from shared.web.people_file import take_people


async def start(context: Context[Config]) -> None:
    """Check the key and the web role; in the local profile, take over the people file.

    Raises:
        ConfigError: a setting does not describe a working service.
    """
    config = context.config
    if context.web_db is None:
        raise ConfigError("CHANCELA_DATABASE_WEB_URL is not set: people's requests run under the role approval_web")
    try:
        Signer.from_json(config.seal_key, APPROVAL)
    except SealError as error:
        raise ConfigError(f"CHANCELA_SEAL_KEY: {error}") from error
    if config.local_sign_in:
        await take_people(context.db, Path(config.people_file), RIGHTS)
