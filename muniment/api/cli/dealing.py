"""The commands of teams, conversations and agents, under the names they are typed by."""

from collections.abc import Callable
from typing import Final

import typer

from muniment.api.cli import conversing, recalling, sharing


Add = Callable[..., None]

_FACT: Final = "01m8nqhdc08zyb7218v6btq1av"
_SESSION: Final = "01m8ntpcrsay1gp1sr3nn72j1z"
_SHARE: Final = "Share, and agree"
_TALK: Final = "Keep conversations"
_AGENTS: Final = "What agents are given"


def add_all(app: typer.Typer, add: Add) -> None:
    """Add every command of them to *app*."""
    _add_sharing(add)
    _add_conversations(app, add)
    _add_recalls(app, add)


def _add_sharing(add: Add) -> None:
    team, lead = "--team eng", "--as u-4 --as-lead-of eng"
    add(
        _SHARE,
        "propose-share",
        sharing.propose_share,
        f'propose-share {_FACT} --to team:eng --as u-123 --reason "all deploy so"',
    )
    add(_SHARE, "proposals", sharing.proposals, f"proposals {team} {lead}")
    add(
        _SHARE,
        "approve",
        sharing.approve,
        f'approve {_FACT} {lead} --reason "useful for all"',
    )
    add(_SHARE, "reject", sharing.reject, f'reject {_FACT} {lead} --reason "too personal"')
    add(_SHARE, "shared", sharing.shared, f"shared {team}", f"shared {team} --overdue")
    add(
        _SHARE,
        "entrust",
        sharing.entrust,
        f"entrust {_FACT} --owner u-9 --review-at 2027-01-01T00:00:00+08:00",
    )
    add(
        _SHARE,
        "hand-over",
        sharing.hand_over,
        f"hand-over u-9 {team} --policy keep --to u-4",
    )


def _add_conversations(app: typer.Typer, add: Add) -> None:
    group = _group(app, "sessions", _TALK, "Begin, list and end conversations.")
    user = "--user u-123"
    add(_TALK, "start", conversing.start, f"sessions start {user}", group=group)
    add(_TALK, "list", conversing.list_, f"sessions list {user}", group=group)
    add(_TALK, "get", conversing.get, f"sessions get {_SESSION}", group=group)
    add(_TALK, "end", conversing.end, f"sessions end {_SESSION}", group=group)

    group = _group(app, "turns", _TALK, "Keep what is said, and show it as of any time.")
    when = "2026-03-24T09:30:00+08:00"
    add(
        _TALK,
        "add",
        conversing.add,
        f'turns add {_SESSION} "我喜欢喝茶"',
        f'turns add {_SESSION} "Noted." --role assistant --uttered-at {when}',
        group=group,
    )
    add(_TALK, "load", conversing.load, f"turns load {_SESSION} said.jsonl", group=group)
    add(_TALK, "list", conversing.said, f"turns list {_SESSION} --limit 20", group=group)
    add(_TALK, "before", conversing.before, f"turns before {when} {user}", group=group)
    add(_TALK, "get", conversing.turn, f"turns get {_SESSION}.7", group=group)
    add(_TALK, "facts", conversing.facts, f"turns facts {_SESSION}.7", group=group)
    add(_TALK, "of", conversing.sources, f"turns of {_FACT}", group=group)

    group = _group(app, "summaries", _TALK, "Put conversations in fewer words.")
    add(
        _TALK,
        "make",
        conversing.summarize,
        f"summaries make {_SESSION} --force",
        group=group,
    )
    add(_TALK, "list", conversing.summaries, f"summaries list {_SESSION}", group=group)
    add(
        _TALK,
        "withdraw",
        conversing.withdraw,
        f"summaries withdraw {_SESSION} 2",
        group=group,
    )


def _add_recalls(app: typer.Typer, add: Add) -> None:
    user = "--user u-123"
    add(
        _AGENTS,
        "context",
        recalling.context,
        f'context "用什么语言写?" {user} --language zh',
        f'context "How do we deploy?" {user} --scope team:eng --budget-tokens 800',
    )
    group = _group(app, "receipts", _AGENTS, "Show what agents were given.")
    add(_AGENTS, "list", recalling.receipts, f"receipts list {user}", group=group)
    add(_AGENTS, "uses", recalling.uses, f"receipts uses {_FACT}", group=group)
    add(_AGENTS, "stray", recalling.stray, "receipts stray", group=group)
    add(_AGENTS, "lost", recalling.lost, "receipts lost", group=group)

    group = _group(app, "config", _AGENTS, "Keep how agents are set up, and show it.")
    add(
        _AGENTS,
        "record",
        recalling.record,
        "config record weights '{\"words\": 0.7}' --actor ops-1",
        'config record prompt "你是助手。" --text --reason "shorter"',
        group=group,
    )
    add(
        _AGENTS,
        "as-of",
        recalling.as_of,
        "config as-of 2026-03-24T09:30:00+08:00",
        group=group,
    )


def _group(app: typer.Typer, name: str, panel: str, does: str) -> typer.Typer:
    group = typer.Typer(no_args_is_help=True)
    app.add_typer(group, name=name, rich_help_panel=panel, help=does)
    return group
