"""Whose words came from our own account: the echo of a send of ours, or a person on the phone. Pure.

Laws
- The message's own id decides first; the vendor's `source` is never read.
- Without a known id, chat and text decide, against sends whose id is not known or whose echo is still missing.
- One send may be reported under several ids: for `copy_seconds` after it, the same words in the same chat are its copy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from contracts.foreign import phone_aliases
from shared.seal import text_digest

LONGEST_UNCERTAINTY: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class OwnSend:
    """A send of ours, as delivery told it."""

    decision_id: UUID
    conversation_id: UUID
    stanza_id: str | None
    begun_at: datetime
    is_echoed: bool = False
    text_digest: str | None = None


def stanza_of(provider_id: str) -> str:
    """The part that echoes and acks share of an id that came whole (`true_<chat>_<stanza>`) or bare."""
    parts = provider_id.split("_", 3)
    return parts[2] if len(parts) >= 3 and parts[0] in {"true", "false"} else provider_id


def digests(chats: Iterable[str], text: str) -> tuple[str, ...]:
    """The words under every chat id of the person: the echo may come under another one than we sent to."""
    forms = dict.fromkeys(form for chat in chats for form in _forms(chat))
    return tuple(text_digest(form, text) for form in forms)


def _forms(chat: str) -> tuple[str, ...]:
    user, _, server = chat.partition("@")
    return tuple(f"{digits}@c.us" for digits in phone_aliases(user)) if server == "c.us" else (chat,)


def match(stanza_id: str, sends: Sequence[OwnSend], *, now: datetime, copy_seconds: float) -> OwnSend | None:
    """The send that this is the echo of; `sends` share its stanza, or its chat and text."""
    by_id = next((send for send in sends if send.stanza_id == stanza_id), None)
    if by_id is not None:
        return by_id
    by_text = [send for send in sends if _may_be_echoed(send, now, timedelta(seconds=copy_seconds))]
    return min(by_text, key=lambda send: (send.is_echoed, send.begun_at), default=None)


def _may_be_echoed(send: OwnSend, now: datetime, copies: timedelta) -> bool:
    is_waiting = send.stanza_id is None and not send.is_echoed
    return now - send.begun_at <= (LONGEST_UNCERTAINTY if is_waiting else copies)
