"""The operating turn: the offered operations that fit what was declared, once; then nothing."""

import re
from typing import Any

import msgspec

from deploy.local.model.answer import Answer, Call
from deploy.local.model.language import Heard, listen
from deploy.local.model.phrases import WANTS
from deploy.local.model.request import Message
from deploy.local.model.schema import Schema, as_list, as_map, fit
from deploy.local.model.tricks import tricks_in

PLANS: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "reschedule": (("create_task", {}), ("add_tag", {"tag": "remarcação"})),
    "cancel": (("create_task", {}), ("add_tag", {"tag": "cancelamento"})),
    "book": (("create_task", {}), ("move_stage", {"stage": "qualifying"})),
    "price": (("move_stage", {"stage": "qualifying"}), ("add_tag", {"tag": "preço"})),
    "expensive": (("add_tag", {"tag": "objeção de preço"}),),
    "complaint": (("open_case", {"priority": "high"}), ("add_tag", {"tag": "reclamação"})),
    "human": (("request_handoff", {}), ("handoff_request", {})),
}
ALIASES: dict[str, tuple[str, ...]] = {
    "title": ("subject", "what", "name", "summary", "reason", "note"),
    "description": ("details", "body", "notes", "text", "evidence", "quote", "because"),
    "tag": ("tags", "label", "name"),
    "stage": ("to_stage", "to", "step", "state", "stage_hint", "hint"),
    "fact": ("key", "name", "field", "kind", "subject"),
    "value": ("content", "text"),
}


def operate(messages: list[Message], tools: dict[str, Schema]) -> Answer:
    if any(message.role == "tool" for message in messages):
        return Answer()
    asked = "\n".join(message.text for message in messages if message.role == "user")
    state = last_object(asked)
    declared = find(state, "declaration") or state
    words = "\n".join(evidence_of(declared)) or asked
    if "promise-owner" in tricks_in(words):
        return Answer()
    heard = listen(words)
    wanted = [*planned(heard), *kept_promises(declared)]
    calls = [Call(name, shaped(tools[name], values, state)) for name, values in wanted if name in tools]
    return Answer(calls=tuple(call for place, call in enumerate(calls) if call not in calls[:place]))


def planned(heard: Heard) -> list[tuple[str, dict[str, Any]]]:
    words = {"description": heard.words}
    plans = [
        (name, {"title": f"{WANTS[heard.language][topic].capitalize()}: {heard.words}"[:120], **words, **values})
        for topic in heard.wants
        for name, values in PLANS.get(topic, ())
    ]
    if heard.fact:
        plans.append(("record_fact", {"fact": heard.fact[0], "value": heard.fact[1], **words}))
    return plans


def kept_promises(declared: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Each promise gets an owner: a task with its date."""
    promises = [as_map(one) for one in as_list(declared.get("promises"))]
    return [
        ("create_task", {"title": str(one["what"]), "description": str(one["what"]), "due": one.get("due")})
        for one in promises
        if one.get("what")
    ]


def evidence_of(declared: dict[str, Any]) -> list[str]:
    intents = [as_map(one) for one in as_list(declared.get("intents"))]
    return list(dict.fromkeys(str(one.get("evidence") or one.get("what") or "") for one in intents))


def shaped(schema: Schema, values: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """The values under the names that this operation uses; ids and the like come from the state that was given."""
    properties = as_map(schema.get("properties"))
    named = dict(values)
    for name, others in ALIASES.items():
        if name in values and name not in properties:
            named |= {other: values[name] for other in others[:] if other in properties and other not in named}
    if as_map(properties.get("tags")).get("type") == "array" and "tag" in values:
        named["tags"] = [values["tag"]]
    if "due" in values:
        named |= {name: values["due"] for name in properties if name.startswith("due")}
    known = {name: value for name in properties if (value := find_any(state, name)) is not None}
    return fit(schema, named, known)


def last_object(text: str) -> dict[str, Any]:
    """The JSON object that the message holds: the whole of it, a fenced part, or none."""
    for found in [text, *re.findall(r"\{.*\}", text, re.DOTALL)]:
        try:
            return as_map(msgspec.json.decode(found))
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue
    return {}


def find(value: Any, key: str) -> dict[str, Any]:
    return as_map(find_any(value, key))


def find_any(value: Any, key: str) -> Any:
    """The first value under this key, at any depth."""
    named = as_map(value)
    if key in named:
        return named[key]
    deeper = (find_any(inner, key) for inner in [*named.values(), *as_list(value)])
    return next((found for found in deeper if found is not None), None)
