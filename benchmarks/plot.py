"""Reads by how many facts others have, as a picture: both axes are logarithmic."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 400, 60, 40, 190, 50
_COLOURS = ("#1b6ca8", "#c0392b", "#2e7d32", "#8e44ad", "#d68910", "#16727a")
_SHOWN = ("user's diff", "user as of then", "fact as of then")
_NAME = re.compile(r"(?P<kind>.+), others' facts (?P<others>[\d,]+)")

_HEAD = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    'font-family="sans-serif" font-size="11">'
)

Points = list[tuple[int, float]]


def picture(backends: Mapping[str, Mapping[str, Any]]) -> str:
    """Return an SVG of the medians of what is read, a line for each kind and backend."""
    lines = {
        f"{backend}: {kind}": points
        for backend, answers in backends.items()
        for kind, points in _points(answers).items()
        if kind in _SHOWN
    }
    every = [point for points in lines.values() for point in points]
    x_low, x_high = _decades([x for x, _ in every])
    y_low, y_high = _decades([y for _, y in every])

    def place(x: float, y: float) -> tuple[float, float]:
        right = (math.log10(x) - x_low) / (x_high - x_low)
        up = (math.log10(y) - y_low) / (y_high - y_low)
        return (
            _LEFT + right * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [
        _HEAD,
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 20, "Median time of a read, by facts of others in the same tables"),
    ]
    for power in range(x_low, x_high + 1):
        x, bottom = place(10**power, 10**y_low)
        parts.append(_rule((x, bottom), place(10**power, 10**y_high)))
        parts.append(_text(x, bottom + 18, f"{10**power:,}", anchor="middle"))
    for power in range(y_low, y_high + 1):
        left, y = place(10**x_low, 10**power)
        parts.append(_rule((left, y), place(10**x_high, 10**power)))
        parts.append(_text(left - 6, y + 4, f"{10.0**power:g} ms", anchor="end"))
    parts += _drawn({name: [place(*each) for each in at] for name, at in lines.items()})
    return "\n".join([*parts, "</svg>"]) + "\n"


def _points(answers: Mapping[str, Any]) -> Mapping[str, Points]:
    """Return by kind of read the median at each number of others' facts."""
    found: dict[str, Points] = {}
    for name, figure in answers.items():
        match = _NAME.fullmatch(name)
        assert match is not None, f"{name} names a kind and a number"
        others = int(match["others"].replace(",", ""))
        found.setdefault(match["kind"], []).append((others, figure["p50_ms"]))
    return found


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around *values*."""
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def _drawn(lines: Mapping[str, Sequence[tuple[float, float]]]) -> Iterator[str]:
    """Yield the lines with their marks, and what each is."""
    for number, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in points:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        y = _TOP + 16 * (number + 1)
        x = _WIDTH - _RIGHT + 14
        yield f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        yield _text(x + 16, y, name)


def _rule(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
