"""Pages for people: what an export or a package of evidence says, to read and to print."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from muniment.archive.portable import About, Document, Done, Version


_STYLE = """
body { font: 11pt/1.5 Georgia, 'Noto Serif CJK SC', serif; color: #111; margin: 2em auto;
  max-width: 60em; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.2em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid #bbb; padding: .3em .5em; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { background: #f2f2f2; } .gone { color: #666; font-style: italic; }
@media print { body { margin: 0; max-width: none; } tr { break-inside: avoid; }
  thead { display: table-header-group; } h2 { break-after: avoid; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, sections: Iterable[str]) -> bytes:
    """Return a page of its own: nothing is loaded and nothing runs."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{''.join(sections)}</body></html>\n"
    ).encode()


def section(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table under its title; says so when there is nothing."""
    if not rows:
        return f'<h2>{escape(title)}</h2>\n<p class="gone">nothing</p>\n'
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(each)}</td>' for each in row)}</tr>\n" for row in rows
    )
    return (
        f"<h2>{escape(title)}</h2>\n<table><thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}</tbody></table>\n"
    )


def summary_page(
    fields: Mapping[str, Any],
    files: Mapping[str, bytes],
    states: Sequence[Mapping[str, Any]],
) -> bytes:
    """Return the summary of a package of evidence."""
    about = [
        ("Matter", fields["matter"]),
        ("Reason", fields["reason"]),
        ("Whose memory", fields["scope"]),
        ("Recorded from", fields["recorded_from"] or "the beginning"),
        ("Recorded before", fields["recorded_to"] or fields["made_at"]),
        ("Made", f"{fields['made_at']} by {fields['made_by'] or 'nobody named'}"),
        ("Ledger", f"{fields['ledger']}, {fields['software']}"),
        ("Package", fields["package_id"]),
        ("Events", f"{fields['counts']['events']:,}"),
    ]
    sections = [section("What this is", ("", ""), about)]
    sections += [
        section(
            f"Known at {state['recorded_at']} about {state['valid_at']}",
            ("Says", "Holds from", "Holds to", "Recorded", "Position"),
            [
                (
                    each["content"],
                    each["valid_from"] or "…",
                    each["valid_to"] or "…",
                    each["recorded_at"],
                    each["position"],
                )
                for each in state["facts"]
            ],
        )
        for state in states
    ]
    left_out = [(each["events"], each["why"]) for each in fields["exclusions"]]
    sections.append(section("What is not shown, and why", ("Events", "Why"), left_out))
    sizes = [(name, f"{len(content):,} bytes") for name, content in files.items()]
    sections.append(section("Files", ("File", "Size"), sizes))
    return page(f"Evidence: {fields['matter']}", sections)


def export_page(document: Document) -> bytes:
    """Return an export as a page."""
    by_tx = {each.tx_id: each for each in document.transactions}
    about = [
        ("Whose memory", document.scope),
        ("Made", document.made_at),
        ("Ledger", f"{document.ledger}, up to position {document.position:,}"),
        ("Facts", f"{document.counts.facts:,} in {document.counts.versions:,} versions"),
        ("Third parties hidden", f"{document.hidden:,}"),
    ]
    versions = [each for fact in document.facts for each in fact.versions]
    current = [(each.current,) for each in document.facts if each.current is not None]
    sections = [
        section("What this is", ("", ""), about),
        section("What is remembered now", ("Says",), current),
        section(
            "Everything that was ever recorded",
            ("Recorded", "What happened", "Says", "Holds from", "Holds to", "By", "Why"),
            [_happened(each, by_tx[each.tx_id]) for each in versions],
        ),
        section(
            "Holds, requests and copies given out",
            ("Recorded", "What", "By", "Why"),
            [_requested(each, by_tx[each.tx_id]) for each in document.about],
        ),
    ]
    sections += [
        section(name, ("",), [(json.dumps(e, ensure_ascii=False),) for e in lines])
        for name, lines in document.others.items()
    ]
    return page(f"Everything remembered of {document.scope}", sections)


def _happened(version: Version, done: Done) -> Sequence[str | None]:
    is_unreadable = version.stored.content is None
    return (
        version.recorded_at,
        version.kind,
        version.content or (None if is_unreadable else ""),
        version.valid_from or "",
        version.valid_to or "",
        done.actor or "",
        done.reason or "",
    )


def _requested(about: About, done: Done) -> Sequence[str]:
    kind = about.kind.replace("_", " ")
    return about.recorded_at, kind, done.actor or "", done.reason or ""


def _cell(value: object) -> str:
    if value is None:
        return '<span class="gone">unreadable</span>'
    return escape(str(value))
