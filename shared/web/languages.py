"""The languages that pages speak."""

LANGUAGES = ("pt-BR", "en", "es")
DEFAULT_LANGUAGE = "en"


def language_of(accept_language: str) -> str:
    """The first language of ours that an Accept-Language header, or a locale, names."""
    for part in accept_language.split(","):
        wanted = part.split(";")[0].strip().lower().replace("_", "-")
        for ours in LANGUAGES:
            if wanted and ours.lower().split("-")[0] == wanted.split("-")[0]:
                return ours
    return DEFAULT_LANGUAGE
