"""
Train the dictionary that payloads are compressed with before they are sealed.

    .venv/bin/python -m benchmarks.dictionary muniment/ledger/dictionaries/1.zdict

A dictionary holds fragments of what it was trained on, in the clear, for ever. So it is
trained on sentences made up here from lists of common words, on the names of fields, and
on nothing that anybody ever said. It is part of the program, the same for every store:
once released, one is never changed, only followed by another.
"""

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import zstandard


DICTIONARY_BYTES = 16 * 1024
SAMPLES = 12_000

_WHO = "The user;User;They;She;He;The customer;The team;Their manager;A colleague".split(
    ";"
)
_DOES = (
    "prefers;likes;dislikes;works with;is learning;uses;wants;needs;is allergic to;"
    "is interested in;asked about;mentioned;decided to use;moved to;lives in;works at;"
    "stopped using;switched to;plans to visit;is responsible for;recommended;bought;"
    "is working on;has been practising;would like to try;does not want;is married to;"
    "was born in;studies;speaks;owns;enjoys;is worried about;signed up for;cancelled"
).split(";")
_WHAT = (
    "Python;Rust;TypeScript;PostgreSQL;short answers;detailed explanations;dark mode;"
    "vegetarian food;coffee without sugar;green tea;morning meetings;remote work;"
    "the weekly report;the quarterly review;the migration project;machine learning;"
    "a new apartment;a software company;the marketing department;the kitchen;"
    "running in the morning;reading science fiction;classical music;photography;"
    "a trip to the mountains next summer;peanuts;seafood;penicillin;two children;"
    "a dog and a cat;the deadline on Friday;the budget for next year;her sister;"
    "his parents;an electric car;a bicycle;online courses;the garden;painting;a recipe;"
    "the phone;a doctor;the train;the hotel;a birthday present;the conference;a contract"
).split(";")
_WHEN = (
    ";; since last year; every day; on weekends; for the new project; at work; at home;"
    " before the end of the month; because of the weather; with friends; in the evening;"
    " and said that it was great; in order to save time; and wants to continue; this week;"
    " after the meeting; in Shanghai; in Berlin; in California; until further notice"
).split(";")
_WHO_ZH = ["用户", "客户", "他", "她", "用户的同事", "团队", "用户的家人", "对方"]
_DOES_ZH = (
    "喜欢;不喜欢;正在学习;使用;住在;工作于;搬到了;计划去;想要;需要;提到;决定采用;负责;"
    "擅长;对…过敏;关注;购买了;取消了;参加了;转到;目前在做;建议;希望;已经完成;不再使用"
).split(";")
_WHAT_ZH = (
    "编程语言;简短的回答;详细的解释;素食;不加糖的咖啡;绿茶;早上开会;远程办公;数据库迁移项目;"
    "机器学习;上海;北京;杭州;深圳;一家软件公司;市场部;跑步;看书;摄影;旅行;花生;海鲜;"
    "两个孩子;一只猫;周五的截止日期;明年的预算;电动汽车;在线课程;工程师;产品经理;设计方案;"
    "每周的报告;下个月的会议;用户体验;数据分析;项目进度;健身;音乐;电影;做饭;朋友聚会"
).split(";")
_WHEN_ZH = ["", "", "，因为工作需要", "，从去年开始", "，每天", "，周末", "，今年", "。"]
_SOURCES = (
    "user_explicit user_explicit agent_inferred tool_result import web:page conversation"
).split()
_TRIGGERS = (
    "user_explicit conversation tool_result import retention rollback correction schedule"
).split()
_REASONS = (
    "the user said so;the user asked;stated in conversation;corrected by the user;"
    "extracted from the conversation;request of the user;imported from the old system;"
    "用户要求;用户更正;对话中提到"
).split(";")
_VALUES: Sequence[object] = ("en", "zh", True, 0.5, 3, None)
_KEYS = "lang tags kind note origin channel page url model score language topic".split()


def content(rng: random.Random) -> dict[str, Any]:
    """Return the sealed part of a made-up statement."""
    text = " ".join(_sentence(rng) for _ in range(rng.choice((1, 1, 1, 2, 3))))
    made: dict[str, Any] = {"source": rng.choice(_SOURCES), "text": text}
    if rng.random() < 0.4:
        made["source_turns"] = [f"turn-{rng.randrange(999)}" for _ in range(2)]
    if rng.random() < 0.3:
        made["entities"] = [rng.choice(_WHAT + _WHAT_ZH)]
    if rng.random() < 0.4:
        made["metadata"] = {rng.choice(_KEYS): rng.choice(_VALUES)}
    if rng.random() < 0.1:
        made["claimed_at"] = rng.randrange(1_700_000_000, 1_800_000_000) * 1_000_000
    return made


def origin(rng: random.Random) -> dict[str, Any]:
    """Return who did something made up, and why."""
    made: dict[str, Any] = {
        "actor": rng.choice(["agent", "agent-1", "assistant", "user", "importer", "admin"]),
        "trigger": rng.choice(_TRIGGERS),
    }
    if rng.random() < 0.6:
        made["reason"] = rng.choice(_REASONS)
    if rng.random() < 0.6:
        made["session_id"] = f"session-{rng.randrange(10_000)}"
    if rng.random() < 0.3:
        made["source_turns"] = [f"turn-{rng.randrange(999)}"]
    if rng.random() < 0.3:
        made["idempotency_key"] = f"request-{rng.randrange(10**6)}"
    return made


def _sentence(rng: random.Random) -> str:
    if rng.random() < 0.4:
        parts = (_WHO_ZH, _DOES_ZH, _WHAT_ZH, _WHEN_ZH)
        return "".join(rng.choice(each) for each in parts)
    return f"{rng.choice(_WHO)} {rng.choice(_DOES)} {rng.choice(_WHAT)}{rng.choice(_WHEN)}."


def trained() -> bytes:
    """Return the dictionary; the same whenever it is trained with one release of zstd."""
    rng = random.Random(1)  # noqa: S311 - made-up sentences
    kinds: list[Callable[[random.Random], dict[str, Any]]] = [content, content, origin]
    encoder = msgspec.json.Encoder(order="sorted")
    samples: list[Any] = [encoder.encode(kinds[at % 3](rng)) for at in range(SAMPLES)]
    made = zstandard.train_dictionary(DICTIONARY_BYTES, samples, dict_id=1, level=9)
    return made.as_bytes()


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(trained())
