"""Writes GGUF files, as their description says: ggml's docs/gguf.md."""
import struct

U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f",
           BOOL: "?", U64: "Q", I64: "q", F64: "d"}


def text(value) -> bytes:
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value_of(kind: int, value) -> bytes:
    return text(value) if kind == TEXT else struct.pack("<" + FORMATS[kind], value)


def kind_of(value) -> int:
    return (BOOL if isinstance(value, bool) else U32 if isinstance(value, int)
            else F32 if isinstance(value, float) else TEXT)


def pair(key: str, value) -> bytes:
    """A number of a type other than u32 or f32 is given as (type, number)."""
    if isinstance(value, list):
        kind = kind_of(value[0]) if value else I32
        return (text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) +
                b"".join(value_of(kind, one) for one in value))
    kind, value = value if isinstance(value, tuple) else (kind_of(value), value)
    return text(key) + struct.pack("<I", kind) + value_of(kind, value)


def make(values: dict, tensors: dict | None = None, version: int = 3) -> bytes:
    """`tensors` are, by name, a type's number, the dimensions with that of
    neighbours first, and the bytes."""
    tensors = tensors or {}
    align = values.get("general.alignment", 32)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    head += b"".join(pair(key, value) for key, value in values.items())
    data = b""
    for name, (kind, dims, content) in tensors.items():
        head += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims,
                                         kind, len(data))
        data += content + bytes(-len(content) % align)
    return head + bytes(-len(head) % align) + data


def split(values: dict, tensors: dict, count: int) -> list[bytes]:
    """Several files, as llama.cpp's gguf-split writes them: all keys are in the first."""
    names, parts = list(tensors), []
    for i in range(count):
        own = {"split.no": (U16, i), "split.count": (U16, count),
               "split.tensors.count": (I32, len(tensors))}
        parts.append(make((values if i == 0 else {}) | own,
                          {name: tensors[name] for name in names[i::count]}))
    return parts
