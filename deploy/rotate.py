"""Rotation of what an identity proves itself with, in three steps during which the old and the new are both accepted.

    admit    a new one is made; servers accept both; nobody uses the new one yet
    switch   the identity uses the new one from its next start on; servers still accept both
    retire   servers accept the new one alone

Only files of the key folder change here; what each step prints is what makes servers and services agree with them. A
step that was interrupted is given again. NATS: two public keys in one account. Postgres: a role has two logins with the
same rights and the free one gets the new password, as a password changed in place shuts running processes out of every
connection that they open until their restart.
"""

from abc import ABC, abstractmethod
from enum import StrEnum
from pathlib import Path

from contracts.topology import SERVICES
from deploy.keys import (
    IDENTITIES,
    RUNNING_KINDS,
    login_in_use,
    new_password,
    new_seed,
    other_login,
    public_key,
    read_key,
    write_secret,
)


class Step(StrEnum):
    """In this order."""

    ADMIT = "admit"
    SWITCH = "switch"
    RETIRE = "retire"


class RotationError(Exception):
    """The folder is not where this step begins; the message says where it is and what to do."""


class Credential(ABC):
    """One thing that rotates, as files of the key folder: `name`, `name.next`, `name.previous`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._next = folder / f"{name}.next"
        self._previous = folder / f"{name}.previous"

    @property
    def stage(self) -> Step | None:
        """The last step that was done; None when it does not rotate."""
        if self._previous.exists():
            return Step.SWITCH
        return Step.ADMIT if self._next.exists() else None

    def admit(self) -> None:
        if self.stage is Step.SWITCH:
            raise RotationError(f"{self.name}: its last rotation is not over; do the step `retire` first")
        if not self._next.exists():
            write_secret(self._next, self._make())

    def switch(self) -> None:
        if not self._next.exists():
            if self.stage is Step.SWITCH:
                return
            raise RotationError(f"{self.name}: there is nothing to switch to; do the step `admit` first")
        if not self._previous.exists():
            write_secret(self._previous, self._trace_of_used())
        self._use(read_key(self._folder, self._next.name))
        self._next.unlink()

    def retire(self) -> None:
        if self._next.exists():
            raise RotationError(f"{self.name}: the new one is not in use yet; do the step `switch` first")
        self._previous.unlink(missing_ok=True)

    @abstractmethod
    def _make(self) -> str: ...

    @abstractmethod
    def _trace_of_used(self) -> str:
        """What servers need to go on accepting the one in use."""

    @abstractmethod
    def _use(self, new: str) -> None: ...


class NatsKey(Credential):
    """`<identity>.nk`, a seed; of the previous one only the public key is kept."""

    def _make(self) -> str:
        return new_seed()

    def _trace_of_used(self) -> str:
        return public_key(read_key(self._folder, self.name))

    def _use(self, new: str) -> None:
        write_secret(self._folder / self.name, new)


class DatabaseLogin(Credential):
    """`<role>.password`; of the previous one only the login's name is kept."""

    def _make(self) -> str:
        return new_password()

    def _trace_of_used(self) -> str:
        return login_in_use(self._folder, self.name).name

    def _use(self, new: str) -> None:
        name = other_login(self.name, read_key(self._folder, self._previous.name))
        write_secret(self._folder / f"{self.name}.password", f"{name} {new}")


def credentials(folder: Path, identity: str, only: str = "") -> list[Credential]:
    """What an identity has: a NATS key, and a service the logins of its running processes."""
    if identity not in IDENTITIES:
        raise RotationError(f"there is no identity {identity!r}; there are {', '.join(IDENTITIES)}")
    if not (folder / f"{identity}.nk").exists():
        raise RotationError(f"{folder} holds no keys; `chancela keys create {folder}` makes them")
    has_database = identity in SERVICES
    if only == "database" and not has_database:
        raise RotationError(f"{identity} does not use the database")
    found: list[Credential] = [] if only == "database" else [NatsKey(folder, f"{identity}.nk")]
    if has_database and only != "nats":
        found += [DatabaseLogin(folder, f"{identity}_{kind}") for kind in RUNNING_KINDS]
    return found


def rotate(folder: Path, identity: str, step: Step, only: str = "") -> None:
    """Do one step for every credential of an identity.

    Raises:
        RotationError: one of them is not where this step begins; nothing was changed for those after it.
    """
    for one in credentials(folder, identity, only):
        match step:
            case Step.ADMIT:
                one.admit()
            case Step.SWITCH:
                one.switch()
            case Step.RETIRE:
                one.retire()


def what_next(folder: Path, identity: str, only: str = "") -> list[str]:
    """Where an identity's rotation is, and what a person does now, a line each."""
    found = credentials(folder, identity, only)
    stages = {one.stage for one in found}
    again = f"chancela keys rotate {identity}{f' --only {only}' if only else ''} --keys {folder}"
    spread = _spread(folder, found)
    if len(stages) > 1:
        halves = ", ".join(f"{one.name}: {one.stage or 'settled'}" for one in found)
        return [f"{identity} is between two steps ({halves}); give the interrupted step again"]
    match stages.pop():
        case Step.ADMIT:
            return [f"{identity}: a new one is made beside the one in use", *spread, f"then: {again} --step switch"]
        case Step.SWITCH:
            return [
                f"{identity}: the new one is used from the next start on; the old one is still accepted",
                f"python -m deploy.handout {folder}   # with the options that you always give",
                _restart(folder, identity),
                f"then: {again} --step retire",
            ]
        case _:
            return [
                f"{identity}: one credential of each kind is accepted",
                *spread,
                f"to rotate: {again} --step admit",
            ]


def _restart(folder: Path, identity: str) -> str:
    """Who reads the handed-out file."""
    party = {"admin": "bus-admin"}.get(identity, identity)
    if identity not in (*SERVICES, "admin"):
        return f"give {folder}/{identity}.nk to whoever connects as {identity}"
    held = f"bring {folder}/for/{party} to where it is mounted"
    return f"{held}, and restart {identity}" if identity in SERVICES else held


def _spread(folder: Path, found: list[Credential]) -> list[str]:
    lines = [f"python -m deploy.handout {folder}   # with the options that you always give"]
    if any(isinstance(one, NatsKey) for one in found):
        lines.append(f"bring {folder}/for/nats/keys.conf to every NATS server, then: nats-server --signal reload")
    if any(isinstance(one, DatabaseLogin) for one in found):
        lines.append(f"python -m deploy.roles {folder}   # with CHANCELA_DATABASE_SUPERUSER_URL")
    return lines
