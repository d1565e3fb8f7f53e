"""Greedy generation by the functions prefill and decode of an artifact."""
import frit
import numpy as np


class Generator:
    """The state of a compiled language model, for one sequence or several."""

    def __init__(self, path, device="cpu", **options):
        first = frit.load(path, device=device, **options)
        self.prefill, self.decode = first.function("prefill"), first.function("decode")

    def state(self, name):
        return self.prefill.read_state(name)[name]

    def reset(self):
        self.prefill.write_state({"length": np.zeros_like(self.state("length"))})

    def feed(self, prompts, chunk):
        """Extends each sequence by its prompt, up to `chunk` tokens a call, and returns the
        logits after it."""
        logits = None
        for at in range(0, max(map(len, prompts)), chunk):
            parts = [list(prompt[at:at + chunk]) for prompt in prompts]
            size = max(map(len, parts))
            tokens = np.array([part + [0] * (size - len(part)) for part in parts], np.int32)
            counts = np.array([len(part) for part in parts], np.int32)
            now = np.array(self.prefill(tokens, counts))
            logits = now if logits is None else np.where(counts[:, None] > 0, now, logits)
        return logits

    def generate(self, prompts, count, chunk):
        """The tokens that follow each prompt. The state begins empty."""
        self.reset()
        self.feed(prompts, chunk)
        for _ in range(count - 1):
            self.decode()
        tokens = self.state("tokens")
        return [[int(t) for t in row[len(prompt):len(prompt) + count]]
                for row, prompt in zip(tokens, prompts)]
