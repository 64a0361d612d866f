"""Serves the exported classifier of this folder over HTTP: `uvicorn serve:app --host 127.0.0.1 --port 8000`.

    POST /predict   {"texts": ["a text", ["a text", "the second text of a pair"]]}
    GET /health

Written by `salience export`. It needs onnxruntime, tokenizers, numpy, starlette and uvicorn, and not salience.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tokenizers import Encoding, Tokenizer

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would be collected from the import on
import onnxruntime

MOST_TEXTS, MOST_BYTES = 256, 2**20  # of a request
BATCH = 16  # texts that are computed at once
FOLDER = Path(__file__).parent
PARTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
EXPECTED = 'send {"texts": ["a text", "another"]}'


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


reads = read("export.json")["reads"]
config = read("config.json")
labels = [config["id2label"][str(number)] for number in range(len(config["id2label"]))]
several = config.get("problem_type") == "multi_label_classification"  # a text can have several labels, or none
thresholds = None  # in the order of the labels
if several:  # from these probabilities on, labels are predicted
    chosen = config.get("label_thresholds") or dict.fromkeys(labels, 0.5)
    thresholds = numpy.array([chosen[label] if chosen[label] < 1 else numpy.inf for label in labels])  # 1: never
elif (FOLDER / "abstention.json").exists():  # of --target-precision
    thresholds = numpy.array([read("abstention.json")["thresholds"][label] for label in labels])
own = None if several else config.get("predicted_from")  # one label and its threshold, from which on it is predicted
pairs = reads["pairs"]  # None: it is not known whether the model was trained on pairs of texts
tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
tokenizer.enable_truncation(reads["max_length"])
tokenizer.no_padding()  # `logits` pads
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(os.environ.get("THREADS", "0"))  # 0: one for each core of the machine
session = onnxruntime.InferenceSession(str(FOLDER / "model.onnx"), options, providers=["CPUExecutionProvider"])
inputs = [value.name for value in session.get_inputs()]
turn = CapacityLimiter(1)  # one request computes at a time, with all threads; the others wait


def logits(rows: list[Encoding]) -> numpy.ndarray:
    """The logits (N, C) of N tokenised texts, padded to the longest of them."""
    given = {}
    for name in inputs:
        filling = reads["pad_token_id"] if name == "input_ids" else 0
        given[name] = numpy.full((len(rows), max(1, *map(len, rows))), filling, numpy.int64)
        for place, row in zip(given[name], rows, strict=True):
            place[: len(row)] = getattr(row, PARTS[name])
    return session.run(["logits"], given)[0]


def predictions(texts: list[Any]) -> list[dict[str, Any]]:
    """What is answered for each text. Texts of like length are computed together."""
    rows = tokenizer.encode_batch(texts)
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    found = numpy.empty((len(rows), len(labels)), numpy.float32)
    batch = 1 if config.get("reads_padding") else BATCH  # what it says of a text depends on the padding beside it
    for start in range(0, len(order), batch):
        numbers = order[start : start + batch]
        found[numbers] = logits([rows[number] for number in numbers])
    if several:
        return [labels_of(row) for row in numpy.exp(-numpy.logaddexp(0, -found))]
    shares = numpy.exp(found - found.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    return [answer(row) for row in shares]


def labels_of(probabilities: numpy.ndarray) -> dict[str, Any]:
    """The answer for a text that can have several labels, with their `probabilities` (C,)."""
    predicted = [label for label, decided in zip(labels, probabilities >= thresholds, strict=True) if decided]
    return {"predicted": predicted, "probabilities": dict(zip(labels, probabilities.tolist(), strict=True))}


def answer(shares: numpy.ndarray) -> dict[str, Any]:
    """The answer for a text with the probabilities `shares` (C,); no label is predicted below its threshold."""
    best = int(shares.argmax())
    if own:
        ((label, threshold),) = own.items()
        number, others = labels.index(label), shares.copy()
        others[number] = -1
        best = number if float(shares[number]) >= threshold else int(others.argmax())
    decided = thresholds is None or shares[best] > thresholds[best]
    said = {} if thresholds is None else {"most_probable": labels[best]}
    probabilities = dict(zip(labels, shares.tolist(), strict=True))
    predicted = labels[best] if decided else None
    return {"predicted": predicted, **said, "probability": probabilities[labels[best]], "probabilities": probabilities}


def once(named: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, in which no name stands twice."""
    if len(found := dict(named)) < len(named):
        raise HTTPException(400, f"an object has a name twice: {EXPECTED}")
    return found


def texts_of(body: bytes) -> list[Any]:
    """The texts of a request; a pair of texts is a tuple."""
    try:
        found = json.loads(body, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise HTTPException(400, f"the body is not JSON: {EXPECTED}") from None
    texts = found.get("texts") if isinstance(found, dict) else None
    if not isinstance(texts, list) or not texts:
        raise HTTPException(400, f"there is no list of texts: {EXPECTED}")
    if len(texts) > MOST_TEXTS:
        raise HTTPException(413, f"{len(texts)} texts: send at most {MOST_TEXTS} in a request")
    read_texts: list[Any] = []
    for number, text in enumerate(texts, 1):
        parts = text if isinstance(text, list) and len(text) == 2 else [text]
        if not all(isinstance(part, str) and part.strip() for part in parts):
            raise HTTPException(400, f"text {number} is no text with words, nor a list of two such texts")
        if pairs is not None and pairs != (len(parts) == 2):
            needed = "lists of two texts" if pairs else "single texts"
            raise HTTPException(400, f"text {number} is not what the model was trained on: send {needed}")
        # JSON can hold half of a character; it becomes the replacement character, as in `salience predict`.
        whole = [part.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for part in parts]
        read_texts.append(tuple(whole) if len(whole) == 2 else whole[0])
    return read_texts


async def predict(request: Request) -> JSONResponse:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"the request has more than {MOST_BYTES:,} bytes: send fewer texts at a time")
    texts = texts_of(bytes(body))
    return JSONResponse({"predictions": await to_thread.run_sync(predictions, texts, limiter=turn)})


async def health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


async def refusal(request: Request, error: Exception) -> JSONResponse:
    """What is wrong with a request, in one line."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


app = Starlette(
    routes=[Route("/predict", predict, methods=["POST"]), Route("/health", health)],
    exception_handlers={HTTPException: refusal},
)
