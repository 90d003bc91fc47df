"""
Others than the one a copy is about, replaced by tokens in it.

Two rules say who that is. Names that whoever asks gives are hidden wherever they stand.
And the ids of the ledger's other users and teams are hidden where they stand as words of
their own: `known_others` finds them. Ids of one character, and such as are numbers alone,
are words of their own too often; these have to be given as names.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from muniment.domain.scope import Scope, ScopeKind
from muniment.domain.text import Json
from muniment.errors import InvalidScopeError
from muniment.ledger.ids import may_be_fact_id
from muniment.ledger.vault import Vault


_WORD = re.compile(r"[^\s,;:!?\"'`()\[\]{}<>|/\\=*，。；：！？、（）《》“”‘’「」]+")  # noqa: RUF001
_HAN = re.compile(r"[㐀-鿿豈-﫿]+")
_HAN_ID_MIN, _HAN_ID_MAX = 2, 4
_OUR_OWN = frozenset({"fact_id", "survivor", "shared_from"})
"""What the ledger made up itself names nobody."""
_CALLERS = "metadata"
"""Where the names of fields are the caller's, too, and say nothing of what they hold."""
_OURS_IN_METADATA = "shared_from"
"""What the ledger adds to the caller's own: the fact that one is a copy of."""


class Names:
    """
    Names of third parties, replaced by tokens.

    Args:
        given: Hidden wherever they stand, the longest first.
        found: Hidden where no letter or digit is joined to them.
    """

    def __init__(self, given: Sequence[str], found: Sequence[str] = ()) -> None:
        self.count = 0
        self._by_folded: dict[str, str] = {}
        for name in (*given, *found):
            if name.casefold() not in self._by_folded:
                self.count += 1
                self._by_folded[name.casefold()] = f"[third party {self.count}]"
        anywhere = [re.escape(each) for each in sorted(given, key=len, reverse=True)]
        apart = [_apart(each) for each in sorted(found, key=len, reverse=True)]
        self._pattern = (
            re.compile("|".join([*anywhere, *apart]), re.IGNORECASE) if self.count else None
        )

    def hidden(self, value: Json) -> Json:
        """Return *value* with a token for each of them."""
        return self._hidden(value, in_metadata=False)

    def _hidden(self, value: Json, *, in_metadata: bool) -> Json:
        if self._pattern is None:
            return value
        match value:
            case str():
                return self._pattern.sub(self._token, value)
            case list():
                return [self._hidden(each, in_metadata=in_metadata) for each in value]
            case dict():
                return {
                    str(self.hidden(key)) if in_metadata else key: (
                        each
                        if _is_ours(key, each, in_metadata=in_metadata)
                        else self._hidden(each, in_metadata=in_metadata or key == _CALLERS)
                    )
                    for key, each in value.items()
                }
            case _:
                return value

    def _token(self, found: "re.Match[str]") -> str:
        return self._by_folded.get(found.group().casefold(), "[third party]")


def known_others(vault: Vault, whose: Scope, said: Iterable[Json]) -> tuple[str, ...]:
    """
    Return the ids of other users and teams of the ledger that stand in what was *said*.

    Args:
        vault: Knows them.
        whose: Whom the copy is about; not hidden from it.
        said: Texts, and whatever holds them.

    Returns:
        In the order in which they are first said.
    """
    candidates = dict.fromkeys(
        candidate
        for text in _texts(list(said))
        for word in _WORD.findall(text)
        for candidate in _candidates(word)
    )
    scopes = (scope for each in candidates for scope in _scopes(each))
    known = {scope.name for scope in vault.known(scopes)}
    return tuple(each for each in candidates if each != whose.name and each in known)


def _candidates(word: str) -> Iterator[str]:
    """Yield what of a word may be an id: as it stands, without a full stop, within Han."""
    bare = word.strip(".")
    kind, _, name = bare.partition(":")
    for each in (word, bare, name if kind in ("user", "team") else bare):
        if len(each) > 1 and not each.isdigit():
            yield from (each, each.casefold())
    for run in _HAN.findall(word):
        # Nothing stands between the words of a Chinese sentence.
        for length in range(_HAN_ID_MIN, _HAN_ID_MAX + 1):
            for at in range(len(run) - length + 1):
                yield run[at : at + length]


def _scopes(name: str) -> Iterator[Scope]:
    """Yield whom an id may name; nobody, if it can be no id."""
    for kind in (ScopeKind.USER, ScopeKind.TEAM):
        with suppress(InvalidScopeError):
            yield Scope(kind, name)


def _texts(value: Json, *, in_metadata: bool = False) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each, in_metadata=in_metadata)
        case dict():
            for key, each in value.items():
                yield str(key)
                if not _is_ours(key, each, in_metadata=in_metadata):
                    yield from _texts(each, in_metadata=in_metadata or key == _CALLERS)
        case _:
            return


def _is_ours(key: str, value: Json, *, in_metadata: bool) -> bool:
    """Whether the ledger made up a field and what it holds."""
    if not in_metadata:
        return key in _OUR_OWN
    # Whoever writes metadata may use the word, but a name is not spelled so.
    return key == _OURS_IN_METADATA and isinstance(value, str) and may_be_fact_id(value)


def _apart(name: str) -> str:
    """Return the pattern of a name that is not part of a longer word of its script."""
    start = r"(?<![0-9A-Za-z_])" if re.match(r"\w", name, re.ASCII) else ""
    end = r"(?![0-9A-Za-z_])" if re.search(r"\w$", name, re.ASCII) else ""
    return f"{start}{re.escape(name)}{end}"
