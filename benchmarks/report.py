"""Results as tables that a person reads."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


_BEGIN = "<!-- results: written by run.py, do not edit -->"
_END = "<!-- end of results -->"
_TITLES = {
    "writes": "One caller, one `remember` after the other",
    "bulk": "`remember_many` in batches",
    "threads": "Many callers at once",
    "proofs": "Proofs: what the tree costs, how fast it is checked; of processor time",
    "reads": "What was known then, among the facts of others",
    "erasure": "Erasure among the events of others",
    "disk": "Bytes on the disk",
}


def update(readme: Path, results: Path) -> None:
    """Put the tables of *results* into *readme*, in place of those there."""
    text = readme.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    written = f"{before}{_BEGIN}\n\n{tables(results)}\n{_END}{after}"
    readme.write_text(written, encoding="utf-8")


def tables(results: Path) -> str:
    """Return the tables of all questions that were asked, in Markdown."""
    parts = []
    for name, title in _TITLES.items():
        file = results / f"{name}.json"
        if file.exists():
            result = json.loads(file.read_text(encoding="utf-8"))
            parts.append("\n".join([f"### {title}", "", *_lines(result)]))
    return "\n\n".join(parts) + "\n"


def _lines(result: dict[str, Any]) -> Iterator[str]:
    machine = result["machine"]
    figures = [
        (backend, name, figure)
        for backend, answers in result["backends"].items()
        for name, figure in answers.items()
    ]
    for header, key, line in _TABLES:
        rows = [line(*each) for each in figures if key in each[2]]
        if rows:
            yield from (*header, *rows, "")
    for backend, answers in result["backends"].items():
        for name, figure in answers.items():
            if "p50_ms" in figure:
                yield (
                    f"{backend}, {name}: p50 {figure['p50_ms']} ms, "
                    f"p99 {figure['p99_ms']} ms{_size(figure)}.  "
                )
    yield (
        f"{result['sizes']['rounds']} rounds; {result['measured_at'][:10]}; 8 KiB made "
        f"durable in {machine['flush_8_kib_us']} µs just before."
    )


def _line(backend: str, name: str, figure: dict[str, float]) -> str:
    return (
        f"| {backend} | {name} | {figure['per_second']:,.0f} | "
        f"{figure['slowest']:,.0f} to {figure['fastest']:,.0f} | {figure['ratio']:.2f} |"
    )


def _disk_line(backend: str, name: str, figure: dict[str, Any]) -> str:
    largest = list(figure["bytes_by_table"].items())[:4]
    return (
        f"| {backend} | {name} | {figure['bytes_in_all']:,} | {figure['bytes_a_fact']:,} | "
        f"{figure['of_plain_rows']:.2f} | {figure['of_one_version']:.2f} | "
        f"{', '.join(f'{table} {size:,}' for table, size in largest)} |"
    )


def _size(figure: dict[str, float]) -> str:
    if "bytes" not in figure:
        return ""
    parts = f", {figure['bytes_of_inclusion']:,} of them without the tree head"
    return f"; at most {figure['bytes']:,} bytes{parts}"


_TABLES: tuple[tuple[tuple[str, str], str, Callable[..., str]], ...] = (
    (
        (
            "| on | what | per second | slowest to fastest round | of the baseline |",
            "|---|---|--:|--:|--:|",
        ),
        "per_second",
        _line,
    ),
    (
        (
            "| on | what | bytes | a fact | of plain rows | of one version | largest |",
            "|---|---|--:|--:|--:|--:|---|",
        ),
        "bytes_in_all",
        _disk_line,
    ),
)
