"""What the house knows, as it is written in a file: short pieces in one of three languages."""

from hashlib import sha256
from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from shared.config import ConfigError
from shared.ids import derived_id


class Piece(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of the house; the title and the language name it, the version is a digest of its text."""

    title: str
    body: str
    keywords: str = ""
    language: Literal["pt-BR", "en", "es"] = "pt-BR"

    @property
    def version(self) -> str:
        return sha256(msgspec.json.encode([self.title, self.body, self.keywords])).hexdigest()[:12]

    def id_for(self, tenant: UUID) -> UUID:
        return derived_id(tenant, f"knowledge:{self.language}:{self.title}")


def read_pieces(path: str) -> list[Piece]:
    """Read a knowledge file.

    Raises:
        ConfigError: the file cannot be read or is not a list of pieces; the message names it.
    """
    where = f"CHANCELA_KNOWLEDGE_FILE={path}"
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=list[Piece])
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{where}: {error}") from error
