"""
Text cut into the terms by which it is found, in whatever languages it mixes.

Scripts that put blanks between words give words: English ones stemmed, Arabic ones
without their article, Korean ones whole and in pairs of syllables. Scripts that do not
give single characters and pairs of neighbours, so that a keyword of two characters hits
without a dictionary that would have to know it. Both sides are cut alike.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from muniment.recall.stemming import stem


_HAN_AND_KANA: Final = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_HANGUL: Final = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_UNSPACED: Final = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Tibetan, Burmese, Khmer."""

_ARABIC: Final = "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff"

_MARKS: Final = "\u0300-\u036f\u0591-\u05bd\u0900-\u0963\u0966-\u0dff"
"""Accents and vowel signs that belong to a word and are no letters of their own."""

_LETTER: Final = rf"(?:[^\W{_HAN_AND_KANA}{_HANGUL}{_UNSPACED}{_ARABIC}]|[{_MARKS}])"
_PIECES: Final = re.compile(
    rf"(?P<han_and_kana>[{_HAN_AND_KANA}]+)"
    rf"|(?P<hangul>[{_HANGUL}]+)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<arabic>[{_ARABIC}]+)"
    # A word keeps its apostrophe, an id its hyphens, dots and slashes.
    rf"|(?P<word>{_LETTER}+(?:[-.'\u2019@:/+#&]{_LETTER}+)*[+#]*)"
    # What stands for itself: emoji and other symbols, one by one.
    r"|(?P<symbol>[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_PARTS: Final = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_LETTERS_AND_DIGITS: Final = re.compile(r"\d+|[^\W\d_]+")
_ARABIC_MARKS: Final = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_ALIKE: Final = str.maketrans("أإآٱىةؤئ", "اااايهوي")
_ARABIC_ARTICLES: Final = ("وال", "بال", "كال", "فال", "لل", "ال")
_ARABIC_WORD_LEAST: Final = 3
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_CACHED_MAX: Final = 50_000
_SPACES: Final = re.compile(r"\s+")
_POSSESSIVE: Final = re.compile(r"['\u2019]s?$")

_SAYING_LITTLE: Final = """
a an and any are as at be been being but by can could did do does doing for from had has
have how i if in into is it its me my of on or our she he her him his so some such than
that the them their then there these they this those to was we were what when where which
who whom whose why will with would you your about
的 了 是 在 和 与 也 都 吗 呢 吧 啊 呀 么 着 过 把 被 我 你 他 她 它 们 这 那 哪 什 谁
我们 你们 他们 什么 哪些 哪个 怎么 のは です ます した して から まで
"""
"""Words that questions are put with."""

_STOP_WORDS: Final = frozenset(stem(word) for word in _SAYING_LITTLE.split())


def normal(text: str) -> str:
    """
    Return *text* as it is compared: width, case and forms folded, blanks single.

    Full and half width, composed and decomposed, upper and lower case are one.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Case folding can leave what NFKC would still compose.
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", folded)).strip()


def terms(text: str) -> list[str]:
    """
    Return the terms of *text*, in order, repeats included.

    Returns:
        At least one, unless *text* is blank: text without any letter, digit or symbol
        is a term as a whole.
    """
    return cut(normal(text))


def cut(plain: str) -> list[str]:
    """Return the terms of what `normal` made of a text."""
    found: list[str] = []
    for run in plain.split(" "):
        if run.isascii() and run.isalnum():
            found += _words(run)
        else:
            for piece in _PIECES.finditer(run):
                found += _terms_of(piece)
    return found or ([plain] if plain else [])


def asked(text: str) -> list[str]:
    """Return the terms of a question, without words that say nothing if others are left."""
    found = terms(text)
    telling = [term for term in found if term not in _STOP_WORDS]
    return telling or found


def forget_words() -> None:
    """Keep no word in memory that was cut before."""
    _words.cache_clear()
    stem.cache_clear()


def _terms_of(piece: re.Match[str]) -> Sequence[str]:
    text = piece.group()
    match piece.lastgroup:
        case "word":
            return _words(text)
        case "han_and_kana" | "unspaced":
            single = [each for each in text if not unicodedata.combining(each)]
            return single + _pairs(text)
        case "hangul":
            return [text, *(_pairs(text) if len(text) > len("가나") else ())]
        case "arabic":
            return [_arabic(text)]
        case _:
            return [text]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


@lru_cache(_CACHED_MAX)
def _words(text: str) -> Sequence[str]:
    """Return an id whole and in its parts; a plain word stemmed, without its accents."""
    whole = _POSSESSIVE.sub("", text)
    parts = _PARTS.findall(whole)
    found = [] if parts == [whole] else [whole]
    for part in parts:
        plain = _without_accents(part)
        found.append(stem(plain))
        finer = _LETTERS_AND_DIGITS.findall(plain)
        if len(finer) > 1:
            found += finer
    return tuple(found)


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


def _arabic(word: str) -> str:
    plain = _ARABIC_MARKS.sub("", word).translate(_ARABIC_ALIKE)
    for article in _ARABIC_ARTICLES:
        rest = plain.removeprefix(article)
        if rest != plain and len(rest) >= _ARABIC_WORD_LEAST:
            return rest
    return plain or word
