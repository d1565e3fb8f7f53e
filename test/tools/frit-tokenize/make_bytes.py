"""Writes a tokenizer.json with byte fallback: tokens 0 to 255 are bytes."""
import json
import sys

vocab = {f"<0x{byte:02X}>": byte for byte in range(256)}
vocab |= {"a": 256, "b": 257, "c": 258, "▁": 259, "abc": 260, "▁a": 261,
          "<unk>": 262}
json.dump({
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "▁|[^▁ä]+"},
                      "behavior": "Isolated", "invert": False},
    "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "byte_fallback": True, "ignore_merges": True,
              "unk_token": "<unk>", "fuse_unk": True, "vocab": vocab,
              "merges": ["▁ a"]}}, open(sys.argv[1], "w"), ensure_ascii=False)
