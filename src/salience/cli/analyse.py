"""`salience analyse`: what a trained model attends to, over a corpus; the analyses of four papers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option, Typer

from salience.cli import options
from salience.cli.options import Command, of_recipe
from salience.errors import InputError, counted, listed, nearest, quoted, unknown
from salience.settings import numbers

if TYPE_CHECKING:
    from salience.data.task import Task
    from salience.papers.attentionmix.parts_of_speech import ByTag, Head, Meetings
    from salience.training.recipe import Recipe

WORDS_READ = 400  # of a text, where the model is trained here
SCORED = ("dot", "additive")  # poolings with one attention score for each word
WORDS = 15  # tokens listed for each channel

app = Typer(help="Analyse what a trained model attends to, over a corpus.", no_args_is_help=True)


@app.command(cls=Command)
def attention(
    data: Annotated[str, Argument(help="Labelled training texts, as for `salience train`.")],
    test: Annotated[str | None, Option(help="Labelled texts on which attention is measured.")] = None,
    model: Annotated[
        str | None, Option(help="Attention classifier.  [default: one is trained]")
    ] = None,
    pooling: Annotated[str | None, Option(help="If one is trained: dot or additive.  [default: dot]")] = None,
    encoder: Annotated[
        str | None, Option(help="embeddings, affine or lstm.  [default: embeddings]")
    ] = None,
    scales: Annotated[
        str | None, Option(help="Divisors of scores, by commas.  [default: 10]")
    ] = None,
    embeddings: Annotated[
        str | None, Option(help="Or glove, minilm, a file.  [default: random]")
    ] = None,
    epochs: Annotated[int | None, Option(help="Training epochs.  [default: 40]")] = None,
    batch_size: Annotated[int | None, Option(help="Texts in a training step.  [default: 100]")] = None,
    alignment: Annotated[float | None, Option(help="Weight of the penalty |V^T W|.  [default: 0]")] = None,
    alignment_form: Annotated[str | None, Option(help="Of it: absolute or square.  [default: absolute]")] = None,
    seed: Annotated[int | None, of_recipe("Seed of the random numbers.  [default: 0]")] = None,
    text: Annotated[str | None, of_recipe("Column of the text.  [default: guessed]")] = None,
    label: Annotated[str | None, of_recipe("Column of the label.  [default: guessed]")] = None,
    encoding: options.Encoding = "utf-8",
    bad_rows: Annotated[str, of_recipe("Incomplete rows: error or skip.")] = "error",
    max_length: Annotated[int | None, of_recipe("Tokens read.  [default: as the model, or 400]")] = None,
    output: Annotated[Path, Option(help="Folder to write.")] = Path("analysis"),
    overwrite: options.Overwrite = False,
) -> None:  # fmt: skip
    """Attention and polarity scores of words by class, as a table, pictures and a page (Sun and Lu, ACL 2020)."""
    asked = {"--pooling": pooling, "--encoder": encoder, "--scales": scales, "--embeddings": embeddings,
             "--epochs": epochs, "--batch-size": batch_size, "--alignment": alignment,
             "--alignment-form": alignment_form, "--seed": seed}  # fmt: skip
    if model is not None and (idle := [option for option, value in asked.items() if value is not None]):
        raise InputError(f"{', '.join(idle)} would have no effect: with --model nothing is trained")

    from salience.classify import TextClassifier
    from salience.classify.classifier import with_one_label
    from salience.cli.rows import cannot
    from salience.files import check_folder, input_first, whole_folder
    from salience.models.loading import load_trained, longest_text
    from salience.papers.attention_classifiers.options import WORD_ENCODERS, AttentionOptions, WordRecipe
    from salience.papers.uaftc.analysis import analyse, sweep
    from salience.papers.uaftc.page import write_analysis
    from salience.report.terminal import say
    from salience.training.recipe import Recipe
    from salience.training.task import check_input

    reading: dict[str, Any] = {
        "data": data,
        "test": test,
        "text": text,
        "label": label,
        "encoding": encoding,
        "bad_rows": bad_rows,
    }
    with input_first(lambda: check_input(Recipe(**reading)) if model is None else load_trained(model)):
        check_folder(output, overwrite)
    with cannot(f"analyse {model or data}"):
        if model is None:
            pooling, encoder = pooling or "dot", encoder or "embeddings"
            if pooling not in SCORED:
                raise unknown("--pooling", pooling, SCORED)
            if encoder not in WORD_ENCODERS:
                raise InputError(
                    f"--encoder {quoted(encoder)} is not trained here, only {', '.join(WORD_ENCODERS)}; train a "
                    f"transformer with salience train --model attention:{pooling}, and analyse it with --model."
                    + nearest(encoder, WORD_ENCODERS)
                )
            training: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "alignment": alignment,
                        "alignment_form": alignment_form}  # fmt: skip
            recipe = WordRecipe(**{name: value for name, value in training.items() if value is not None})
            classifier = AttentionOptions(pooling=pooling, encoder=encoder, embeddings=embeddings)
            divisors, seed = numbers(scales or "10", ",", "--scales 1,10,100", float), seed or 0
            task = read_first_texts(Recipe(**reading, validation_share=None, seed=seed))
            analyses = sweep(
                classifier, recipe, task, divisors, seed, WORDS_READ if max_length is None else max_length
            )
        else:
            loaded = load_trained(model)
            with_one_label(TextClassifier(*loaded, 1), "salience analyse attention", model)
            task = read_first_texts(Recipe(**reading))  # nothing need be held out
            analyses = [analyse(*loaded, task, longest_text(*loaded, max_length))]
    with whole_folder(output) as folder:
        pictures = write_analysis(analyses, task.labels, f"Attention on {Path(data).name}", folder)
    say(f"saved: {output}/index.html, words.csv, summary.json and {pictures} pictures")


def read_first_texts(recipe: Recipe, note: Callable[[str], None] = print) -> Task:
    """The task of a recipe, as `read_task` reads it; a note says so where second texts are ignored."""
    from salience.training.task import check_one_label, read_task

    task = read_task(recipe, note)
    check_one_label(task, "salience analyse attention compares the polarities of classes")
    if task.columns is not None and task.columns.text_pair is not None:
        note(
            f"{recipe.named_data}: only the column {quoted(task.columns.text)} is read, not the second texts beside it"
        )
    return task


@app.command(cls=Command)
def pos(
    model: Annotated[str, Argument(help="Trained classifier with a transformer encoder.")],
    data: Annotated[str, Argument(help="Texts, as for `salience predict`.")],
    heads: Annotated[str, Option(help="LAYER:HEAD,... from 0; LAYER is the mean.")] = "0",
    tagger: Annotated[
        str | None, Option(help="spaCy's, or module:function.  [default: en_core_web_sm]")
    ] = None,
    tags: Annotated[str | None, Option(help="Column with a tag for each word, instead.")] = None,
    words: Annotated[bool, Option("--words", help="Sum the attention of the tokens of a word first.")] = False,
    sums: Annotated[bool, Option("--sums", help="Multiply attention by the length of the text.")] = False,
    most: Annotated[int | None, Option(help="Read only the first texts.  [default: all]")] = None,
    text: Annotated[str | None, of_recipe("Column of the text.  [default: guessed]")] = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    output: Annotated[Path, Option(help="Folder to write.")] = Path("pos"),
    overwrite: options.Overwrite = False,
) -> None:  # fmt: skip
    """Parts of speech that attention heads attend to (AttentionMix, section 6.5), also in mixtures of two texts."""
    import numpy as np
    from rich.console import Console

    from salience.classify import load
    from salience.classify.classifier import with_one_label
    from salience.cli.rows import cannot, check_model_and_data, read_texts
    from salience.data.texts import Texts
    from salience.explainers import Attention
    from salience.files import check_folder, input_first, whole_folder
    from salience.papers.attentionmix.parts_of_speech import (
        bars,
        given_tags,
        head_of,
        head_table,
        meeting_map,
        meetings,
        named,
        tagged_attention,
        tagged_by,
        values_of_head,
    )
    from salience.report.pictures import save
    from salience.report.terminal import say, tell

    chosen = [head_of(head) for head in heads.split(",")]
    columns = {"text": text, "encoding": encoding}
    with input_first(lambda: check_model_and_data([model], data, columns)):
        check_folder(output, overwrite)
    classifier = load(model, max_length, device)
    with_one_label(classifier, "salience analyse pos", model)
    if classifier.long != "head":
        raise InputError(
            f"{model} reads parts of long texts, with --long {classifier.long}, and the attention of whole texts is "
            "analysed: train a model with --long head"
        )
    parts = read_texts(data, None, None, most, columns, marks=tags, option="--tags", read_marks=given_tags)
    read = Texts.concatenated(parts)
    if read.second is not None:
        tell(f"{data}: only first texts are read, not the second ones beside them")
    texts = read.texts
    if tags is not None:
        tagged = read.marks or []
    else:
        tagged = tagged_by(tagger, texts)
    if not texts:
        raise InputError(f"{data} has no texts")
    by_head: dict[Head, ByTag] = {}
    met: dict[Head, Meetings] = {}
    for layer, head in chosen:
        look = partial(
            tagged_attention, classifier.model, classifier.tokenizer, texts, tagged,
            Attention(layer, head, mean=not sums), classifier.max_length,
        )  # fmt: skip
        with cannot(f"analyse {model}"):
            tokens = look()
            by_head[layer, head] = (look(words=True) if words else tokens).by_tag()
        # AttentionMix mixes token by token, whatever is summed for the table.
        met[layer, head] = meetings(tokens, np.random.default_rng(seed).permutation(len(texts)))
    title = f"{counted(len(texts), 'text')} of {Path(data).name}: attention relative to the head's mean"
    Console().print(head_table(by_head, title))
    first, rows = chosen[0], [values_of_head(head, by_head[head], met[head]) for head in chosen]
    heights = {named(head): by_tag.relative for head, by_tag in by_head.items()}
    draw_bars = partial(bars, tags=by_head[first].tags, heads=heights, title="Attention by part of speech")
    with whole_folder(output) as folder:
        (folder / "pos.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
        save(draw_bars, folder / "pos")
        save(partial(meeting_map, met=met[first], title=named(first)), folder / "meetings", size=(7.5, 6.5))
    say(f"saved: {output}/pos.json, pos.png and meetings.png, both also as svg")


@app.command(cls=Command)
def channels(
    model: options.Model,
    data: Annotated[str, Argument(help="Labelled texts, usually the training texts.")],
    ratio: Annotated[float, Option(help="Part of the channels, lambda.")] = 0.1,
    top: Annotated[int, Option(min=1, help="Channels listed of a class.")] = 3,
    sentence: Annotated[str | None, Option(help="Text whose patches are drawn.  [default: none]")] = None,
    most: Annotated[int | None, Option(help="Read only the first texts.  [default: all]")] = None,
    text: options.Text = None,
    text_pair: options.TextPair = None,
    label: options.Label = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    device: options.Device = "auto",
    output: Annotated[Path, Option(help="Folder to write.")] = Path("channels"),
    overwrite: options.Overwrite = False,
) -> None:
    """How often each channel matters to each class, and the words it reacts to (DropMix, section 5.7)."""
    import numpy as np

    from salience.classify import load
    from salience.classify.classifier import with_one_label
    from salience.cli.rows import cannot, check_model_and_data, labelled_texts
    from salience.data.labels import visible
    from salience.data.values import well_formed
    from salience.files import check_folder, input_first, whole_folder
    from salience.papers.dropmix.channels import draw_importance, draw_patches, kept_patches, scan_channels
    from salience.report.pictures import numbers, save
    from salience.report.terminal import say
    from salience.runs.folder import trained_columns

    columns = {"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}
    if not 0 < ratio < 1:
        raise InputError(f"--ratio is a part of the channels, between 0 and 1, not {ratio}")
    with input_first(lambda: check_model_and_data([model], data, columns)):
        check_folder(output, overwrite)
    if sentence is not None:
        # Command-line arguments that are not UTF-8 contain lone surrogates, which no tokenizer accepts.
        sentence = well_formed(sentence)
        if not visible(sentence):
            raise InputError("--sentence has no words: give a text whose patches are drawn")
    classifier = load(model, max_length, device)
    with_one_label(classifier, "salience analyse channels", model)
    labels = classifier.labels
    texts = labelled_texts(data, labels, trained_columns(model), most, columns)
    with cannot(f"analyse {model}"):
        scanned = scan_channels(classifier.model, classifier.encode(texts), ratio)
    found = scanned.importance(len(labels))
    if not np.nan_to_num(found).any():
        width = found.shape[1]
        raise InputError(f"--ratio {ratio} selects none of the {width} channels: give at least {1 / width:.2g}")
    tokenizer = classifier.tokenizer

    def tokens_of(counts: Counter[int]) -> dict[str, int]:
        return {str(tokenizer.convert_ids_to_tokens(id)): count for id, count in counts.most_common(WORDS)}

    words = {
        labels[each]: {str(channel): tokens_of(counts) for channel, counts in leading.items()}
        for each, leading in scanned.leading(len(labels), top).items()
    }
    for name, leading in words.items():
        for channel, counts in leading.items():
            say(f"{name}, channel {channel}: " + " ".join(counts))
    importance = dict(zip(labels, map(numbers, found), strict=True))
    values = {"texts": len(texts), "ratio": ratio, "importance": importance, "contributed": words}
    with whole_folder(output) as folder:
        (folder / "channels.json").write_text(
            json.dumps(values, ensure_ascii=False, indent=1), encoding="utf-8", errors="backslashreplace"
        )
        draw = partial(draw_importance, importance=found, preference=scanned.preference(len(labels)), labels=labels)
        save(draw, folder / "channels", size=(9, 6.5), panels=(2, 1))
        if sentence is not None:
            tokens, kept = kept_patches(classifier, sentence, ratio)
            save(partial(draw_patches, tokens=tokens, kept=kept), folder / "patches", size=(11, 7), panels=(2, 2))
    say(f"saved: {output}/channels.json, channels.png" + ("" if sentence is None else ", patches.png"))


@app.command(cls=Command)
def embeddings(
    model: options.Model,
    data: Annotated[str, Argument(help="Labelled texts that it was not trained on.")],
    beside: Annotated[list[str] | None, Option(help="Another classifier to compare; repeatable.")] = None,
    most: Annotated[int, Option(help="Texts, drawn at random, at most.")] = 1000,
    text: options.Text = None,
    text_pair: options.TextPair = None,
    label: options.Label = None,
    encoding: options.Encoding = "utf-8",
    max_length: options.MaxLength = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    output: Annotated[Path, Option(help="Folder to write.")] = Path("embeddings"),
    overwrite: options.Overwrite = False,
) -> None:
    """t-SNE maps of texts, and the silhouette of the classes before the projection (VAT, Figures 3 and 6)."""
    import numpy as np

    from salience.classify import load
    from salience.classify.classifier import with_one_label
    from salience.cli.rows import check_model_and_data, labelled_texts
    from salience.files import check_folder, input_first, whole_folder
    from salience.papers.vat.representations import TextMap, draw_maps, map_of, representations, silhouette
    from salience.report.pictures import save
    from salience.report.terminal import say
    from salience.runs.folder import trained_columns

    if most < 1:
        raise InputError(f"--most must be at least 1, not {most}")
    names = [model, *(beside or [])]
    columns = {"text": text, "text_pair": text_pair, "label": label, "encoding": encoding}
    with input_first(lambda: check_model_and_data(names, data, columns)):
        check_folder(output, overwrite)
    classifiers = [load(name, max_length, device) for name in names]
    labels = classifiers[0].labels
    for name, classifier in zip(names, classifiers, strict=True):
        with_one_label(classifier, "salience analyse embeddings", name)
        if classifier.labels != labels:
            raise InputError(
                f"{name} knows the labels {listed(classifier.labels)}, but {model} {listed(labels)}: they must be the "
                "same to be compared"
            )
    texts = labelled_texts(data, labels, trained_columns(model), None, columns)
    texts = texts.take(np.sort(np.random.default_rng(seed).permutation(len(texts))[:most]))
    gold = texts.known_labels
    maps, rows = [], []
    for name, classifier in zip(names, classifiers, strict=True):
        vectors = representations(classifier.model, classifier.encode(texts))
        try:
            value = silhouette(vectors, gold)
        except ValueError as error:
            source = f"{counted(len(texts), 'text')} of {data}"
            raise InputError(f"{source}: there is no silhouette; take more texts or classes ({error})") from error
        points, short = map_of(vectors, seed), Path(name).name
        maps.append(TextMap(f"{short}: silhouette {value:.3f}", points))
        rows.append({
            "model": short, "texts": len(texts), "width": vectors.shape[1], "silhouette": value,
            "map": points.round(3).tolist(),
        })  # fmt: skip
        say(f"{name}: silhouette {value:.3f} over {len(texts)} texts")
    described = [
        f"row {row}, {labels[label]}: {text}"
        for row, label, text in zip(texts.rows or [], gold, texts.texts, strict=True)
    ]
    draw = partial(draw_maps, maps=maps, gold=gold, labels=labels, texts=described)
    with whole_folder(output) as folder:
        (folder / "embeddings.json").write_text(
            json.dumps({"labels": labels, "gold": gold.tolist(), "models": rows}), encoding="utf-8"
        )
        save(draw, folder / "embeddings", size=(5.2 * len(names) + 2, 5), panels=(1, len(names)))
    say(f"saved: {output}/embeddings.json, embeddings.png, embeddings.svg")
