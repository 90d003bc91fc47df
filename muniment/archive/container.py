"""
The container of evidence: a zip file of which every byte is determined by its contents.

Any tool opens it. Nothing is compressed and nothing else is said in it, so whoever puts
the same files together again gets the same bytes, and no byte can be altered unseen.
What four bytes cannot count is counted in eight, as zip64 has it.

Source:
    PKWARE, APPNOTE.TXT, 4.3 and 4.5.3.
"""

import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence


class AlteredError(ValueError):
    """
    Evidence is not what it was when it was made.

    Attributes:
        file: The name of the file, or of what is around the files.
        problem: What is wrong with it.
    """

    def __init__(self, file: str, problem: str) -> None:
        self.file, self.problem = file, problem
        super().__init__(f"{file}: {problem}")


CONTAINER = "the zip file itself"

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LONG_END = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_VERSION, _LONG_VERSION, _FIRST_DAY = 20, 45, 0x21
_MARK = 2**32 - 1
"""Stands where a number has more than four bytes, and is found elsewhere."""
_LEAST_LONG = _MARK
"""From here on numbers are written in eight bytes."""
_EXTRA_AT, _LONG_END_AT = 4, 12
"""Where what they hold begins: behind their kind, and how long they are."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""No way to another folder, and nothing that could pass for a line of its own."""
_PACKED_AGAIN = (
    "it was altered, or unpacked and packed again: use the zip as it was given out"
)


def contained(files: Mapping[str, bytes]) -> bytes:
    """Return *files* as one zip file, in their order."""
    parts, index, at = list[bytes](), list[bytes](), 0
    for name, content in files.items():
        title = name.encode("ascii")
        local, central = _headers(title, len(content), zlib.crc32(content), at)
        parts += local, content
        index.append(central)
        at += len(local) + len(content)
    end = _end(len(index), sum(map(len, index)), at)
    return b"".join([*parts, *index, end])


def contents(raw: bytes) -> dict[str, bytes]:
    """
    Return the files in a zip file that `contained` made.

    Raises:
        AlteredError: If `contained` did not make it; names the file that differs.
    """
    files: dict[str, bytes] = {}
    folded: set[str] = set()
    for name, content, crc in _indexed(raw):
        # Where large and small letters are the same, the one would be written over.
        if name.casefold() in folded:
            raise AlteredError(name, "it is there twice")
        if zlib.crc32(content) != crc:
            raise AlteredError(name, "it was altered")
        folded.add(name.casefold())
        files[name] = content
    return files


def _indexed(raw: bytes) -> Iterator[tuple[str, bytes, int]]:
    """
    Yield name, content and CRC of each file, where both headers of it agree.

    So it is a file of that name which is altered where its content does not fit: a header
    that is altered itself names no file. No file overlaps another, and nothing is before,
    between or after them that is not determined by them.
    """
    end = 0
    try:
        *_, count, _, start_of_index, _ = _END.unpack(raw[-_END.size :])
        if start_of_index == _MARK:
            long_end = len(raw) - _END.size - _LOCATOR.size - _LONG_END.size
            *_, start_of_index = _LONG_END.unpack_from(raw, long_end)
        at = start_of_index
        for _ in range(count):
            *_, crc, size, _, length, _, _, _, _, _, _ = _CENTRAL.unpack_from(raw, at)
            title_end = at + _CENTRAL.size + length
            title = raw[at + _CENTRAL.size : title_end]
            if size == _MARK:
                (size,) = struct.unpack_from("<Q", raw, title_end + _EXTRA_AT)
            local, central = _headers(title, size, crc, end)
            start, name = end + len(local), title.decode("ascii")
            is_same = raw[end:start] == local and raw[at : at + len(central)] == central
            if not (is_same and _NAME.fullmatch(name)):
                raise AlteredError(CONTAINER, _PACKED_AGAIN)
            at, end = at + len(central), start + size
            yield name, raw[start:end], crc
        is_whole = end == start_of_index and raw[at:] == _end(count, at - end, end)
    except (struct.error, UnicodeDecodeError) as error:
        raise AlteredError(CONTAINER, _PACKED_AGAIN) from error
    if not is_whole:
        raise AlteredError(CONTAINER, _PACKED_AGAIN)


def _headers(title: bytes, size: int, crc: int, at: int) -> tuple[bytes, bytes]:
    """Return what stands before a file, and what the index says of it."""
    sizes = [size, size] if size >= _LEAST_LONG else []
    places = [at] if at >= _LEAST_LONG else []
    said = 0, 0, 0, _FIRST_DAY, crc, _short(size), _short(size), len(title)
    before, beside = _extra(sizes), _extra([*sizes, *places])
    local = _LOCAL.pack(b"PK\x03\x04", _version(before), *said, len(before))
    central = _CENTRAL.pack(
        *(b"PK\x01\x02", _VERSION, _version(beside), *said, len(beside)),
        *(0, 0, 0, 0, _short(at)),
    )
    return local + title + before, central + title + beside


def _end(count: int, size: int, at: int) -> bytes:
    """Return what stands behind an index of *size* bytes, which begins at *at*."""
    long = b""
    if at >= _LEAST_LONG:
        told = _LONG_END.size - _LONG_END_AT, _LONG_VERSION, _LONG_VERSION, 0, 0
        long = _LONG_END.pack(b"PK\x06\x06", *told, count, count, size, at)
        long += _LOCATOR.pack(b"PK\x06\x07", 0, at + size, 1)
    return long + _END.pack(b"PK\x05\x06", 0, 0, count, count, size, _short(at), 0)


def _short(number: int) -> int:
    return number if number < _LEAST_LONG else _MARK


def _extra(numbers: Sequence[int]) -> bytes:
    """Return what holds those *numbers* that are too long for their places, if any."""
    count = len(numbers)
    return struct.pack(f"<2H{count}Q", 1, 8 * count, *numbers) if numbers else b""


def _version(extra: bytes) -> int:
    """Return the version of the format that has what is told."""
    return _LONG_VERSION if extra else _VERSION
