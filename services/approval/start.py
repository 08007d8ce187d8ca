"""What must hold before the service counts as started."""

from pathlib import Path

from services.approval.config import Config
from services.approval.people import PeopleFileError, read_people
from shared.config import ConfigError
from shared.runtime import Context
from shared.seal import APPROVAL, SealError, Signer
from shared.web import store


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
        await _take_people(context, Path(config.people_file))


async def _take_people(context: Context[Config], path: Path) -> None:
    try:
        people = read_people(path.read_text(encoding="utf-8"))  # noqa: ASYNC240 - once, before anything is served
    except (OSError, PeopleFileError) as error:
        raise ConfigError(f"CHANCELA_PEOPLE_FILE={path}: {error}") from error
    async with context.db.transaction() as tx:
        await store.people_are(tx, people)
