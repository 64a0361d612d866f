"""The labelled texts of a run, by the files that its recipe names."""

from labelled import labelled_rows, write_csv
from salience.files import write_whole
from salience.suggestions.files import texts_of_run
from salience.training.recipe import Recipe


def run_of(folder, **settings):
    """A folder that holds nothing but a recipe."""
    import yaml

    folder.mkdir()
    write_whole(folder / "recipe.yaml", yaml.safe_dump(Recipe(**settings).as_mapping()))
    return folder


def test_training_validation_and_test_rows(tmp_path):
    parts = {name: labelled_rows(12, seed=seed) for seed, name in enumerate(("data", "validation", "test"))}
    files = {name: str(write_csv(tmp_path / f"{name}.csv", rows)) for name, rows in parts.items()}
    found, measured, note = texts_of_run(run_of(tmp_path / "run", **files))
    assert note is None
    assert found == {(text,) for text, _ in parts["data"]}
    assert measured == {(text,) for name in ("validation", "test") for text, _ in parts[name]}


def test_only_the_rows_that_were_drawn(tmp_path):
    file = str(write_csv(tmp_path / "data.csv", labelled_rows(60)))
    found, _, note = texts_of_run(run_of(tmp_path / "run", data=file, size=12, validation_share=0.0))
    assert note is None and len(found) == 12


def test_rows_are_known_of_a_run_with_retired_settings(tmp_path):
    file = str(write_csv(tmp_path / "data.csv", labelled_rows(12)))
    folder = run_of(tmp_path / "run", data=file)
    with (folder / "recipe.yaml").open("a") as recipe:
        recipe.write(f"plain_share: 0.375\nunlabelled: {file}\n")
    found, _, note = texts_of_run(folder)
    assert note is None and len(found) == 12


def test_what_is_not_known_is_said(tmp_path):
    found, measured, note = texts_of_run(tmp_path)
    assert not found and not measured and "does not say which texts it was trained on" in note
    found, measured, note = texts_of_run(run_of(tmp_path / "run", data=str(tmp_path / "gone.csv")))
    assert not found and not measured and "cannot be read" in note and "gone.csv" in note


def test_the_texts_that_a_teacher_has_taught_with_are_not_labelled(tmp_path):
    parts = {name: labelled_rows(12, seed=seed) for seed, name in enumerate(("few", "many", "test"))}
    few, many, test = (str(write_csv(tmp_path / f"{name}.csv", rows)) for name, rows in parts.items())
    teacher = run_of(tmp_path / "teacher", data=few)
    student = {"data": many, "test": test, "teacher": str(teacher), "text": "text", "label": "label"}
    found, measured, note = texts_of_run(run_of(tmp_path / "run", **student))
    assert note is None
    assert found == {(text,) for text, _ in parts["few"]} and measured == {(text,) for text, _ in parts["test"]}
