"""Whatever is wrong with the input is one clear line on standard error and exit code 2, and nothing is lost."""

import errno
import sys

import pytest
import torch

from labelled import labelled_rows, write_csv

ROWS = labelled_rows(60)


def refused(answer, *parts: str) -> None:
    assert answer.code == 2, answer
    assert answer.err.startswith("salience: ")
    assert answer.err.count("\n") == 1, answer.err
    for part in parts:
        assert part in answer.err
    assert "Traceback" not in answer.err


@pytest.fixture
def train(place, salience, tmp_path):
    """Tries to train on a file with these bytes or rows; whatever happens, no output folder may be left."""

    def run(content, *options, name="data.csv"):
        data = tmp_path / name
        if isinstance(content, bytes):
            data.write_bytes(content)
        elif content is not None:
            write_csv(data, content)
        answer = salience(*place.train("--output", tmp_path / "run", *options, data=data))
        if answer.code:
            assert not (tmp_path / "run").exists()
        return answer

    return run


def test_missing_file(train, tmp_path):
    write_csv(tmp_path / "date.csv", ROWS)
    refused(train(None), "data.csv: no such file", 'Did you mean "date.csv"?')


def test_a_retired_option_says_what_to_do_instead(train, tmp_path):
    for option, instead in (("--unlabelled", "salience distill"), ("--plain-share", "--model FOLDER"),
                            ("--auto-budget", "salience compare"), ("--r-drop", "--set contrastive")):  # fmt: skip
        refused(train(ROWS, option, "1"), f"{option} is no longer offered", instead)
    refused(train(ROWS, "--method", "plain+ssmix"), "--method plain+ssmix", "--model FOLDER")
    config = tmp_path / "settings.yaml"
    config.write_text("unlabelled: more.csv\nunlabelled_ratio: 3\n")
    refused(train(ROWS, "--config", config), "settings.yaml", "unlabelled=more.csv", "salience distill")


def test_missing_column(train):
    refused(train(ROWS, "--label", "lable"), 'no column "lable"', '"text", "label"', 'Did you mean "label"?')


def test_empty_file(train):
    refused(train(b""), "data.csv: the file is empty")


def test_header_only(train):
    refused(train(b"text,label\n"), "data.csv: no rows")


def test_ragged_row(train):
    refused(train(b"text,label\na,b\nc,d,e\n"), "data.csv: line 3 has 3 fields, but the header has 2")


def test_not_utf_8(train):
    refused(train("text,label\ngut,a\ncafé,b\n".encode("latin-1")), "line 3, byte offset 20", "--encoding")


@pytest.mark.parametrize("row, column", [(("", "sport"), "text"), (("  ", "sport"), "text"), (("a", ""), "label")])
def test_empty_text_or_label(train, row, column):
    answer = train([*ROWS, row])
    refused(answer, f'1 in "{column}" (row 61)', "--bad-rows skip")


def test_bad_rows_can_be_left_out(train):
    answer = train([*ROWS, ("", "sport")], "--bad-rows", "skip")
    assert answer.code == 0
    assert "left out 1 row of 61" in answer.out


def test_one_class_only(train):
    refused(train([(text, "sport") for text, _ in ROWS]), 'the only label is "sport"')


def test_a_class_with_too_few_rows_to_split(train):
    rows = [*ROWS, ("a dog", "pets")]
    refused(
        train(rows, "--set", "validation_share=0.2"),
        'a single row of a class is too few to split: "pets"',
        "--validation FILE",
    )


def test_labels_that_training_never_saw(train, tmp_path):
    test = write_csv(tmp_path / "test.csv", [("a dog", "pets"), ("a cup", "sport")])
    refused(train(ROWS, "--test", test), "test.csv", '"pets" (1 time: row 1)', "training never saw")


def test_labels_that_differ_in_case_only_are_warned_of(train):
    answer = train([*ROWS, ("the team", "Sport"), ("the cup", "Sport")])
    assert answer.code == 0
    assert 'the labels "Sport" (2 rows), "sport" (20 rows) differ only in case or space' in answer.out


def test_rows_shared_by_training_and_test_are_counted(train, tmp_path):
    test = write_csv(tmp_path / "test.csv", [*ROWS[:4], *labelled_rows(6, seed=9)])
    answer = train(ROWS, "--test", test)
    assert answer.code == 0
    assert "4 of 10 test rows are in " in answer.out


def test_texts_longer_than_the_model_reads_are_counted(train):
    answer = train([*ROWS, ("very " * 300, "sport")], "--set", "validation_share=0")
    assert answer.code == 0
    told = "1.6% of the training texts are cut: they are longer than 64 tokens, and "
    tokens = sum(2 + len(text.split()) for text, _ in ROWS) + 302  # each word is one
    assert f"{told}{238 / tokens:.1%} of all tokens are not read; --long windows reads them too" in answer.out


def test_a_list_of_labels_among_single_ones_is_refused(train):
    refused(train([*ROWS, ("a", '["sport", "food"]')]), "row 1,", "is no list, and other rows have lists")


def test_unknown_method(train):
    refused(train(ROWS, "--method", "ssmx"), 'unknown method "ssmx"', 'Did you mean "ssmix"?')


def test_unknown_option_of_a_method(train):
    refused(
        train(ROWS, "--method", "ssmix:windw=0.2"),
        'unknown option of ssmix "windw"',
        'Did you mean "window"?',
    )


BAD_FIELDS = {  # method: a field of it as a user may write it, and what the line asks for
    "ssmix": ("window=7", "a number from 0 to 1"),
    "ssmix-nospan": ("window=wide", "a number from 0 to 1"),
    "randomunk": ("window=-0.1", "a number from 0 to 1"),
    "wordmixup": ("alpha=-1", "a number above 0"),
    "tmix": ("alpha=0", "a number above 0"),
    "embedmix": ("largest=3", "true or false"),
    "senmixup": ("ratio=1.5", "a number from 0 to 1, or null"),
    "dropoutmixup": ("dropout=1", "a number from 0 to below 1"),
    "dropmix-u": ("alpha=no", "a number above 0"),
    "dropmix-g": ("height=[5,2]", "a whole number from 1 on"),
    "dropmix-w": ("height=0", "a whole number from 1 on, or two between which it is drawn, or null"),
    "attentionmix": ("layer=1.5", "a whole number"),
}


STRANGE_FIELDS = [  # method, a field of it, and what the line says
    ("tmix", "levels=1", "levels=1: give a list of levels"),
    ("tmix", "levels=[]", "levels=(): give a list of levels"),
    ("tmix", "levels=[[1]]", "[[1]]}: give names with a value each, or with a list of values"),
    ("tmix", "levels=[99]", "has no level 99"),
    ("tmix", "levels=[1,1,1,1,1,1,99]", "has no level 99"),  # whichever of them the first step draws
    ("tmix", "levels=[tokens]", "levels=('tokens',): give a list of levels above the tokens"),
    ("attentionmix", "level=tokens", "level='tokens': give the name of a level above the tokens"),
    ("attentionmix", "level=true", "level=True: give the name of a level"),
    ("attentionmix", "head=0.5", "head=0.5: give a head's number or auto, or null"),
    ("attentionmix", "head=[1]", "head=(1,): give a head's number or auto, or null"),
    ("attentionmix", "head=99", "has the heads 0 to 1 in a layer, not 99"),
    ("attentionmix", "layer=99", "has the layers 0 to 1, not 99"),
    ("randomunk", "unknown=-1", "unknown=-1: give a whole number from 0 to"),
    ("randomunk", "unknown=100000", "unknown=100000: the model's tokens are numbered from 0 to 112"),
    ("dropmix-u", "width=1000", "width=1000 is wider than the representation, whose width is 16"),
    ("dropmix-c", "direction=[keep]", "direction=('keep',): give replace or keep"),
]


def test_a_field_that_does_not_fit_the_model(train):
    for method, given, said in STRANGE_FIELDS:
        refused(train(ROWS, "--method", f"{method}:{given}"), said)


def test_a_field_that_a_method_does_not_take(train):
    for method, (given, wanted) in BAD_FIELDS.items():
        refused(train(ROWS, "--method", f"{method}:{given}"), f"--method {method}: {given.split('=')[0]}=", wanted)


def test_a_batch_that_cannot_be_cut_leaves_nothing_behind(train, tmp_path):
    refused(train(ROWS, "--set", "accumulation=3"), "--batch-size 16 cannot be divided into 3 equal parts")
    assert [file.name for file in tmp_path.iterdir()] == ["data.csv"]


def test_option_without_value(train):
    refused(train(ROWS, "--set", "window"), "--set window: write it as field=value")


def test_unknown_option(salience):
    refused(salience("train", "x.csv", "--methd", "ssmix"), "No such option: --methd", "--method")


def test_unknown_command(salience):
    refused(salience("trian"), "No such command 'trian'", "train")


def test_a_number_that_is_none(salience):
    refused(salience("train", "x.csv", "--steps", "many"), "Invalid value for '--steps'")


@pytest.mark.parametrize("command", ["predict", "compare", "analyse", "explain", "faithfulness", "reproduce"])
def test_several_processes_are_for_training(command, salience, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused(salience(command, "data.csv"), f"salience {command} runs in a single process", "without torchrun")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert "torchrun" not in salience(command, "data.csv").err


def test_unknown_model(place, salience, tmp_path):
    for model, message in (("./nowhere", "no model at ./nowhere"), ("minlm", 'Did you mean "minilm"?')):
        refused(salience("train", place.data, "--model", model, "--output", tmp_path / "run"), message)
        assert not (tmp_path / "run").exists()


def test_unknown_setting_in_a_config(place, salience, tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text("data: x.csv\nmehtod: ssmix\n")
    refused(salience("train", "--config", config), "unknown setting in", '"mehtod"', 'Did you mean "method"?')
    config.write_text("data: x.csv\nsteps: 3\nsteps: 4\n")
    refused(salience("train", "--config", config), 'is not yaml: "steps" is there twice at line 3, column 1')
    config.write_text("data: [unclosed\n")
    refused(salience("train", "--config", config), "is not yaml")
    refused(salience("train", "--config", tmp_path / "none.yaml"), "cannot read --config")
    refused(salience("train"), "no data named")


def test_output_folder_exists(place, salience, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("years of work")
    refused(salience(*place.train("--output", tmp_path / "run")), "exists: choose another --output")
    refused(salience(*place.train("--output", tmp_path / "run", "--overwrite")), "is not a run of salience")
    assert (tmp_path / "run" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "No space left on device", "model.safetensors"),
    pytest.param(RuntimeError("I/O error: No space left on device (os error 28)"), marks=pytest.mark.whole),
])  # fmt: skip
def test_disk_full_while_writing(place, salience, tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("salience.runs.results.write_lines", fail)
    output = tmp_path / "run"
    command = place.train("--estimate", "folds:2", "--output", output)
    refused(salience(*command), "the disk is full", "--resume")
    assert not output.exists()
    monkeypatch.undo()
    assert salience(*command, "--resume").code == 0  # nothing was lost
    assert (output / "out_of_fold.jsonl").is_file()


@pytest.mark.parametrize("error", [FileNotFoundError("No such file or directory: model.safetensors"),
                                   Exception("model.safetensors: Permission denied (os error 13)")])  # fmt: skip
def test_a_file_that_the_system_refuses(place, salience, tmp_path, monkeypatch, error):
    """safetensors and tokenizers say so of a file that they may not open, without the name's attribute."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("salience.training.estimate.fit", fail)
    refused(salience(*place.train("--output", tmp_path / "run")), "model.safetensors", "run again")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_cuda_asked_for_and_absent(place, salience, tmp_path):
    refused(salience("train", place.data, "--device", "cuda", "--output", tmp_path / "run"), "no CUDA device")
    refused(salience("predict", place.model, place.data, "--device", "cuda"), "no CUDA device")


def test_an_internal_fault_is_one_line_unless_asked(place, salience, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("salience.training.task.read_task", fail)
    answer = salience(*place.train())
    assert answer.code == 1
    assert "internal fault" in answer.err and "ZeroDivisionError" in answer.err and answer.err.count("\n") == 1
    with pytest.raises(ZeroDivisionError):
        salience(*place.train("--debug"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "x.csv", "--lr", "0.1"), "--lr is no option of salience train: write --learning-rate"),
        (("predict", "run", "x.csv", "-o", "y.csv"), "-o is no option of salience predict: write --output"),
        (("train", "--data", "x.csv"), "a file stands behind the command, without a name"),
    ],
)
def test_options_of_other_programs(arguments, said, salience):
    refused(salience(*arguments), said)


def test_arguments_that_were_swapped_or_mistyped(run, place, salience):
    refused(salience("predict", place.data, run), f"{run}: this is the folder of a model", "swapped")
    refused(salience("predict", run.with_name("rum"), place.data), f'Did you mean "{run}"?')
    refused(salience("predict", place.folder, place.data), "holds some: name one of", f'"{run}"')
    for command in (["report"], ["thresholds"], ["audit", place.data, "--run"]):
        refused(salience(*command, run.with_name("rum")), "rum is no run: name a folder", f'Did you mean "{run}"?')
        refused(salience(*command, place.folder), "is no run, but holds some: name one of", f'"{run}"')


def test_the_version_by_a_command(salience):
    assert salience("version").out == salience("--version").out != ""


COMMANDS = ["train", "encoders", "predict", "export", "compare", "explain", "faithfulness", "methods", "reproduce",
            "correct", "demo", "demo-data", "report", "test", "thresholds", "audit", "analyse",
            *(f"analyse {own}" for own in ("attention", "pos", "channels", "embeddings"))]  # fmt: skip


@pytest.mark.parametrize("command", [[], ["analyse"]], ids=" ".join)
def test_a_command_alone_shows_its_help_line_by_line(salience, command):
    answer = salience(*command)
    assert answer.code == 2 and answer.out == ""
    assert answer.err.startswith("Usage: salience") and len(answer.err.splitlines()) > 8


def test_help_names_every_command(salience):
    listed = salience("--help").out + salience("analyse", "--help").out
    assert all(f"  {command.split()[-1]} " in listed for command in COMMANDS)


def test_a_package_that_cannot_be_imported(place, salience, monkeypatch):
    monkeypatch.setitem(sys.modules, "captum.attr", None)  # installed in part
    answer = salience("explain", place.model, "--text", "a cup", "--explainer", "captum:Saliency", "--device", "cpu")
    refused(answer, "a required package is missing or damaged", "captum.attr", "pip install")
