"""Writes a tokenizer.json whose normalizer is a map of characters, as
SentencePiece stores it: a Darts double array and texts."""
import base64
import json
import struct
import sys

# Of texts that begin alike the shortest counts. Clusters of 6 bytes or more are
# looked up character by character.
MAP = {"ﬁ": "fi", "Ａ": "a", "e\u0301": "é", "\u200b": "", "ﬂ": "fl",
       "ﾞ": "\u3099", "①": "1", "Ⅷ": "VIII", "\u3000": " ", "\u00a0": " ",
       "e": "E", "o\u0301": "é", "\u0301": "'"}


def double_array(entries: dict[bytes, int]) -> list[int]:
    """Each node has 256 units for its children, the one of label 0 a value."""
    units = {}
    blocks = 0

    def place(prefix: bytes, at: int, label: int) -> None:
        nonlocal blocks
        blocks += 1
        block = blocks << 8
        units[at] = (at ^ block) << 10 | (prefix in entries) << 8 | label
        if prefix in entries:
            units[block] = 1 << 31 | entries[prefix]
        for byte in sorted({key[len(prefix)] for key in entries
                            if key.startswith(prefix) and len(key) > len(prefix)}):
            place(prefix + bytes([byte]), block ^ byte, byte)

    place(b"", 0, 0)
    return [units.get(at, 0x200) for at in range((blocks + 1) << 8)]


def charsmap(others: dict[str, str] | None = None) -> bytes:
    targets, places = b"", {}
    for source, target in (MAP | (others or {})).items():
        places[source.encode()] = len(targets)
        targets += target.encode() + b"\0"
    units = double_array(places)
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + targets


if __name__ == "__main__":
    json.dump({"normalizer": {"type": "Precompiled", "precompiled_charsmap":
                              base64.b64encode(charsmap()).decode()},
               "model": {"type": "Unigram", "unk_id": 0, "vocab": [
                   ["<unk>", 0], ["fi", -1], ["a", -1], ["é", -1]]}},
              open(sys.argv[1], "w"))
