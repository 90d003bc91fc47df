"""Who looked, who asks and by which key, as a person reads it."""

from typing import TypeAlias, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from muniment.api.accesses import AccessEntry, AccessLog, EmergencyPage
from muniment.api.cli.answers import Keys
from muniment.api.cli.tables import columns, instant, more, words
from muniment.domain.access import Principal


Account: TypeAlias = AccessLog | EmergencyPage | Keys | Principal


def rendered(answer: Account) -> RenderableType:
    """Return *answer* for a terminal."""
    match answer:
        case AccessLog():
            return _log(answer)
        case EmergencyPage():
            return _emergencies(answer)
        case Keys():
            return _keys(answer)
        case Principal():
            return words(_principal(answer))
        case _:
            assert_never(answer)


def _log(found: AccessLog) -> RenderableType:
    table = columns("when", "who", "did", "to", "why")
    for each in found:
        who = f"{each.actor or '(unreadable)'}\n{each.standing}"
        whose = "(erased, or nobody)" if each.scope is None else str(each.scope)
        table.add_row(
            instant(each.recorded_at), words(who), _did(each), words(whose), _why(each)
        )
    if not len(found):
        return Text("nobody looked", "dim")
    return Group(table, *more(found.next_cursor))


def _did(entry: AccessEntry) -> Text:
    broken = "\nemergency" if entry.glass_broken else ""
    return Text(f"{entry.verb}\n{entry.count:,} facts{broken}", "red" if broken else "")


def _why(entry: AccessEntry) -> Text:
    matter = "" if entry.matter is None else f"\n{entry.matter}"
    return words(None if entry.reason is None else f"{entry.reason}{matter}")


def _emergencies(found: EmergencyPage) -> RenderableType:
    table = columns("emergency", "when", "who", "whose")
    for each in found:
        table.add_row(
            each.glass_id,
            instant(each.recorded_at),
            words(each.actor),
            words("(erased, or nobody)" if each.scope is None else str(each.scope)),
        )
    if not len(found):
        return Text("nothing waits for a review", "dim")
    return Group(table, *more(found.next_cursor))


def _keys(found: Keys) -> RenderableType:
    table = columns("key", "stands for", "issued", "ends")
    for each in found.keys:
        verbs = "" if each.verbs is None else f"\n{', '.join(each.verbs)}"
        ends = "" if each.ends_at is None else instant(each.ends_at)
        table.add_row(
            each.key_id,
            words(_principal(each.principal) + verbs),
            instant(each.issued_at),
            Text(ends, "red" if each.revoked else ""),
        )
    return table if found.keys else Text("no key was issued", "dim")


def _principal(principal: Principal) -> str:
    held = [*principal.roles, *principal.memberships]
    works = [] if principal.user_id is None else [f"for {principal.user_id}"]
    return " · ".join([principal.id, principal.kind.value, *works, *held])
