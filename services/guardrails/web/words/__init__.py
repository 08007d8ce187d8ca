"""The words of these pages, a catalogue a language."""

from typing import Final

from services.guardrails.web.words import en, es, pt_br
from shared.web.speech import Catalogues, with_words

CATALOGUES: Final[Catalogues] = with_words({"pt-BR": pt_br.WORDS, "en": en.WORDS, "es": es.WORDS})
