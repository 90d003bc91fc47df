"""Rules of retention as people write them: durations in words, files in TOML."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from muniment.domain.policy import RetentionRule
from muniment.errors import InvalidValueError, UnknownFieldError


_DURATION = re.compile(r"([1-9][0-9]{0,6}) ?([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_FIELDS = (
    "category",
    "older_than",
    "unused_for",
    "importance_below",
    "thin_older_than",
    "merge_alike",
    "records",
)


def seconds(text: str, *, field: str) -> int:
    """
    Return how many seconds a duration such as ``90d`` has; its unit is s, m, h, d or w.

    Raises:
        InvalidValueError: If it is none.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise InvalidValueError(field, text, "a duration such as 90d, 12h or 2w")
    return int(found[1]) * _SECONDS[found[2]]


def rule(fields: Mapping[str, Any]) -> RetentionRule:
    """
    Return the rule that *fields* spell.

    Raises:
        UnknownFieldError: If one of them is none of a rule.
        InvalidValueError: If one is out of bounds, or none is a limit.
    """
    for name in fields:
        if name not in _FIELDS:
            raise UnknownFieldError(name, _FIELDS)
    category = fields.get("category")
    if category is not None and not isinstance(category, str):
        raise InvalidValueError("category", category, "text")
    return RetentionRule(
        category=category,
        older_than_us=_microseconds(fields, "older_than"),
        unused_for_us=_microseconds(fields, "unused_for"),
        importance_below=_number(fields, "importance_below"),
        thin_older_than_us=_microseconds(fields, "thin_older_than"),
        merge_alike=_number(fields, "merge_alike"),
        # One that is of no kind is refused by the rule itself.
        records=fields.get("records"),
    )


def checked(rules: object) -> tuple[RetentionRule, ...]:
    """
    Return *rules*, each of which is one.

    Raises:
        InvalidValueError: If they are no sequence of rules.
    """
    if isinstance(rules, str) or not isinstance(rules, Sequence):
        raise InvalidValueError("rules", rules, "a sequence of RetentionRule")
    for each in rules:
        if not isinstance(each, RetentionRule):
            raise InvalidValueError("a rule", each, "a RetentionRule")
    return tuple(rules)


def rules_in(file: Path) -> tuple[RetentionRule, ...]:
    """
    Return the rules of a TOML file: a table ``[[rule]]`` for each, in order.

    Raises:
        InvalidInput: If it is no TOML, or something in it is no rule.
    """
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidValueError(str(file), str(error), "TOML in UTF-8") from error
    for name in found:
        if name != "rule":
            raise UnknownFieldError(name, ("rule",))
    tables = found.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise InvalidValueError("rule", tables, "tables under [[rule]]")
    return tuple(rule(each) for each in tables)


def _number(fields: Mapping[str, Any], name: str) -> float | None:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise InvalidValueError(name, value, "a number")
    return value


def _microseconds(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    return seconds(value if isinstance(value, str) else repr(value), field=name) * 1_000_000
