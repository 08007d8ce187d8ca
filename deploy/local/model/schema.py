"""Shape what the rules want to say into the JSON Schema that was offered, so that it always decodes strictly."""

import re
from typing import Any, cast

Schema = dict[str, Any]

MISSING: Any = object()
KINDS = {"str": "string", "bool": "boolean", "int": "integer", "float": "number", "dict": "object", "list": "array"}
SMALLEST: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0, "null": None}


def kind_named(value: object) -> str:
    """The JSON Schema name of a value's type, empty for null and the unsaid."""
    return KINDS.get(value.__class__.__name__, "")


def as_map(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def fit(schema: Schema, wanted: Any, known: dict[str, Any] | None = None, root: Schema | None = None) -> Any:
    """Give `wanted` the offered shape: unknown keys dropped, missing ones from `known` or the smallest value."""
    root = root or schema
    schema = pick(resolve(schema, root), wanted, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return closest(as_list(schema["enum"]), wanted)
    kind = kind_of(schema, wanted)
    if kind == "object":
        return fit_object(schema, wanted, known or {}, root)
    if kind == "array":
        items = as_list(wanted) if isinstance(wanted, list) else [MISSING] * int(schema.get("minItems", 0))
        return [fit(as_map(schema.get("items")), item, known, root) for item in items]
    return fit_scalar(schema, kind, wanted)


def resolve(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = as_map(target).get(step)
        schema = as_map(target)
    return schema


def pick(schema: Schema, wanted: Any, root: Schema) -> Schema:
    """Of several allowed shapes, the one that `wanted` already has; null when there is nothing to say."""
    shapes = [resolve(as_map(one), root) for one in as_list(schema.get("anyOf") or schema.get("oneOf"))]
    null = wanted is None or wanted is MISSING
    fitting = [one for one in shapes if (one.get("type") == "null") == null]
    same = [one for one in fitting if one.get("type") == kind_named(wanted)]
    return next(iter(same + fitting + shapes), schema)


def kind_of(schema: Schema, wanted: Any) -> str:
    declared = schema.get("type")
    if isinstance(declared, list):
        kinds = [str(one) for one in as_list(declared)]
        if "null" in kinds and (wanted is None or wanted is MISSING):
            return "null"
        same = kind_named(wanted)
        return same if same in kinds else next((one for one in kinds if one != "null"), "null")
    return str(declared or ("object" if "properties" in schema else (kind_named(wanted) or "null")))


def fit_object(schema: Schema, wanted: Any, known: dict[str, Any], root: Schema) -> dict[str, Any]:
    properties = as_map(schema.get("properties"))
    required = as_list(schema.get("required"))
    if isinstance(wanted, str):
        wanted = {next((name for name in required or properties if is_text(properties, name)), ""): wanted}
    values = as_map(wanted)
    names = [name for name in properties if name in values or name in required]
    return {
        name: fit(as_map(properties[name]), values.get(name, known.get(name, MISSING)), known, root) for name in names
    }


def is_text(properties: dict[str, Any], name: str) -> bool:
    return as_map(properties.get(name)).get("type") == "string"


def fit_scalar(schema: Schema, kind: str, wanted: Any) -> Any:
    if kind == "string":
        text = "" if wanted is None or wanted is MISSING else str(wanted)
        return text or "-" * int(schema.get("minLength", 0))
    if kind_named(wanted) == kind or (kind == "number" and isinstance(wanted, int)):
        return wanted
    return (
        max(SMALLEST[kind], schema.get("minimum", SMALLEST[kind])) if kind in ("integer", "number") else SMALLEST[kind]
    )


def closest(choices: list[Any], wanted: Any) -> Any:
    """The wanted choice, else the one that shares most words with it, else the first."""
    if wanted in choices:
        return wanted
    words = set(re.findall(r"\w{3,}", str(wanted).casefold()))
    return max(choices, key=lambda one: len(words & set(re.findall(r"[^\W_]{3,}", str(one).casefold()))))
