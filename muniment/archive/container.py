"""
The container of evidence: a zip file of which every byte is determined by its contents.

Any tool opens it. Nothing is compressed and nothing else is said in it, so whoever puts
the same files together again gets the same bytes, and no byte can be altered unseen.

Source:
    PKWARE, APPNOTE.TXT, 4.3.
"""

import struct
import zlib
from collections.abc import Mapping


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
        title, size = name.encode("ascii"), len(content)
        fields = 0, 0, 0, _FIRST_DAY, zlib.crc32(content), size, size, len(title), 0
        at = len(body)
        if at + size > _BYTES_MAX:
            raise ValueError("evidence of more than 4 GB; ask for less at a time")
        body += _LOCAL.pack(b"PK\x03\x04", _VERSION, *fields) + title + content
        index += _CENTRAL.pack(b"PK\x01\x02", _VERSION, _VERSION, *fields, 0, 0, 0, 0, at)
        index += title
    end = 0, 0, len(files), len(files), len(index), len(body), 0
    return bytes(body + index + _END.pack(b"PK\x05\x06", *end))


def contents(raw: bytes) -> dict[str, bytes]:
    """
    Return the files in a zip file that `contained` made.

    Raises:
        AlteredError: If `contained` did not make it; names the file that differs.
    """
    files: dict[str, bytes] = {}
    at = 0
    while raw[at : at + 4] == b"PK\x03\x04":
        try:
            _, *how, crc, size, _, length, extra = _LOCAL.unpack_from(raw, at)
            if (*how, extra) != (_VERSION, 0, 0, 0, _FIRST_DAY, 0):
                raise AlteredError(CONTAINER, _PACKED_AGAIN)
            start = at + _LOCAL.size + length
            name = raw[at + _LOCAL.size : start].decode("ascii")
        except (struct.error, UnicodeDecodeError) as error:
            raise AlteredError(CONTAINER, str(error)) from error
        content = raw[start : start + size]
        if name in files:
            raise AlteredError(name, "it is there twice")
        if len(content) != size or zlib.crc32(content) != crc:
            raise AlteredError(name, "it was altered")
        files[name] = content
        at = start + size
    if contained(files) != raw:
        raise AlteredError(CONTAINER, _PACKED_AGAIN)
    return files
