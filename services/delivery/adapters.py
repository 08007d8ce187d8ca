"""What each kind of channel needs to be asked: codec and channel settings joined into requests. Pure."""

from collections.abc import Mapping
from typing import Literal

from contracts.channel import CannotSend, Fate, HttpRequest, SendAnswer
from contracts.channels import waha
from contracts.messages import Destination
from services.delivery.config import Channel


class WahaAdapter:
    """One WAHA session."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    @property
    def credential(self) -> Mapping[str, str]:
        return {waha.API_KEY_HEADER: self.channel.api_key}

    def render(self, destination: Destination, body: str, message_id: str | None) -> HttpRequest | CannotSend:
        if destination.thread is not None:
            return CannotSend(
                code="thread_unknown", detail="WhatsApp chats have no threads; the destination names one."
            )
        return waha.render(
            session=self.channel.account,
            chat=destination.chat,
            text=body,
            reply_to=destination.reply_to,
            message_id=message_id,
        )

    def fate(self, answer: SendAnswer) -> Fate:
        return waha.fate(answer)

    def ask_message_id(self) -> HttpRequest:
        return waha.ask_message_id(self.channel.account)

    def message_id_of(self, answer: SendAnswer) -> str | None:
        return waha.message_id_of(answer)

    def ask_message(self, chat: str, message_id: str) -> HttpRequest:
        return waha.ask_message(self.channel.account, chat, whole_id(chat, message_id))

    def presence(self, answer: SendAnswer) -> Literal["present", "absent", "unknown"]:
        return waha.presence(answer)


def whole_id(chat: str, stanza_id: str) -> str:
    """WAHA's serialised id of a message of ours in a direct chat."""
    return f"true_{chat}_{stanza_id}"
