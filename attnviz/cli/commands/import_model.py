"""`attnviz import`: a trained model with a text as a document."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from attnviz.cli.command import Command, Condition, Named
from attnviz.cli.options import written
from attnviz.errors import FieldError, must_be
from attnviz.i18n import N_, _
from attnviz.model.io.files import save


def add(command: ArgumentParser) -> None:
    """Add the options."""
    command.add_argument(
        "folder",
        metavar="MODEL",
        help=_("a folder with config.json and model.safetensors, a .gguf file, or a name of the hub"),
    )
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=_(".safetensors or .json"))
    command.add_argument("--text", help=_("the input text; needs the package tokenizers"))
    command.add_argument(
        "--chat",
        metavar="TEXT",
        action="append",
        help=_("a user message for the model's chat template; repeat it for the turns that follow"),
    )
    command.add_argument("--system", metavar="TEXT", help=_("the system message before --chat"))
    command.add_argument("--ids", metavar="1,2,3", help=_("token ids instead of a text"))
    command.add_argument(
        "--memory-text", metavar="TEXT", help=_("the input text of the encoder of an encoder-decoder")
    )
    command.add_argument("--memory-ids", metavar="1,2,3", help=_("token ids instead of that text"))
    command.add_argument("--image", metavar="FILE", help=_("the picture for a model that reads images"))
    command.add_argument(
        "--features",
        metavar="FILE.npy",
        help=_("an array for a model of images (channel, row, column) or of sound (band, frame)"),
    )
    command.add_argument("--dtype", default="float32", help=_("the precision (default: float32)"))
    command.add_argument(
        "--ignore-key",
        metavar="NAME",
        action="append",
        default=[],
        help=_("ignore a key of config.json that the program does not know; may be repeated"),
    )
    command.add_argument(
        "--with-weights",
        action="store_true",
        help=_("pack the weights into the document; without it, the document refers to their file"),
    )
    command.add_argument(
        "--download",
        action="store_true",
        help=_("download a model of the hub that is not in the cache; needs huggingface_hub"),
    )
    command.add_argument(
        "--attention-only", action="store_true", help=_("only the attention of the first layer")
    )


def run(options: Namespace) -> int:
    """Import a checkpoint and a text as a document, and save it."""
    from attnviz.checkpoints import CheckpointError, import_checkpoint
    from attnviz.checkpoints.halves import part_read
    from attnviz.checkpoints.hub import download, is_missing
    from attnviz.checkpoints.importing import describe, head_words
    from attnviz.checkpoints.signals.reading import read_array
    from attnviz.checkpoints.tokenizers.chat import turns

    try:
        if options.download and is_missing(options.folder):
            download(options.folder)
        document = import_checkpoint(
            options.folder,
            options.text,
            _ids("ids", options.ids),
            memory_text=options.memory_text,
            memory_ids=_ids("memory_ids", options.memory_ids),
            image=options.image,
            features=None if options.features is None else read_array(options.features),
            chat=None if options.chat is None else turns(options.chat, options.system),
            dtype=options.dtype,
            attention_only=options.attention_only,
            ignore_keys=tuple(options.ignore_key),
        )
    except CheckpointError as error:
        raise Named(error.message) from None
    part = part_read(options.image, options.features)
    described = describe(options.folder, options.attention_only, tuple(options.ignore_key), part)
    beyond = document.beyond_training(document.experiment.n_queries)
    for sentence in filter(None, (*head_words(described), beyond and beyond.text())):
        print(sentence, file=sys.stderr)
    written(options.output, lambda: save(document, options.output, with_weights=options.with_weights))
    return 0


def _ids(name: str, text: str | None) -> tuple[int, ...] | None:
    """Parse whole numbers separated by commas."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise Named(FieldError(name, text, must_be("whole numbers with commas between them")).message)
    return tuple(map(int, parts))


CONDITIONS = (
    Condition("--system", "--chat"),
    Condition("--memory-text", "--attention-only", is_barred=True),
    Condition("--memory-ids", "--attention-only", is_barred=True),
)

COMMAND = Command(
    "import", N_("import a trained model with a text as a document"), add, run, conditions=CONDITIONS
)
