"""Few read at once, in the order they came, and nobody who takes long keeps others out."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from muniment.api.http.admission import Admission


NEVER_S = 3600.0


def test_few_are_in_at_once_and_the_others_come_in_the_order_they_came() -> None:
    inside: list[int] = []
    came: list[int] = []
    most = 0

    async def read(readers: Admission, number: int) -> None:
        nonlocal most
        async with readers.admitted():
            came.append(number)
            inside.append(number)
            most = max(most, len(inside))
            # Let all others go on as far as they can.
            for _ in range(20):
                await asyncio.sleep(0)
            inside.remove(number)

    async def all_read() -> None:
        readers = Admission(at_once=3, patience_s=NEVER_S)
        await asyncio.gather(*(read(readers, number) for number in range(16)))

    asyncio.run(all_read())

    assert most == 3
    assert came == list(range(16))


def test_who_takes_long_counts_no_more_and_does_not_leave_twice() -> None:
    async def enter_all() -> bool:
        readers = Admission(at_once=1, patience_s=0)
        async with AsyncExitStack() as slow:
            # None of these has left: each next one comes in as patience ends.
            for _ in range(5):
                await slow.enter_async_context(readers.admitted())
        return await has_room_for_two(readers)

    assert not asyncio.run(enter_all())


def test_a_request_that_fails_or_is_given_up_leaves() -> None:
    async def fail() -> bool:
        readers = Admission(at_once=1, patience_s=NEVER_S)
        with pytest.raises(ZeroDivisionError):
            async with readers.admitted():
                raise ZeroDivisionError
        async with readers.admitted():
            waiting = asyncio.ensure_future(readers.admitted().__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
        return await has_room_for_two(readers)

    assert not asyncio.run(fail())


async def has_room_for_two(readers: Admission) -> bool:
    """Whether two are in at once, of whom neither leaves; one always is."""
    readers._patience_s = NEVER_S
    async with readers.admitted():
        second = asyncio.ensure_future(readers.admitted().__aenter__())
        for _ in range(20):
            await asyncio.sleep(0)
        if second.done():
            return True
        second.cancel()
        return False
