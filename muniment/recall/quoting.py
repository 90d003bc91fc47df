"""Somebody's words as one line of a prompt, without anything that is not theirs to say."""

import re
from typing import Final


def as_data(text: str) -> str:
    """
    Return *text* on one line, without anything that could pass for our own marks.

    Line breaks are shown, brackets become likes that stay what they are under any
    normalisation a model may do, fences and headings lose their meaning, and characters
    that are not seen, but change how text is read or carry more of it, are dropped.
    """
    lines = _BREAKS.sub(" ⏎ ", text.strip())
    seen = _UNSEEN.sub("", lines).translate(_LIKES)
    return _MARKDOWN.sub(lambda found: found.group().translate(_PLAIN), seen)


_BREAKS: Final = re.compile("[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b\u200e"
    "\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-"
    "\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    # Joiners and emoji styles are part of how words are spelled, one or two at a time.
    "|[\u200c\u200d\ufe0e\ufe0f]{3,}"
)
_LIKES: Final = str.maketrans(
    {
        # With those that compatibility normalisation (NFKC) makes of, or into, them.
        **dict.fromkeys("<\ufe64\uff1c", "\u2039"),
        **dict.fromkeys(">\ufe65\uff1e", "\u203a"),
        **dict.fromkeys("[\ufe47\uff3b", "\u3014"),
        **dict.fromkeys("]\ufe48\uff3d", "\u3015"),
    }
)
_MARKDOWN: Final = re.compile("[`\u1fef\uff40]{3,}|[~\uff5e]{3,}|^[#\ufe5f\uff03]+")
"""Fences anywhere, and headings where a line of ours has just begun."""

_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("`\u1fef\uff40", "'"),
        **dict.fromkeys("~\uff5e", "\u223c"),
        **dict.fromkeys("#\ufe5f\uff03", "\u266f"),
    }
)
