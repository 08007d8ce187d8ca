"""The only place that makes ids."""

from uuid import UUID, uuid4, uuid5


def new_id() -> UUID:
    return uuid4()


def derived_id(cause: UUID, step: str) -> UUID:
    """The id of a thing that `cause` led to: a re-run of the same handler makes the same id."""
    return uuid5(cause, step)
