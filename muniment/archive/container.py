"""
The container of evidence: a zip file of which every byte is determined by its contents.

Any tool opens it. Nothing is compressed and nothing else is said in it, so whoever puts
the same files together again gets the same bytes, and no byte can be altered unseen.

Source:
    PKWARE, APPNOTE.TXT, 4.3.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping


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
_VERSION, _FIRST_DAY = 20, 0x21
_BYTES_MAX = 2**32 - 1
_PACKED_AGAIN = (
    "it was altered, or unpacked and packed again: use the zip as it was given out"
)


def contained(files: Mapping[str, bytes]) -> bytes:
    """
    Return *files* as one zip file, in their order.

    Raises:
        ValueError: If they are more than 4 GB.
    """
    body, index = bytearray(), bytearray()
    for name, content in files.items():
        at, size = len(body), len(content)
        if at + size > _BYTES_MAX:
            raise ValueError("evidence of more than 4 GB; ask for less at a time")
        local, central = _headers(name.encode("ascii"), size, zlib.crc32(content), at)
        body += local + content
        index += central
    end = 0, 0, len(files), len(files), len(index), len(body), 0
    return bytes(body + index + _END.pack(b"PK\x05\x06", *end))


def contents(raw: bytes) -> dict[str, bytes]:
    """
    Return the files in a zip file that `contained` made.

    Raises:
        AlteredError: If `contained` did not make it; names the file that differs.
    """
    files: dict[str, bytes] = {}
    for name, content, crc in _indexed(raw):
        if name in files:
            raise AlteredError(name, "it is there twice")
        if zlib.crc32(content) != crc:
            raise AlteredError(name, "it was altered")
        files[name] = content
    if contained(files) != raw:
        raise AlteredError(CONTAINER, _PACKED_AGAIN)
    return files


def _indexed(raw: bytes) -> Iterator[tuple[str, bytes, int]]:
    """
    Yield name, content and CRC of each file, where both headers of it agree.

    So it is a file of that name which is altered where its content does not fit: a header
    that is altered itself names no file. No file overlaps another.
    """
    end = 0
    try:
        *_, count, _, at, _ = _END.unpack(raw[-_END.size :])
        for _ in range(count):
            *_, crc, size, _, length, _, _, _, _, _, _ = _CENTRAL.unpack_from(raw, at)
            title = raw[at + _CENTRAL.size : at + _CENTRAL.size + length]
            local, central = _headers(title, size, crc, end)
            start, name = end + len(local), title.decode("ascii")
            is_same = raw[end:start] == local and raw[at : at + len(central)] == central
            if not (is_same and name.isprintable()):
                raise AlteredError(CONTAINER, _PACKED_AGAIN)
            at, end = at + len(central), start + size
            yield name, raw[start:end], crc
    except (struct.error, UnicodeDecodeError) as error:
        raise AlteredError(CONTAINER, _PACKED_AGAIN) from error


def _headers(title: bytes, size: int, crc: int, at: int) -> tuple[bytes, bytes]:
    """Return what stands before a file, and what the index says of it."""
    fields = 0, 0, 0, _FIRST_DAY, crc, size, size, len(title), 0
    local = _LOCAL.pack(b"PK\x03\x04", _VERSION, *fields)
    central = _CENTRAL.pack(b"PK\x01\x02", _VERSION, _VERSION, *fields, 0, 0, 0, 0, at)
    return local + title, central + title
