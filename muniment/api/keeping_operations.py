"""The verbs of keeping a store, as the service offers them; part of one table."""

from typing import Any, Final, Literal

from muniment.api.answers import Receipt
from muniment.api.custody import Verification
from muniment.api.importing import Imported
from muniment.api.operation import OF, ask, keep, read, write
from muniment.api.request_fields import LONG_AGO, PointBody, RuleBody, Text, Time
from muniment.api.retaining import Retirement
from muniment.api.retention_report import RetentionReport
from muniment.archive.told import Archived, ArchivePlan, Rows
from muniment.ledger.attesting import InclusionProof
from muniment.projections.progress import Progress
from muniment.projections.reconcile import Difference


GIVEN_AGAIN: Final = "It is given out again, which is recorded again; nothing else changes."

KEEPING: Final = (
    ask(
        "plan_retention",
        "/retention/plan",
        tuple[Retirement, ...],
        needed={"rules": list[RuleBody]},
        taken=OF,
    ),
    write(
        "retain",
        "/retention",
        tuple[Receipt, ...],
        needed={"rules": list[RuleBody]},
        taken=OF,
    ),
    ask(
        "report_retention",
        "/retention/report",
        RetentionReport,
        taken={**OF, "rules": list[RuleBody], "start": Time, "end": Time},
    ),
    read("public_key", "/proofs/public-key", bytes),
    read("origin", "/proofs/origin", str),
    read("tree_head", "/proofs/tree-head", str),
    read("prove", "/proofs/inclusion/{position}", InclusionProof, numbers=("position",)),
    read("prove_consistency", "/proofs/consistency/{size}", str, numbers=("size",)),
    ask("verify", "/verification", Verification, taken={"published": list[Text]}),
    read("index_progress", "/index", Progress),
    keep(
        "catch_up",
        "/index/catch-up",
        Progress,
        repeated="What is indexed is not indexed again.",
    ),
    keep(
        "reconcile",
        "/index/reconcile",
        tuple[Difference, ...],
        taken={"mend": bool},
        repeated="What was mended no longer differs.",
    ),
    keep(
        "reindex",
        "/index/reindex",
        Progress,
        taken={"embedder": Literal["local", "openai", "hashing", "none"]},
        repeated="The same vectors are made again, in place of those.",
    ),
    keep(
        "rebuild",
        "/maintenance/rebuild",
        int,
        repeated="The same rows are made again.",
    ),
    keep(
        "rotate_key",
        "/maintenance/rotate-key",
        int,
        repeated="Another new key replaces the new one; nothing else changes.",
    ),
    ask("plan_archive", "/archive/plan", ArchivePlan, taken=LONG_AGO),
    keep(
        "archive",
        "/archive",
        Archived,
        taken=LONG_AGO,
        repeated="What is archived is not archived again.",
    ),
    keep("prune", "/archive/prune", int, repeated="What is gone stays gone."),
    ask("query_archive", "/archive/query", Rows, needed={"sql": Text}),
    write(
        "export",
        "/exports",
        bytes,
        needed=OF,
        taken={
            "matter": Text,
            "third_parties": list[Text],
            "hide_others": bool,
            "sources": list[Text],
        },
        repeated=GIVEN_AGAIN,
        status=201,
        download="application/json",
    ),
    write(
        "export_evidence",
        "/evidence",
        bytes,
        needed={**OF, "matter": Text, "reason": Text},
        taken={
            "start": Time,
            "end": Time,
            "points": list[Time | PointBody],
            "third_parties": list[Text],
        },
        repeated=GIVEN_AGAIN,
        status=201,
        download="application/zip",
    ),
    keep(
        "import_export",
        "/imports",
        Imported,
        needed={"document": dict[str, Any]},
        repeated="What was imported is known by its export, and left as it is.",
    ),
)
"""What those who run a store do with all of it."""
