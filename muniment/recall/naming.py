"""
Names and numbers in what was said, as far as one can tell without a model.

Numbers are compared by what they say: 1,500 is 1500, 30万 is 300,000 and 三十万, 30k is
no 30. Chinese names are told by a surname, with a title after it or a word before it
that a person follows; what is told otherwise has to be named as an entity.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Final


def names_in(text: str) -> Iterator[str]:
    """Yield the names in *text*, in whatever script, as they are spelled."""
    for found in CAPITALS.finditer(text):
        if found.group().lower() not in NO_NAMES:
            yield found.group()
    for found in _PERSONS.finditer(text):
        name = found.group()
        if name not in _NO_PERSONS:
            yield name


def numbers_in(text: str) -> dict[str, str]:
    """Return the numbers in *text* by what they say, each as it is first spelled."""
    found: dict[str, str] = {}
    for each in _NUMBERS.finditer(text):
        found.setdefault(_value(each), each.group())
    return found


def kept_in(text: str, names: Collection[str]) -> set[str]:
    """Return those of *names*, numbers among them, that are in *text*."""
    numbers, folded = numbers_in(text), text.casefold()
    return {each for each in names if _is_in(each, folded, numbers)}


def _is_in(name: str, folded: str, numbers: Collection[str]) -> bool:
    if number := _NUMBERS.fullmatch(name):
        return _value(number) in numbers
    wanted = name.casefold()
    if wanted.isascii():
        return (
            re.search(rf"(?<![0-9a-z]){re.escape(wanted)}(?![0-9a-z])", folded) is not None
        )
    return wanted in folded


def _value(number: re.Match[str]) -> str:
    """Return what a number says: plain digits for one amount, as it is spelled else."""
    if number["words"] is not None:
        return str(_amount(number["words"]))
    spelled = unicodedata.normalize("NFKC", number["digits"])
    plain = spelled.replace(",", "") if _THOUSANDS.fullmatch(spelled) else spelled
    sign = number["unit"] or ""
    unit = _UNITS.get(sign)
    if unit is None or not _DECIMAL.fullmatch(plain):
        return f"{plain}{sign}"
    return f"{(Decimal(plain) * unit).normalize():f}"


def _amount(words: str) -> int:
    """Return the number that Chinese numerals write, place by place or digit by digit."""
    if not any(each in _UNITS for each in words):
        return int("".join(str(_DIGITS[each]) for each in words))
    total = section = digit = 0
    for each in words:
        unit = _UNITS.get(each, 0)
        if each in _DIGITS:
            digit = _DIGITS[each]
        elif unit >= _UNITS["万"]:
            total, section, digit = (total + section + digit) * unit, 0, 0
        else:
            section, digit = section + (digit or 1) * unit, 0
    return total + section + digit


_DIGITS: Final = {
    "\u3007": 0,
    **{each: value for value, each in enumerate("零一二三四五六七八九")},
    "两": 2,
}
_UNITS: Final = {
    "十": 10,
    "百": 100,
    "千": 1_000,
    "万": 10_000,
    "亿": 100_000_000,
    "k": 1_000,
    "K": 1_000,
}
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL: Final = re.compile(r"\d+(?:\.\d+)?")
_COUNTED: Final = (
    "年|月|日|号|点|时|元|块|岁|次|个|天|周|人|名|位|台|件|米|斤|倍|楼|层"
    "|小时|分钟|公里|公斤|千米"
)
_NUMBERS: Final = re.compile(
    r"(?P<digits>\d+(?:[.,:/-]\d+)*)(?P<unit>%|[kK](?![A-Za-z])|[百千万亿])?"
    # One numeral alone is a number where something is counted: 一定 is none.
    r"|(?P<words>[一二三四五六七八九十百千万亿零\u3007两]{2,}|[二三四五六七八九十两]"
    rf"|一(?=[月日号岁]))(?:{_COUNTED})"
)

_LARGE: Final = "[A-Z\u00c0-\u00de\u0100-\u017f\u0391-\u03a9\u0410-\u042f]"
CAPITALS: Final = re.compile(
    rf"(?<![.!?…\"'“] )(?<!^)(?<!\n)\b{_LARGE}[\w'\u2019-]*(?:\s+{_LARGE}[\w'\u2019-]*)*"
)
"""Words with a large first letter, but for the first of a sentence."""

NO_NAMES: Final = frozenset(
    ("i", "i'm", "i'll", "i've", "i'd", "ok", "okay", "wow", "yeah", "yes", "no", "thanks")
).union(("dr", "mr", "mrs", "ms", "prof", "st"))

_SURNAMES: Final = (
    "王李张刘陈杨赵黄吴徐孙胡朱郭林罗梁宋郑谢韩唐冯董萧曹袁邓傅沈曾彭吕苏卢蒋蔡"
    "贾丁魏薛叶阎余潘杜戴汪姜范姚谭廖邹熊陆郝孔崔邱秦顾侯邵孟尹黎乔贺赖龚"
)
_ALSO_WORDS: Final = "周高何马程许夏钟田任方石金白康毛江史龙万段雷钱汤易常武文"
"""Surnames that begin so many other words that only a title tells them."""

_TITLES: Final = (
    "先生|女士|小姐|老师|医生|大夫|护士|经理|总监|主任|教授|律师|师傅"
    "|阿姨|叔叔|博士|老板|主管|同学|校长"
)
_PERSONS: Final = re.compile(
    rf"[{_SURNAMES}{_ALSO_WORDS}][\u4e00-\u9fff]{{0,2}}?(?:{_TITLES})"
    r"|(?:(?<=[叫找跟和给问约见请让同是,。!?:;、\s])|(?<=联系)|(?<=^))"
    rf"(?!谢谢)[{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?"
    r"(?=[,。!?:;、\s]|$|说|是|在|和|跟|的|去|来|要|有|会|也|都|吗|吧|呢|住|负责|让|给)"
    rf"|(?<![\u4e00-\u9fff])[小老][{_SURNAMES}](?![\u4e00-\u9fff])"
)
_NO_PERSONS: Final = frozenset(
    ("余下", "许多", "叶子", "范围", "曾经", "黄色", "黄金", "罗列")
)
