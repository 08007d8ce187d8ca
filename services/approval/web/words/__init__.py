"""The words of these pages, a catalogue a language. Codes of gates and banners are worded here, never shown bare."""

from typing import Final

from services.approval.web.words import en, es, pt_br
from shared.web.speech import FOR_SCRIPTS, Catalogues, Speech, with_words

__all__ = ["CATALOGUES", "FOR_SCRIPTS", "Speech", "speech"]

CATALOGUES: Final[Catalogues] = with_words({"pt-BR": pt_br.WORDS, "en": en.WORDS, "es": es.WORDS})


def speech(language: str) -> Speech:
    return Speech(language, CATALOGUES[language])
