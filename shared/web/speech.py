"""The words of pages, a catalogue a language. What is a code elsewhere is worded here, never shown bare."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from shared.web.words import en, es, pt_br

Catalogues = Mapping[str, Mapping[str, str]]
EVERYWHERE: Final[Catalogues] = {"pt-BR": pt_br.WORDS, "en": en.WORDS, "es": es.WORDS}
"""What the pages of every service say: who may come in, and why not."""
FOR_SCRIPTS: Final = "js."


class Speech(NamedTuple):
    """A language, and how to say things in it."""

    language: str
    words: Mapping[str, str]

    def t(self, key: str, **values: object) -> str:
        """The words of a key, with its values in place.

        Raises:
            KeyError: no such key: a mistake in a page, found by its tests.
        """
        text = self.words[key]
        return text.format_map(values) if values else text

    def code(self, group: str, code: str) -> str:
        """A code in words; one that nobody has worded yet is shown as it is, readable."""
        return self.words.get(f"{group}.{code}") or code.replace("_", " ")

    def for_scripts(self) -> dict[str, str]:
        return {key.removeprefix(FOR_SCRIPTS): text for key, text in self.words.items() if key.startswith(FOR_SCRIPTS)}


def with_words(own: Catalogues) -> Catalogues:
    """A service's words, with those of every service."""
    return {language: {**EVERYWHERE[language], **words} for language, words in own.items()}
