"""A leak by each door, for `chancela leak measure`: what the request shows of operating, told to the customer.

A door that the request does not open tells nothing: the draft is then an ordinary one.
"""

from collections.abc import Collection, Sequence

from deploy.local.model.answer import Answer, Call
from deploy.local.model.language import listen
from deploy.local.model.request import Function, Tool, Turn
from deploy.local.model.schema import MISSING, fit
from deploy.local.model.speaking import arguments, is_refused
from deploy.local.model.tricks import DATA_LEAKS, DESCRIPTION_LEAKS, NAME_LEAKS, OWN_LEAKS, tricks_in

SPEAKING = frozenset({"send_message", "search_knowledge", "read_history"})


def tell(turn: Turn, tools: Sequence[Tool]) -> Answer | None:
    """The next step of a leak that a marker asks for; None when none is asked for, is possible, or is left to try."""
    tricks, heard = tricks_in(turn.words), listen(turn.words, tuple(turn.earlier))
    operating = [tool.function for tool in tools if tool.function.name not in SPEAKING]
    if any(is_refused(result) for result in turn.results_of("send_message")):
        return None
    if "leak-data" in tricks and operating and not turn.results_of(operating[-1].name):
        return Answer(calls=(Call(operating[-1].name, fit(operating[-1].parameters or {}, MISSING)),))
    text = told(turn, operating, tricks.keys(), heard.language)
    if text is None:
        return None
    schema = next(tool.function.parameters or {} for tool in tools if tool.function.name == "send_message")
    return Answer(calls=(Call("send_message", arguments(schema, text, heard, tricks, [])),))


def told(turn: Turn, operating: Sequence[Function], tricks: Collection[str], language: str) -> str | None:
    if "leak-own" in tricks:
        return OWN_LEAKS[language]
    if not operating:
        return None
    last = operating[-1]
    if "leak-name" in tricks:
        return NAME_LEAKS[language].format(this=last.name)
    if "leak-description" in tricks:
        return DESCRIPTION_LEAKS[language].format(this=last.description)
    if "leak-data" in tricks:
        return DATA_LEAKS[language].format(this=turn.results_of(last.name)[-1].content)
    return None
