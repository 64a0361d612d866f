"""The folder of an exported classifier: the model, its tokenizer and labels, and a page that says how to run it."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable
from copy import deepcopy
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path

from salience._version import __version__
from salience.classify import TextClassifier
from salience.classify.classifier import load_exported
from salience.classify.onnx_model import FILE
from salience.data.texts import Texts
from salience.export.agreement import (
    TOLERANCE,
    Agreement,
    agreement,
    as_batch,
    check_parity,
    made_up_texts,
    server_tokenizer,
)
from salience.export.rounding import round_products
from salience.export.tracing import needs_two_files, write_onnx
from salience.files import write_json, write_whole
from salience.runs.folder import EXPORT
from salience.templating import render

PACKAGE = "salience.export"
PACKAGES = ("torch", "transformers", "tokenizers", "onnx", "onnxscript", "onnxruntime")


def write_export(
    classifier: TextClassifier, folder: Path, texts: Texts | None, int8: bool, accept: Callable[[Agreement], None]
) -> Agreement | None:
    """Writes an exported classifier, which is on a CPU, to an empty folder, and returns the result on the texts.

    Args:
        texts: texts on which the export is compared with the original; None compares it on made-up texts only.
        int8: whether weights and products are rounded to 8 bits.
        accept: is called with the result on the texts, and raises an error to refuse it.
    """
    _ = classifier.thresholds  # refuses a damaged configuration, of which the server could make nothing
    # With all labels, which transformers leaves out where they are LABEL_0, LABEL_1, ...
    configuration = json.loads(classifier.model.config.to_json_string())
    write_json(folder / "config.json", configuration | {"id2label": dict(enumerate(classifier.labels))})
    tokenizer = deepcopy(classifier.tokenizer)
    tokenizer.model_max_length = classifier.max_length
    tokenizer.save_pretrained(folder)
    write_onnx(classifier.model, as_batch(classifier, made_up_texts(classifier, (2, 5))), folder / FILE)
    exported = load_exported(folder)
    difference = check_parity(classifier, exported.model, server_tokenizer(folder, exported.max_length))
    if int8:
        round_products(folder / FILE, external=needs_two_files(classifier.model))
        exported = load_exported(folder)
    held = None
    if texts is not None:
        held = agreement(classifier, exported, texts)
        accept(held)
    length, padding, served = exported.max_length, exported.tokenizer.pad_token_id or 0, is_served(exported)
    page = render(
        PACKAGE, "readme.md.jinja", max_length=length, padding=padding, served=served, several=exported.multi_label,
        long=exported.long, reads_padding=getattr(exported.model.config, "reads_padding", False), int8=int8,
    )  # fmt: skip
    write_whole(folder / "README.md", str(page))
    about = {
        "written by": f"salience {__version__}",
        "format": "onnx, int8" if int8 else "onnx, float32",
        "reads": {"max_length": length, "pad_token_id": padding, "pairs": classifier.pairs},
        "float32 on made-up texts": {"largest difference of a logit, relative": difference, "accepted": TOLERANCE},
        "on given texts": None if held is None else held.as_json(),
        "processor": platform.processor() or platform.machine(),
        "packages": {name: version(name) for name in PACKAGES},
    }
    write_json(folder / EXPORT, about)
    if served:  # over HTTP, by a program and a Dockerfile that runs it
        with as_file(files(PACKAGE).joinpath("templates", "serve.py")) as program:
            shutil.copyfile(program, folder / "serve.py")
        write_whole(folder / "Dockerfile", dockerfile())
    return held


def is_served(exported: TextClassifier) -> bool:
    """Whether a server is written for an exported classifier: it reads no parts of long texts."""
    return exported.long == "head"


def dockerfile() -> str:
    """With the versions of Python and of the packages with which the export was compared."""
    versions = {name: version(name) for name in ("onnxruntime", "tokenizers", "numpy")}
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{render(PACKAGE, 'Dockerfile.jinja', python=python, **versions)}\n"
