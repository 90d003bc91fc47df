"""The OpenAPI document against the running service: what it allows is answered so."""

import json
import re
from typing import Any

import httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from muniment import MemoryStore, Principal
from muniment.api.operations import OPERATIONS
from muniment.domain.access import Role
from tests.access.matrix import REASON
from tests.served import key_of


EXAMPLES = 6
"""Requests for each operation: a look for what breaks, not a proof that nothing does."""

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
ELSEWHERE = frozenset({"reindex", "rotate_key", "verify", "rebuild", "catch_up"})
"""What reads the whole store each time, or loads a model; their bodies are tested apart."""

EVERYTHING = Principal(id="u-fuzz", roles=tuple(Role), memberships=("lead_of:eng",))


@pytest.fixture(scope="module")
def headers(store: MemoryStore) -> dict[str, str]:
    store.remember("likes tea 茶", user_id="u-fuzz")
    reason = httpx.QueryParams({"r": REASON})
    return {
        "Authorization": f"Bearer {key_of(store, EVERYTHING)}",
        "Muniment-Reason": str(reason).partition("=")[2],
    }


@pytest.mark.slow
def test_whatever_the_document_allows_is_answered_as_it_says(
    url: str, headers: dict[str, str]
) -> None:
    schema = schemathesis.openapi.from_url(f"{url}/v1/openapi.json")
    tried = set()

    for each in schema.get_all_operations():
        operation: Any = each.ok()  # type: ignore[union-attr]
        name = operation.definition.raw["operationId"]
        if name in ELSEWHERE:
            continue
        tried.add(name)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(case=st.one_of(operation.as_strategy()))
        def answered(case: schemathesis.Case[Any]) -> None:
            case.headers.update(headers)
            case.call_and_validate(base_url=url, checks=CHECKS, timeout=60)

        answered()

    assert len(tried) > 45


def test_the_document_names_every_operation_once_and_each_refusal(url: str) -> None:
    document = httpx.get(f"{url}/v1/openapi.json").json()

    operations = [each for path in document["paths"].values() for each in path.values()]
    ids = [each["operationId"] for each in operations]
    assert len(ids) == len(set(ids))
    assert document["security"] == [{"bearer": []}]
    for each in operations:
        assert {"401", "403", "404", "422", "503"} <= set(each["responses"])


def test_every_request_and_answer_has_an_example_that_is_as_its_schema_says(
    url: str,
) -> None:
    document = httpx.get(f"{url}/v1/openapi.json").json()
    shown = []

    for operation in OPERATIONS:
        path = document["paths"][f"/v1{operation.path}"]
        described = path[operation.method.lower()]
        contents = [described["responses"][str(operation.status)]["content"]]
        contents += (
            [described["requestBody"]["content"]] if "requestBody" in described else []
        )
        for content in contents:
            for media_type, each in content.items():
                if media_type == "application/zip":
                    assert "examples" not in each, "it is no text"
                    continue
                schema = {**each["schema"], "components": document["components"]}
                check = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
                for example in each["examples"].values():
                    check.validate(example["value"])
                    shown.append(example["value"])

    said = json.dumps(shown, ensure_ascii=False)
    assert all(words in said for words in ("用户主要写 Python", "lives in Hangzhou"))
    assert not re.search(r"mnm_\w+_(?!0{64})", said), "a key is shown nowhere"
