"""A file of ONNX from anyone: nothing outside its folder is read, and what cannot be read is one clear line."""

import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import families
from salience.classify.onnx_model import FILE, OnnxModel
from salience.errors import InputError

CONFIG = families.build("bert").config


def write(folder, location: str | None = None, inside: bool = False, inputs=("input_ids",), output="logits") -> None:
    """A model that adds one stored row to the ids: `location` is the file of the row, `inside` hides it in a node."""
    row = numpy_helper.from_array(np.arange(3, dtype=np.int64), "row")
    if location is not None:
        row.ClearField("raw_data")
        row.data_location = TensorProto.EXTERNAL
        row.external_data.add(key="location", value=location)
    nodes = [helper.make_node("Add", [inputs[0], "row"], [output])]
    if inside:
        nodes.insert(0, helper.make_node("Constant", [], ["row"], value=row))
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs]
    result = helper.make_tensor_value_info(output, TensorProto.INT64, ["batch", "tokens"])
    graph = helper.make_graph(nodes, "graph", values, [result], [] if inside else [row])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    (folder / FILE).write_bytes(model.SerializeToString())


def logits(folder):
    batch = families.batch([1])
    batch.input_ids[:] = 0
    return OnnxModel(folder, CONFIG).logits(batch).tolist()


def test_weights_in_the_folder_are_read(tmp_path):
    write(tmp_path)
    assert logits(tmp_path) == [[0, 1, 2]]
    (tmp_path / "weights").mkdir()
    np.array([5, 6, 7], np.int64).tofile(tmp_path / "weights" / "row")
    write(tmp_path, "weights/row")
    assert logits(tmp_path) == [[5, 6, 7]]


@pytest.mark.parametrize("inside", [False, True], ids=["stored", "in a node"])
@pytest.mark.parametrize("how", ["above", "absolute", "link"])
def test_weights_outside_the_folder_are_not_read(how, inside, tmp_path):
    folder = tmp_path / "export"
    folder.mkdir()
    secret = tmp_path / "secret"
    np.array([5, 6, 7], np.int64).tofile(secret)
    location = {"above": "../secret", "absolute": str(secret), "link": "link"}[how]
    if how == "link":
        (folder / "link").symlink_to(secret)
    write(folder, location, inside)
    with pytest.raises(InputError, match="outside its folder"):
        OnnxModel(folder, CONFIG)


def test_files_that_are_no_classifier(tmp_path):
    write(tmp_path, inputs=("pixels",))
    with pytest.raises(InputError, match='not a classifier of texts: it reads "pixels" and returns "logits"'):
        OnnxModel(tmp_path, CONFIG)
    write(tmp_path, output="boxes")
    with pytest.raises(InputError, match="not a classifier of texts"):
        OnnxModel(tmp_path, CONFIG)


@pytest.mark.parametrize("content", [b"", b"\x00\x01 no protobuf", onnx.ModelProto().SerializeToString()])
def test_damaged_files(content, tmp_path):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match="export the model again") as caught:
        OnnxModel(tmp_path, CONFIG)
    assert "\n" not in str(caught.value)


def test_a_package_that_is_missing(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"need the package onnxruntime: pip install 'onnx>="):
        OnnxModel(tmp_path, CONFIG)


def test_as_many_threads_as_torch(tmp_path, monkeypatch):
    write(tmp_path)
    for threads in (1, 3):
        monkeypatch.setattr("torch.get_num_threads", lambda threads=threads: threads)
        model = OnnxModel(tmp_path, CONFIG)
        assert model.threads == model.session.get_session_options().intra_op_num_threads == threads
