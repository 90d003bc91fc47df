"""The application: every command under the name it is typed by."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Final

import typer

from muniment.api.cli import (
    archiving,
    auditing,
    dealing,
    demonstrating,
    erasing,
    giving,
    incidents,
    investigating,
    keeping,
    looking,
    options,
    proving,
    remembering,
    retention,
    searching,
    serving,
)


app: Final = typer.Typer(
    name="muniment",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - Typer calls it so
    if asked:
        typer.echo(f"muniment {version('muniment')}")
        raise typer.Exit


@app.callback()
def _muniment(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """
    Memory for AI agents that can say what it knew, when, from whom, and take it back.

    The store is --store, or MUNIMENT_STORE, or ./memory. Only init and demo make one.
    At a terminal answers are tables; in a pipe, or with --json, they are JSON.
    Exit codes: 0 fine, 1 our bug or a damaged store, 2 bad input, 3 not found,
    4 conflict or not now, 5 forbidden.
    """


def _add(
    panel: str,
    name: str,
    function: Callable[..., None],
    *examples: str,
    group: typer.Typer = app,
) -> None:
    lines = [f"$ muniment {each}" for each in examples]
    group.command(
        name,
        rich_help_panel=panel,
        # Paragraphs of their own: Typer joins the lines of one.
        epilog="\n\n".join(["Example:" if len(lines) == 1 else "Examples:", *lines]),
    )(options.grouped(function))


_REMEMBER: Final = "Remember"
_add(
    _REMEMBER,
    "remember",
    remembering.remember,
    'remember "用户写 Python" --user u-123 --category profession',
    'remember "Lives in Hangzhou" --user u-123 --valid-from 2021-06-01T00:00:00+08:00',
)
_add(
    _REMEMBER,
    "update",
    remembering.update,
    'update 01m8nqhdc08zyb7218v6btq1av "用户转到 Rust"',
)
_add(
    _REMEMBER,
    "correct",
    remembering.correct,
    'correct 01m8nqhdc08zyb7218v6btq1av "用户是 Rust 工程师" --reason misheard',
)
_add(
    _REMEMBER,
    "end",
    remembering.end,
    "end 01m8nqhdc08zyb7218v6btq1av --valid-to 2026-03-01T00:00:00+08:00",
)
_add(
    _REMEMBER,
    "forget",
    remembering.forget,
    'forget 01m8nqhdc08zyb7218v6btq1av --reason "the user asked"',
    "forget 01m8nqhdc08zyb7218v6btq1av --redact --actor officer-1",
)
_add(
    _REMEMBER,
    "restore",
    remembering.restore,
    "restore 01m8nqhdc08zyb7218v6btq1av",
)
_add(
    _REMEMBER,
    "merge",
    remembering.merge,
    "merge 01m8nqhdc08zyb7218v6btq1av --into 01m8ntpcrsay1gp1sr3nn72j1z",
)
_add(
    _REMEMBER,
    "load",
    keeping.load,
    "load facts.jsonl",
    "load facts.jsonl --keep-going --actor importer-1",
)

_ASK: Final = "Ask, on both clocks"
_add(
    _ASK,
    "as-of",
    looking.as_of,
    "as-of 2026-03-25T10:30:00+08:00 --user u-123",
    "as-of --user u-123 --valid-at 2026-03-01T00:00:00+08:00",
)
_add(_ASK, "list", looking.list_, "list --user u-123 --category profession")
_add(_ASK, "get", looking.get, "get 01m8nqhdc08zyb7218v6btq1av")
_add(_ASK, "history", looking.history, "history 01m8nqhdc08zyb7218v6btq1av")
_add(
    _ASK,
    "diff",
    looking.diff,
    "diff 2026-03-01T00:00:00+08:00 2026-04-01T00:00:00+08:00 --user u-123",
)
_add(
    _ASK,
    "modified",
    looking.modified,
    "modified 2026-03-24T00:00:00+08:00 2026-03-25T00:00:00+08:00 --user u-123",
)
_add(_ASK, "blame", looking.blame, "blame --user u-123")
_add(
    _ASK,
    "reproduce",
    investigating.reproduce,
    "reproduce --user u-123 --at 2026-03-24T09:30:00+08:00 --out badcase/",
    "reproduce --user u-123 --at 2026-03-24T09:30:00+08:00 --agent bot:answer",
)
_add(
    _ASK,
    "why",
    investigating.why,
    'why --user u-123 --expect "writes Rust" --at 2026-03-24T09:30:00+08:00',
    'why --user u-123 --expect "用户写 Rust" --query "写什么语言?"',
)

_add(
    _ASK,
    "search",
    searching.search,
    'search "哪种编程语言" --user u-123',
    'search "deadline" --user u-123 --scope team:eng --as-of 2026-03-25T10:30:00+08:00',
)

dealing.add_all(app, _add)

_TAKE_BACK: Final = "Take back"
_add(
    _TAKE_BACK,
    "rollback",
    incidents.rollback,
    "rollback 01m8nqhdc08zyb7218v6btq1av --to-version 1",
    "rollback --user u-123 --to 2026-03-24T00:00:00+08:00",
    "rollback --user u-123 --where-session chat-7 --where-source web:page --dry-run",
)
_add(_TAKE_BACK, "undo", incidents.undo, 'undo 71 --reason "it was right after all"')
_add(_TAKE_BACK, "freeze", incidents.freeze, "freeze --user u-123 --actor officer-1")
_add(_TAKE_BACK, "thaw", incidents.thaw, "thaw --user u-123 --actor officer-1")

_FORGET: Final = "Forget for good, or by rule"
_add(
    _FORGET,
    "erase",
    erasing.erase,
    "erase --user u-123 --plan",
    'erase --user u-123 --reason "request 2026-17" --actor officer-1',
)
_add(
    _FORGET,
    "redact",
    erasing.redact,
    'redact 01m8nqhdc08zyb7218v6btq1av.7 --reason "a card number" --actor officer-1',
    "redact 01m8nqhdc08zyb7218v6btq1av --keep-facts",
)
_add(_FORGET, "certificate", erasing.certificate, "certificate 9f6f1b490076a426045d")
_add(
    _FORGET,
    "hold",
    erasing.hold,
    'hold --user u-123 --matter "case 4711" --issued-by counsel-1',
)
_add(
    _FORGET,
    "release",
    erasing.release,
    "release hold-c54100ecdc83772e --user u-123 --actor counsel-1",
)
_add(_FORGET, "holds", erasing.holds, "holds --user u-123")
_add(
    _FORGET,
    "retain",
    retention.retain,
    "retain --category chat --older-than 90d --plan",
    "retain --rules retention.toml --yes --every 1h",
)
_add(
    _FORGET,
    "retention-report",
    retention.retention_report,
    "retention-report --rules retention.toml --start 2026-01-01T00:00:00Z",
)

_PROVE: Final = "Prove"
_add(
    _PROVE,
    "verify",
    proving.verify,
    "verify",
    "verify --published /mnt/elsewhere/tree-heads.txt",
)
_add(_PROVE, "prove", proving.prove, "prove 71 > proof.txt", "prove 71 --envelope")
_add(
    _PROVE,
    "prove-consistency",
    proving.prove_consistency,
    "prove-consistency 64",
)
_add(
    _PROVE,
    "tree-head",
    proving.tree_head,
    "tree-head",
    "tree-head --publish-to /mnt/elsewhere/tree-heads.txt",
)
_add(_PROVE, "public-key", proving.public_key, "public-key")

_add(
    _PROVE,
    "evidence",
    giving.evidence,
    "evidence --user u-123 --from 2026-03-01T00:00:00+08:00 --to 2026-04-01T00:00:00+08:00 "
    '--matter "case 4711" --reason "ordered by the court" --out evidence.zip',
)

_MOVE: Final = "Archive, and move elsewhere"
_archive: Final = typer.Typer(
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_archive.callback(
    epilog="Examples:\n\n$ muniment archive --older-than 365d --plan\n\n"
    "$ muniment archive --older-than 365d --prune"
)(options.grouped(archiving.archive))
_archive.command(
    "query",
    epilog="Example:\n\n$ muniment archive query "
    '"select topic, count(*) from events group by 1"',
)(options.grouped(archiving.query))
app.add_typer(_archive, name="archive", rich_help_panel=_MOVE)
_add(
    _MOVE,
    "export",
    giving.export,
    "export --user u-123 > u-123.json",
    "export --user u-123 --out u-123.json --html u-123.html",
)
_add(_MOVE, "import", giving.import_, "import u-123.json")

_LOOK: Final = "Look as somebody, and see who looked"
_audit: Final = typer.Typer(no_args_is_help=True)
app.add_typer(
    _audit,
    name="audit",
    rich_help_panel=_LOOK,
    help="Look at another's memory, with a reason that is recorded; show who looked.",
)
_add(
    _LOOK,
    "as-of",
    auditing.as_of,
    "audit as-of 2026-03-25T10:30:00+08:00 --user u-123 --as officer-1 "
    '--reason "complaint 2026-17"',
    group=_audit,
)
_add(
    _LOOK,
    "history",
    auditing.history,
    'audit history 01m8nqhdc08zyb7218v6btq1av --as officer-1 --reason "complaint 2026-17"',
    group=_audit,
)
_add(
    _LOOK,
    "diff",
    auditing.diff,
    "audit diff 2026-03-01T00:00:00+08:00 2026-04-01T00:00:00+08:00 --user u-123 "
    '--as officer-1 --reason "complaint 2026-17"',
    group=_audit,
)
_add(
    _LOOK,
    "log",
    auditing.log,
    'audit log --as auditor-1 --role auditor --reason "quarterly review"',
    group=_audit,
)
_add(
    _LOOK,
    "emergencies",
    auditing.emergencies,
    'audit emergencies --as officer-1 --reason "daily review"',
    group=_audit,
)
_add(
    _LOOK,
    "review",
    auditing.review,
    'audit review 6c9d6a5bd7f1c0b2a3e4f5061728394a --as officer-1 --reason "it was needed"',
    group=_audit,
)
_add(_LOOK, "whoami", auditing.whoami, "whoami --as officer-1 --role auditor")

_SERVE: Final = "Serve others"
_keys: Final = typer.Typer(no_args_is_help=True)
app.add_typer(
    _keys, name="keys", rich_help_panel=_SERVE, help="Make, list and end API keys."
)
_add(
    _SERVE,
    "issue",
    auditing.issue,
    "keys issue u-123",
    "keys issue agent-1 --kind agent --user u-123 --verb search --verb remember",
    "keys issue officer-1 --role compliance_officer",
    group=_keys,
)
_add(_SERVE, "list", auditing.list_, "keys list", group=_keys)
_add(
    _SERVE,
    "roll",
    auditing.roll,
    "keys roll 01m8nqhdc08zyb7218v6btq1av --old-ends-at 2026-12-01T00:00:00Z",
    group=_keys,
)
_add(
    _SERVE, "revoke", auditing.revoke, "keys revoke 01m8nqhdc08zyb7218v6btq1av", group=_keys
)
_add(_SERVE, "serve", serving.serve, "serve", "serve --host 127.0.0.1 --port 8321")

_STORE: Final = "The store"
_add(_STORE, "init", keeping.init, "init", "init --store /srv/memory --ledger acme")
_add(_STORE, "rebuild", keeping.rebuild, "rebuild", "rebuild --from-archive")
_add(_STORE, "catch-up", searching.catch_up, "catch-up")
_add(
    _STORE,
    "reindex",
    searching.reindex,
    "reindex --embedder local",
)
_add(_STORE, "reconcile", searching.reconcile, "reconcile", "reconcile --mend")
_add(_STORE, "rotate-key", keeping.rotate_key, "rotate-key")
_add(_STORE, "demo", demonstrating.demo, "demo --store demo-store")
