"""English words cut to their stems, so that *painting* finds *painted*."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final


_SHORTEST: Final = 3
"""Words below it are left as they are."""

_CACHED_MAX: Final = 50_000

_STEP_2: Final = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_3: Final = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4: Final = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("sion", "tion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(_CACHED_MAX)
def stem(word: str) -> str:
    """
    Return the stem of *word*, which is lower case; what is not English stays whole.

    Source:
        M. F. Porter, *An algorithm for suffix stripping*, Program 14(3), 1980.
    """
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha():
        return word
    word = _past_and_participle(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _tidied(_without_suffix(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        kept = word.removesuffix(suffix)
        if kept != word and _has_vowel(kept):
            return _mended(kept)
    return word


def _mended(kept: str) -> str:
    """Return what is left of a verb with the ending of its plain form put back."""
    if kept.endswith(("at", "bl", "iz")):
        return kept + "e"
    if _doubles(kept) and kept[-1] not in "lsz":
        return kept[:-1]
    if _measure(kept) == 1 and _is_short(kept):
        return kept + "e"
    return kept


def _replaced(word: str, suffixes: Sequence[tuple[str, str]]) -> str:
    for suffix, shorter in sorted(suffixes, key=lambda pair: -len(pair[0])):
        if word.endswith(suffix):
            kept = word.removesuffix(suffix)
            return kept + shorter if _measure(kept) > 0 else word
    return word


def _without_suffix(word: str) -> str:
    for suffix in sorted(_STEP_4, key=len, reverse=True):
        if word.endswith(suffix):
            kept = word.removesuffix("ion" if suffix in ("sion", "tion") else suffix)
            return kept if _measure(kept) > 1 else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        kept = word[:-1]
        measure = _measure(kept)
        if measure > 1 or (measure == 1 and not _is_short(kept)):
            word = kept
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _shape(word: str) -> str:
    """Return *word* as ``c`` and ``v``: a *y* after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return how often consonants follow vowels."""
    return len(re.findall("v+c", _shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _doubles(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _is_short(word: str) -> bool:
    """Whether *word* ends consonant, vowel, consonant, the last no w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
