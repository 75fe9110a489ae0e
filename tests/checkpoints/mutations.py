"""Checkpoints with something wrong in them: each opens, or is refused in one sentence.

`python tests/checkpoints/mutations.py 2000` tries 2,000 with a fixed seed, and prints every other outcome.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from checkpoints.written import LLAMA_CONFIG, llama_arrays, write_folder

from attnviz.checkpoints import CheckpointError, import_checkpoint
from attnviz.checkpoints.tokenizers.converter import Added, byte_level, with_added
from attnviz.core.piece_kinds import PIECE_KIND_BY_ID

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3, 2**31, 10**400, 1e308, -0.5, "", "x", "\ud800", [], [0], {}, {"a": {}}, [[[]]],
)  # fmt: skip


WORDS = 259


def tokenizer() -> dict[str, Any]:
    """A tokenizer.json of bytes and a few merges."""
    written = PIECE_KIND_BY_ID["byte_level"].written
    texts = [*("".join(written(byte)) for byte in range(256)), "ab", "abc", "<s>"]
    vocabulary = {text: one for one, text in enumerate(texts)}
    return with_added(byte_level(vocabulary, [("a", "b"), ("ab", "c")]), [Added(258, "<s>")])


def write(folder: Path) -> None:
    """A small model that opens."""
    small = LLAMA_CONFIG["vocab_size"]
    arrays = {
        name: np.resize(array, (WORDS, array.shape[1])) if array.shape[0] == small else array
        for name, array in llama_arrays().items()
    }
    write_folder(folder, arrays, {**LLAMA_CONFIG, "vocab_size": WORDS})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))


def _of_json(data: Any, dice: random.Random) -> Any:
    """One member of a JSON value, anywhere in it, changed, removed or repeated."""
    if isinstance(data, dict) and data and dice.random() < 0.9:
        key = dice.choice(list(data))
        if dice.random() < 0.6 and isinstance(data[key], dict | list):
            return {**data, key: _of_json(data[key], dice)}
        kind = dice.randrange(3)
        if kind == 0:
            return {name: value for name, value in data.items() if name != key}
        return {**data, (f"{key}x" if kind == 1 else key): dice.choice(ODD)}
    if isinstance(data, list) and data and dice.random() < 0.9:
        at = dice.randrange(len(data))
        one = _of_json(data[at], dice) if dice.random() < 0.6 else dice.choice(ODD)
        return [*data[:at], one, *data[at + dice.randrange(2) :]]
    return dice.choice(ODD)


def _json_file(name: str) -> Callable[[Path, random.Random], None]:
    def mutate(folder: Path, dice: random.Random) -> None:
        file = folder / name
        text = json.dumps(_of_json(json.loads(file.read_text()), dice))
        if dice.random() < 0.2:
            at = dice.randrange(len(text))
            text = text[:at] + dice.choice('{}[]",:\0é\\') + text[at + dice.randrange(3) :]
        file.write_text(text, encoding="utf-8", errors="surrogatepass")

    return mutate


def _weights(folder: Path, dice: random.Random) -> None:
    """Other bytes in the header or behind it, or fewer of them."""
    file = folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    length = int.from_bytes(data[:8], "little")
    kind = dice.randrange(3)
    if kind == 0:
        header = json.dumps(_of_json(json.loads(data[8 : 8 + length]), dice)).encode()
        data = bytearray(len(header).to_bytes(8, "little") + header + data[8 + length :])
    elif kind == 1:
        for _change in range(dice.randint(1, 4)):
            data[dice.randrange(min(len(data), length + 100))] = dice.randrange(256)
    else:
        del data[dice.randrange(len(data)) :]
    file.write_bytes(data)


def _gguf(folder: Path, dice: random.Random) -> None:
    """A GGUF file with other bytes in its header."""
    from checkpoints.gguf.test_gguf import write as write_gguf

    file = folder / "model.gguf"
    write_gguf(file, "llama")
    data = bytearray(file.read_bytes())
    for _change in range(dice.randint(1, 4)):
        data[dice.randrange(2500)] = dice.choice((0, 1, 4, 9, 127, 255, dice.randrange(256)))
    file.write_bytes(data)


MUTATIONS = (_json_file("config.json"), _json_file("tokenizer.json"), _weights, _gguf)


def outcomes(count: int, seed: int = 0) -> Iterator[str]:
    """Outcomes of `count` mutated checkpoints: `opened`, `refused`, or the fault."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as home:
        for number in range(count):
            folder = Path(home) / str(number % 8)
            folder.mkdir(exist_ok=True)
            (folder / "model.gguf").unlink(missing_ok=True)
            write(folder)
            MUTATIONS[number % len(MUTATIONS)](folder, dice)
            yield outcome(folder)


def outcome(folder: Path) -> str:
    """Outcome of one."""
    given = folder / "model.gguf" if (folder / "model.gguf").exists() else folder
    try:
        import_checkpoint(given, text="abc <s> é")
    except CheckpointError as error:
        sentence = str(error)
        is_sentence = len(sentence) < 1500 and sentence.endswith(".") and "\n" not in sentence
        return "refused" if is_sentence else f"no sentence: {sentence[:300]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    return "opened"


if __name__ == "__main__":
    found = Counter(outcomes(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
    for kind, times in found.most_common():
        print(times, kind)
    sys.exit(bool(found.keys() - {"opened", "refused"}))
