"""NATS on the wire, cut into frames: a control line, with the payload that belongs to it. Both directions, no TLS."""

_WITH_PAYLOAD = (b"PUB ", b"HPUB ", b"MSG ", b"HMSG ")
_END = b"\r\n"


class Frames:
    """Bytes in, whole frames out; what is incomplete waits for more."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, some: bytes) -> list[bytes]:
        self._rest += some
        frames: list[bytes] = []
        while (size := _size(self._rest)) is not None and size <= len(self._rest):
            frames.append(self._rest[:size])
            self._rest = self._rest[size:]
        return frames


def _size(text: bytes) -> int | None:
    """Of the first frame, which may not be there in full; None while its control line is not."""
    line, end, _ = text.partition(_END)
    if not end:
        return None
    size = len(line) + len(_END)
    if line.upper().startswith(_WITH_PAYLOAD):
        size += int(line.rsplit(maxsplit=1)[-1]) + len(_END)
    return size
