"""
Payloads unpacked without any library, so that whoever checks evidence needs none.

Slow and plain: what `zstandard` does in a microsecond takes a millisecond here. Only what
Muniment writes is accepted, frames without a magic number, whole, with nothing after.

Source:
    RFC 8878; numbers in parentheses are its sections.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


class NotZstdError(ValueError):
    """The bytes are no frame that Muniment wrote."""


_MAGIC_OF_DICTIONARY = b"\x37\xa4\x30\xec"
_LENGTH_BASES = (
    [(n, 0) for n in range(16)]
    + [(16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4)]
    + [(1 << n, n) for n in range(6, 17)]
)
_MATCH_BASES = (
    [(n + 3, 0) for n in range(32)]
    + [(35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4)]
    + [(83, 4), (99, 5)]
    + [((1 << n) + 3, n) for n in range(7, 17)]
)
_LENGTHS_DEFAULT = [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4
_MATCHES_DEFAULT = [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7
_OFFSETS_DEFAULT = [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5

Table = list[tuple[int, int, int]]
"""Of finite states: symbol, how many bits to read, and what they are added to."""

_Tables = tuple[list[tuple[int, int]], Table, Table, Table]
"""Of literals, of lengths, distances and matches."""


class _Forward:
    """Bits read from the first byte on, lowest bit first."""

    def __init__(self, data: bytes) -> None:
        self._value, self.at, self._end = int.from_bytes(data, "little"), 0, len(data) * 8

    def take(self, count: int) -> int:
        self.at += count
        if self.at > self._end + 7:
            raise NotZstdError("it ends too early")
        return self._value >> (self.at - count) & ((1 << count) - 1)


class _Backward:
    """Bits read from the last byte back; below the first there are zeros."""

    def __init__(self, data: bytes) -> None:
        if not data or not data[-1]:
            raise NotZstdError("bits have no end")
        self._value = int.from_bytes(data, "little")
        self.left = self._value.bit_length() - 1

    def peek(self, count: int) -> int:
        shift, mask = self.left - count, (1 << count) - 1
        return (self._value >> shift if shift >= 0 else self._value << -shift) & mask

    def take(self, count: int) -> int:
        found = self.peek(count)
        self.left -= count
        return found


@dataclass
class _State:
    """What one block leaves to the next; a dictionary is where it begins."""

    output: bytearray
    offsets: list[int]
    huffman: list[tuple[int, int]] | None = None
    lengths: Table | None = None
    distances: Table | None = None
    matches: Table | None = None
    limit: int = 0


def unzstd(frame: bytes, dictionary: bytes) -> bytes:
    """
    Return what is packed in *frame*.

    Raises:
        NotZstdError: If it is not one whole frame.
    """
    try:
        return _frame(frame, dictionary)
    except (IndexError, TypeError) as error:
        raise NotZstdError(f"it breaks off ({error})") from error


def _frame(frame: bytes, dictionary: bytes) -> bytes:
    """Decode a frame (3.1.1), its magic number left out."""
    state = _begun(dictionary)
    start, flags = len(state.output), frame[0]
    is_single = bool(flags & 32)
    width = (int(is_single), 2, 4, 8)[flags >> 6]
    at = 1 + (not is_single) + (0, 1, 2, 4)[flags & 3]
    size = int.from_bytes(frame[at : at + width], "little") + (256 if width == 2 else 0)
    if flags & 12 or not width:
        raise NotZstdError("it is not as Muniment writes it")
    at, is_last, state.limit = at + width, False, start + size
    while not is_last:
        if at >= len(frame):
            raise NotZstdError("it has no last block")
        header = int.from_bytes(frame[at : at + 3], "little")
        is_last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
        at += 3
        if kind == 1:
            if len(state.output) + length > state.limit:
                raise NotZstdError("it is longer than it says")
            state.output += frame[at : at + 1] * length
            at += 1
            continue
        block, at = frame[at : at + length], at + length
        if kind == 0:
            state.output += block
        else:
            _unpack_block(block, state)
    found = bytes(state.output[start:])
    if at != len(frame) or len(found) != size:
        raise NotZstdError("its length is not what it says")
    return found


def _begun(dictionary: bytes) -> _State:
    """Return what a dictionary begins with."""
    content, offsets, tables = _parsed_dictionary(dictionary)
    return _State(bytearray(content), list(offsets), *tables)


@lru_cache(maxsize=4)
def _parsed_dictionary(dictionary: bytes) -> tuple[bytes, tuple[int, ...], _Tables]:
    """Return content, offsets and tables of a dictionary (5)."""
    if dictionary[:4] != _MAGIC_OF_DICTIONARY:
        raise NotZstdError("it is no dictionary")
    huffman, used = _huffman(dictionary[8:])
    at, tables = 8 + used, list[Table]()
    for _ in range(3):
        table, used = _described(dictionary[at:])
        tables.append(table)
        at += used
    offsets = tuple(
        int.from_bytes(dictionary[n : n + 4], "little") for n in range(at, at + 12, 4)
    )
    distances, matches, lengths = tables
    return dictionary[at + 12 :], offsets, (huffman, lengths, distances, matches)


def _unpack_block(block: bytes, state: _State) -> None:
    """Decode a compressed block (3.1.1.2): literals, then sequences that place them."""
    literals, at = _literals(block, state)
    count, at = block[at], at + 1
    if count >= 128:
        if count == 255:
            count, at = block[at] + (block[at + 1] << 8) + 0x7F00, at + 2
        else:
            count, at = (count - 128 << 8) + block[at], at + 1
    if count:
        literals = _sequences(block, at, count, literals, state)
    state.output += literals


def _literals(block: bytes, state: _State) -> tuple[bytes, int]:
    """Return the literals of a block (3.1.1.3.1), and where they end."""
    kind, form = block[0] & 3, block[0] >> 2 & 3
    if kind < 2:
        width = (1, 2, 1, 3)[form]
        size = int.from_bytes(block[:width], "little") >> (4 if form & 1 else 3)
        if kind == 0:
            return block[width : width + size], width + size
        return block[width : width + 1] * size, width + 1
    width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    header = int.from_bytes(block[:width], "little") >> 4
    size, packed = header & (1 << bits) - 1, header >> bits
    data, end = block[width : width + packed], width + packed
    if kind == 2:
        state.huffman, used = _huffman(data)
        data = data[used:]
    if not form:
        return _literal_stream(data, size, state), end
    cuts = [int.from_bytes(data[n : n + 2], "little") for n in (0, 2, 4)]
    data, part, found = data[6:], (size + 3) // 4, b""
    for cut in cuts:
        found += _literal_stream(data[:cut], part, state)
        data = data[cut:]
    return found + _literal_stream(data, size - 3 * part, state), end


def _literal_stream(data: bytes, size: int, state: _State) -> bytes:
    """Decode one stream of literals (4.2.2)."""
    table, bits, found = state.huffman, _Backward(data), bytearray()
    assert table is not None, "a dictionary begins with one"
    depth = len(table).bit_length() - 1
    for _ in range(size):
        symbol, used = table[bits.peek(depth)]
        bits.left -= used
        found.append(symbol)
    if bits.left:
        raise NotZstdError("literals do not come out even")
    return bytes(found)


def _huffman(data: bytes) -> tuple[list[tuple[int, int]], int]:
    """Return a table of literals by their bits (4.2.1), and how long it was."""
    first = data[0]
    if first >= 128:
        count = first - 127
        used = 1 + (count + 1) // 2
        weights = [data[1 + n // 2] >> (0 if n & 1 else 4) & 15 for n in range(count)]
    else:
        used = 1 + first
        weights = _weights(data[1:used])
    total = sum(1 << each - 1 for each in weights if each)
    depth = total.bit_length()
    rest = (1 << depth) - total
    weights.append(rest.bit_length())
    if rest & rest - 1:
        raise NotZstdError("weights do not add up")
    table: list[tuple[int, int]] = []
    for weight in range(1, depth + 1):
        for symbol, each in enumerate(weights):
            if each == weight:
                table += [(symbol, depth + 1 - weight)] * (1 << weight - 1)
    return table, used


def _weights(data: bytes) -> list[int]:
    """Return the weights of a table, which are packed themselves (4.2.1.2)."""
    table, used = _described(data)
    bits = _Backward(data[used:])
    depth = len(table).bit_length() - 1
    states = [bits.take(depth), bits.take(depth)]
    found: list[int] = []
    while True:
        for turn in (0, 1):
            symbol, count, base = table[states[turn]]
            found.append(symbol)
            states[turn] = base + bits.take(count)
            if bits.left < 0:
                found.append(table[states[1 - turn]][0])
                return found
            if len(found) > 255:
                raise NotZstdError("there are more weights than bytes")


def _described(data: bytes) -> tuple[Table, int]:
    """Return a table of states that is described (4.1.1), and how long that was."""
    bits = _Forward(data)
    accuracy = bits.take(4) + 5
    rest, odds = 1 << accuracy, list[int]()
    while rest > 0:
        width = (rest + 1).bit_length()
        low, edge = (1 << width - 1) - 1, (1 << width) - 2 - rest
        value = bits.take(width)
        if value & low < edge:
            bits.at -= 1
            value &= low
        elif value > low:
            value -= edge
        odds.append(value - 1)
        rest -= abs(value - 1)
        repeat = 3 if value == 1 else 0
        while repeat == 3:
            repeat = bits.take(2)
            odds += [0] * repeat
    return _table(odds, accuracy), (bits.at + 7) // 8


def _table(odds: Sequence[int], accuracy: int) -> Table:
    """Return the states that symbols of these odds have (4.1)."""
    size = 1 << accuracy
    if sum(map(abs, odds)) != size or min(odds) < -1:
        raise NotZstdError("odds do not add up")
    symbols, high, at = [0] * size, size - 1, 0
    for symbol, each in enumerate(odds):
        if each < 0:
            symbols[high], high = symbol, high - 1
    for symbol, each in enumerate(odds):
        for _ in range(each):
            symbols[at] = symbol
            at = at + (size >> 1) + (size >> 3) + 3 & size - 1
            while at > high:
                at = at + (size >> 1) + (size >> 3) + 3 & size - 1
    following = [abs(each) for each in odds]
    table: Table = []
    for symbol in symbols:
        number, following[symbol] = following[symbol], following[symbol] + 1
        count = accuracy + 1 - number.bit_length()
        table.append((symbol, count, (number << count) - size))
    return table


def _sequences(block: bytes, at: int, count: int, literals: bytes, state: _State) -> bytes:
    """Carry out sequences (3.1.1.3.2); return the literals that no sequence took."""
    modes, at = block[at], at + 1
    state.lengths, at = _chosen(modes >> 6, block, at, _LENGTHS_DEFAULT, state.lengths)
    state.distances, at = _chosen(
        modes >> 4 & 3, block, at, _OFFSETS_DEFAULT, state.distances
    )
    state.matches, at = _chosen(modes >> 2 & 3, block, at, _MATCHES_DEFAULT, state.matches)
    bits = _Backward(block[at:])
    tables = state.lengths, state.distances, state.matches
    states = [bits.take(len(each).bit_length() - 1) for each in tables]
    for number in range(count):
        length_code, distance_code, match_code = (
            table[each][0] for table, each in zip(tables, states, strict=True)
        )
        distance = (1 << distance_code) + bits.take(distance_code)
        match = _MATCH_BASES[match_code][0] + bits.take(_MATCH_BASES[match_code][1])
        length = _LENGTH_BASES[length_code][0] + bits.take(_LENGTH_BASES[length_code][1])
        if number + 1 < count:
            for turn in (0, 2, 1):
                _, width, base = tables[turn][states[turn]]
                states[turn] = base + bits.take(width)
        state.output += literals[:length]
        literals = literals[length:]
        _copy_match(state, _distance(distance, length, state.offsets), match)
    if bits.left:
        raise NotZstdError("sequences do not come out even")
    return literals


def _chosen(
    mode: int, block: bytes, at: int, default: Sequence[int], last: Table | None
) -> tuple[Table, int]:
    """Return the table that a block chooses, and where its description ends."""
    match mode:
        case 0:
            return _table(default, 5 if default is _OFFSETS_DEFAULT else 6), at
        case 1:
            return [(block[at], 0, 0)], at + 1
        case 2:
            table, used = _described(block[at:])
            return table, at + used
        case _:
            assert last is not None, "a dictionary begins with one"
            return last, at


def _distance(value: int, length: int, offsets: list[int]) -> int:
    """Return how far back a match lies, and remember it (3.1.1.5)."""
    if value > 3:
        found, place = value - 3, 2
    else:
        place = value - 1 + (length == 0)
        found = offsets[0] - 1 if place == 3 else offsets[place]
        place = min(place, 2)
    offsets.insert(0, found)
    del offsets[place + 1]
    return found


def _copy_match(state: _State, distance: int, count: int) -> None:
    output = state.output
    if not 0 < distance <= len(output) or len(output) + count > state.limit:
        raise NotZstdError("it copies what is not there")
    for _ in range(count):
        output.append(output[-distance])
