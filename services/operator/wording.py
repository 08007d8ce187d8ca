"""What people read about the operating role, in the conversation's language."""

from typing import Final

_NOBODY: Final = {
    "pt": "Ninguém é responsável por: {what}",
    "en": "Nobody is responsible for: {what}",
    "es": "Nadie es responsable de: {what}",
}
_COULD_NOT: Final = {
    "pt": "O operador quis agir e não pôde: {what}",
    "en": "The operator wanted to act and could not: {what}",
    "es": "El operador quiso actuar y no pudo: {what}",
}
_NO_MODEL: Final = {
    "pt": "o modelo não respondeu",
    "en": "the model did not answer",
    "es": "el modelo no respondió",
}

_COUNTED_ON: Final = {
    "pt": "Combinado com o cliente: {what}",
    "en": "Agreed with the customer: {what}",
    "es": "Acordado con el cliente: {what}",
}
_SOMETHING: Final = {
    "pt": "a resposta conta com alguém da equipe",
    "en": "the reply counts on someone of the team",
    "es": "la respuesta cuenta con alguien del equipo",
}


def counted_on(what: str, language: str) -> str:
    """`what` empty means that nobody said what is wanted."""
    return _in(_COUNTED_ON, language).format(what=what or _in(_SOMETHING, language))


def nobody_is_responsible(what: str, language: str) -> str:
    return _in(_NOBODY, language).format(what=what)


def could_not_act(what: str, language: str) -> str:
    """`what` empty means that the model itself was out of reach."""
    return _in(_COULD_NOT, language).format(what=what or _in(_NO_MODEL, language))


def _in(wording: dict[str, str], language: str) -> str:
    return wording.get(language[:2].lower(), wording["en"])
