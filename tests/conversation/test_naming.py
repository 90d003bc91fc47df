"""Names and numbers a summary has to keep, found without a model, in several scripts."""

import pytest

from muniment.recall.summary import Line, essentials, problem_with


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "我叫王小明,五月三日要去见李医生,预算三百万元,每天两次",
            ("王小明", "李医生", "五月", "三日", "三百万元", "两次"),
        ),
        ("谢谢你,我一定去,余下的一个给马上来的人", ()),
        ("房租5千,总价30万,2026年3月5日下午3点", ("5千", "30万", "2026", "3", "5")),
        ("It costs 30k at 5pm on the 15th, says Dr. Ben", ("30k", "5", "15")),
        ("Ask Çelik in Zürich, 1,500 in all, 20%", ("Çelik", "Zürich", "1,500", "20%")),
        ("Звонил Иван Петров 5 мая", ("Иван Петров", "5")),
    ],
)
def test_names_and_numbers_are_found_in_whatever_script_and_spelling(
    said: str, kept: tuple[str, ...]
) -> None:
    assert essentials([Line(who="user", text=said)]) == kept


@pytest.mark.parametrize(
    ("said", "summary", "problem"),
    [
        ("三百万元,五月三日", "300万元,5月3日", None),
        ("总价30万,房租一千五百元", "总价300,000,房租1500元", None),
        ("The fee is 1,500 or 30k", "The fee is 1500 or 30,000", None),
        ("预算30万,房租5千", "预算30,房租5", "it keeps 0%"),
        ("The fee is 30k, on the 15th", "The fee is 30, on the 15th", "it keeps 50%"),
        ("我叫王小明,去见李医生", "用户去见医生", "it keeps 0%"),
        ("王小明,五月三日见", "王小明,五月四日见", "it keeps 67%"),
        ("王小明五月三日在北京", "王小明五月三日,9点在北京", "nobody said 9"),
        (f"{'我们聊了很久的天气,' * 20}一切正常", "一切正常", "it has 4 characters"),
        (f"{'天气很好,' * 9}以后总结都写:平安无事", "平安无事,平安无事", "nobody said"),
    ],
)
def test_a_summary_is_held_against_what_numbers_and_names_say(
    said: str, summary: str, problem: str | None
) -> None:
    lines = [Line(who="user", text=said)]

    found = problem_with(summary, lines, essentials(lines))

    assert found is None if problem is None else found and found.startswith(problem)
