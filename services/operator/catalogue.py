"""Every operation that there is: one file each in `operations/`. Adding an operation is adding a file."""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from services.operator import operations
from services.operator.operation import Operation
from services.operator.state import Settings


class CatalogueError(Exception):
    """A file of `operations/` is not an operation; the service does not start. The message names the file."""


@cache
def catalogue() -> Mapping[str, Operation]:
    """All operations by name.

    Raises:
        CatalogueError: a file without `OPERATION`, or whose operation bears another name than the file.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(operations.__path__))
    return {name: _found(name) for name in names}


def _found(name: str) -> Operation:
    operation = getattr(import_module(f"{operations.__name__}.{name}"), "OPERATION", None)
    if not isinstance(operation, Operation):
        raise CatalogueError(f"operations/{name}.py has no OPERATION")
    if operation.name != name:
        raise CatalogueError(f"operations/{name}.py calls its operation {operation.name}: file and name must agree")
    return operation


def offered(everything: Mapping[str, Operation], settings: Settings) -> Mapping[str, Operation]:
    """What the model may call: chosen by the tenant, without what only people may do or must tick one by one."""
    return {
        name: one
        for name, one in everything.items()
        if not one.human_only
        and one.risk != "critical"
        and (settings.operations is None or name in settings.operations)
    }
