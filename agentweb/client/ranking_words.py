"""Text to terms: what two texts have in common when one is found by the other.

Words are folded (compatibility forms, case, accents), English ones are stemmed. Scripts that write no blanks between
words, and Hangul, are taken letter by letter: a text has its letters and its pairs of neighbours as terms, a query the
pairs. Everything is a function of the text and of ``VERSION`` alone, so an index that is kept says which it is of.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise, zip_longest
from threading import local
from typing import Any, Final

import regex  # type: ignore[import-untyped]

VERSION: Final = f"1/{version('snowballstemmer')}"
"""Two texts of terms compare when they were made by one version."""

MAX_TERM: Final = 64
"""Characters of a term; of a longer word the beginning counts, and nobody types the rest."""

ENGLISH: Final = "en"

# Soft hyphens stand inside words and are not seen; marks belong to the letter before them.
_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}\u00AD]+|\p{Extended_Pictographic}")
_IN_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}\u00AD]")
_LETTERWISE: Final = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}"
    r"\p{Script=Khmer}\p{Script=Myanmar}\u30FC\u3005"
)
_RUN: Final = regex.compile(rf"([{_LETTERWISE}]\p{{M}}*)|[^{_LETTERWISE}]+")
_IS_LETTERWISE: Final = regex.compile(rf"[{_LETTERWISE}]")
_INNER_CASE: Final = regex.compile(r"(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|_+")
# From here on canonical combining classes are of marks above and below a letter: accents. Below are those that make
# another letter of it, as in Japanese and in the scripts of India (Unicode 4.3).
_ACCENTS: Final = 200
# The points of Hebrew and the vowels of Arabic, which most texts leave out.
_POINTS: Final = range(10, 36)
# Unicode 15.1 UAX #15 section 13, Stream-Safe Text Format: no writing has more marks on one letter. To put a run of
# them in order takes the square of its length.
_MOST_MARKS: Final = 30
_TOO_MANY_MARKS: Final = regex.compile(rf"(\p{{M}}{{{_MOST_MARKS}}})\p{{M}}++")
# Letters that no normal form takes apart, and characters that only lengthen or divide a word.
_OTHER_LETTERS: Final = str.maketrans(
    {
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
        "\u0640": None, "\u00ad": None, "\u200b": None, "\u2060": None, "\ufeff": None,
    }
)  # fmt: skip

STOP_WORDS: Final = frozenset(
    str.split(
        "a about am an and any are as at be been but by can could did do does for from had has have how i if in into "
        "is it its ll m me my of on or our re s should so some t that the their them then there these they this to "
        "us ve was we were what when where which who why will with would you your"
    )
)
"""English words that say nothing about what a text is about; a query of nothing else is asked with them."""

_LONGEST_KEPT: Final = 40


def fold(text: str) -> str:
    """The text without what writers and keyboards differ in: width, case, accents, points. Of the marks on one letter
    the first count."""
    text = _TOO_MANY_MARKS.sub(r"\1", text)
    taken_apart = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    kept = (
        char
        for char in taken_apart
        if (of := unicodedata.combining(char)) == 0 or (of < _ACCENTS and of not in _POINTS)
    )
    return unicodedata.normalize("NFC", "".join(kept)).translate(_OTHER_LETTERS)


def words(text: str) -> Iterator[tuple[int, int]]:
    """Where each word of the text begins and ends. A run of letters without blanks is one word here."""
    return (found.span() for found in _WORD.finditer(text))


def terms_of(word: str, language: str = ENGLISH) -> tuple[str, ...]:
    """The terms of a word as it is written, in their order, for a text that is to be found."""
    return (
        _kept(word, is_english(language))
        if len(word) <= _LONGEST_KEPT
        else _terms(word, is_english(language))
    )


def terms(text: str, language: str = ENGLISH) -> list[str]:
    """All terms of a text in their order, as often as they are there; stop words too."""
    english = is_english(language)
    found: list[str] = []
    for word in _WORD.findall(text):
        found += _kept(word, english) if len(word) <= _LONGEST_KEPT else _terms(word, english)
    return found


def name_terms(name: str, language: str = ENGLISH) -> list[str]:
    """The terms of a name as programs write it: ``add_to_cart``, ``addToCart``, ``HTTPServer``."""
    return terms(_INNER_CASE.sub(" ", name), language)


def query_terms(text: str, language: str = ENGLISH, *, most: int = 64) -> list[str]:
    """What somebody asks for: distinct terms in their order, at most ``most``.

    Stop words are left out unless there is nothing else. A name counts as a whole and in its parts.
    """
    english = is_english(language)
    asked = query_concepts(text, most=most)
    return list(dict.fromkeys(term for forms in asked for term in (forms[:1] if english else forms[1:])))[
        :most
    ]


def query_concepts(text: str, *, most: int = 64) -> list[tuple[str, ...]]:
    """The same for texts in any language: of each word its English stem first, then the forms that were asked for."""
    plain: dict[str, dict[str, None]] = {}
    stops: dict[str, dict[str, None]] = {}
    for word in _WORD.findall(text):
        for piece in dict.fromkeys([word, *_INNER_CASE.split(word)]):
            for run in _runs(piece):
                if isinstance(run, tuple):
                    for term in _pairs(run[0]) or run[0]:
                        plain.setdefault(term, {})[term] = None
                else:
                    kept = stops if run in STOP_WORDS else plain
                    kept.setdefault(_bounded(stem(run)), {})[_bounded(run)] = None
        if len(plain) >= most:
            break
    return [(first, *forms) for first, forms in (plain or stops).items()][:most]


def hits(text: str, wanted: Collection[str], language: str = ENGLISH) -> Iterator[tuple[int, int, str]]:
    """Where the text has one of the terms: begin, end, term."""
    english = is_english(language)
    # Of a text most words are asked for by nobody, and many are there more than once.
    having: dict[str, str] = {}
    has_letterwise = _IS_LETTERWISE.search(text) is not None
    for word in set(_WORD.findall(text)):
        if has_letterwise and _IS_LETTERWISE.search(word):
            having[word] = ""
            continue
        for term in _kept(word, english) if len(word) <= _LONGEST_KEPT else _terms(word, english):
            if term in wanted:
                having[word] = term
                break
    for begin, each in sorted((at, one) for one in having for at in _places(text, one)):
        if having[each]:
            yield begin, begin + len(each), having[each]
        else:
            yield from (
                (begin + at, begin + to, term) for at, to, term in _letter_hits(each, wanted, english)
            )


def _places(text: str, word: str) -> Iterator[int]:
    """Where the text has this very word, and not as a part of another."""
    at = text.find(word)
    while at >= 0:
        found = _WORD.match(text, at)
        is_begun = at and _IN_WORD.match(text, at - 1) and _IN_WORD.match(word)
        if found and found[0] == word and not is_begun:
            yield at
        at = text.find(word, at + len(word))


def _letter_hits(word: str, wanted: Collection[str], english: bool) -> Iterator[tuple[int, int, str]]:
    runs = list(_RUN.finditer(word))
    for run, after in zip_longest(runs, runs[1:]):
        if not run[1]:
            spans = [(run.end(), "".join(_terms(run[0], english)[:1]))]
        else:
            spans = [(run.end(), fold(run[0]))]
            if after is not None and after[1]:
                spans.insert(0, (after.end(), fold(word[run.start() : after.end()])))
        for end, term in spans:
            if term in wanted:
                yield run.start(), end, term
                break


def is_english(language: str) -> bool:
    """Whether words of a text in this language are stemmed: ``en``, ``en-gb``, and where none is named."""
    return not language or language.lower().partition("-")[0] == ENGLISH


def stem(word: str) -> str:
    """The stem of a folded English word: ``order`` of orders, ordered, ordering (Porter 2)."""
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        # With the first word: its package loads all of its languages. By its module, for where PyStemmer is installed
        # the package gives that, whose version is another.
        from snowballstemmer.english_stemmer import (  # type: ignore[import-untyped]  # noqa: PLC0415
            EnglishStemmer,
        )

        stemmer = _stemmers.english = EnglishStemmer()
    return str(stemmer.stemWord(word))


# A stemmer keeps the word that it works on.
_stemmers: Any = local()


@lru_cache(maxsize=50_000)
def _kept(word: str, english: bool) -> tuple[str, ...]:
    return _terms(word, english)


def _terms(word: str, english: bool) -> tuple[str, ...]:
    found: list[str] = []
    for run in _runs(word):
        if isinstance(run, tuple):
            found += [*run[0], *_pairs(run[0])]
        else:
            found.append(_bounded(stem(run) if english else run))
    return tuple(found)


def _runs(word: str) -> Iterator[str | tuple[list[str]]]:
    """The folded parts of a word: texts, and the letters of what is taken letter by letter."""
    letters: list[str] = []
    # Folding may make several words of one: "½" is "1⁄2".
    for part in _WORD.findall(fold(word)):
        for found in _RUN.finditer(part):
            if found[1]:
                letters.append(found[0])
                continue
            if letters:
                yield (letters,)
                letters = []
            yield found[0]
        if letters:
            yield (letters,)
            letters = []


def _pairs(letters: list[str]) -> list[str]:
    return [one + other for one, other in pairwise(letters)]


def _bounded(term: str) -> str:
    return term[:MAX_TERM]
