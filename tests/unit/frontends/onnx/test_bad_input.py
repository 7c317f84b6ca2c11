"""What is said of files that are no ONNX models, and of models that break ONNX's rules."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import onnx
import pytest
from onnx import helper

import mlirtrt_nb as mt
from mlirtrt_nb.errors import InvalidModelError, MlirTrtError, SourceError
from mlirtrt_nb.frontends.onnx import from_onnx

from .onnx_models import F32, model, node


def zipped() -> bytes:
    """A small zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model.onnx", "x")
    return buffer.getvalue()


def refused(proto: onnx.ModelProto) -> str:
    """The message with which the model is refused: one error, a few short lines."""
    with pytest.raises(InvalidModelError) as caught:
        from_onnx(proto)
    message = str(caught.value)
    assert len(message) < 700 and message.count("\n") < 5
    return message


def test_missing_file(tmp_path):
    """The error names the path and near names in its folder."""
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(SourceError) as caught:
        mt.load(tmp_path / "modle.onnx")
    assert "modle.onnx" in str(caught.value) and "near names: model.onnx" in str(caught.value)


def test_folder(tmp_path):
    """A folder is refused, with the models in it."""
    (tmp_path / "a.onnx").write_bytes(b"")
    with pytest.raises(SourceError, match=r"is a folder(.|\n)*a\.onnx"):
        mt.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html>Not found</html>", "web page"),
        (zipped(), "zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "Git LFS"),
        (b"module { func.func @main() }", "text"),
        (b"hello, this is no model", "not a valid ONNX model|truncated"),
        (b"\x00" * 100, "not a valid ONNX model"),
        (np.random.default_rng(0).bytes(5000), "not a valid ONNX model|truncated"),
        (b"\x08\x07", "holds no graph"),
    ],
)
def test_files_of_other_kinds(tmp_path, content, said):
    """What is not an ONNX model is refused by what it is, with the path."""
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(InvalidModelError, match=said) as caught:
        mt.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_truncated_file(tmp_path, keep):
    """A file cut anywhere gives one error of the package's tree."""
    weights = {f"w{i}": np.ones(5000, np.float32) for i in range(4)}
    data = model([node("Sum", ["x", *weights], ["y"])], {"x": [5000]}, ["y"], weights).SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(MlirTrtError):
        mt.load(path)


def test_unknown_op():
    """An op that ONNX lacks: its node, and near names."""
    message = refused(model([node("Convolution", ["x"], ["y"], name="c1")], {"x": [1]}, ["y"]))
    assert "no op 'Convolution'" in message and "'c1'" in message and "near names: " in message


def test_op_of_a_newer_opset():
    """An op that came later than the model's opset: both versions."""
    message = refused(model([node("Gelu", ["x"], ["y"], name="g")], {"x": [1]}, ["y"], opset=17))
    assert "needs opset 20" in message and "imports 17" in message


def test_opset_newer_than_the_package():
    """An opset from the future: what is installed and what it knows."""
    message = refused(model([node("Relu", ["x"], ["y"])], {"x": [1]}, ["y"], opset=999))
    assert "opset 999" in message and onnx.__version__ in message


def test_unknown_domain():
    """A domain that nothing can run: the node and a remedy."""
    call = helper.make_node("Foo", ["x"], ["y"], name="f", domain="com.acme")
    message = refused(model([call], {"x": [1]}, ["y"], domains={"com.acme": 1}))
    assert "'com.acme'" in message and "'f'" in message and "local function" in message


def test_misspelt_domain():
    """A domain near to a known one is pointed out."""
    call = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsft")
    assert "com.microsoft" in refused(model([call], {"x": [1]}, ["y"], domains={"com.microsft": 1}))


def test_domain_that_is_not_imported():
    """A node of a domain of which the model imports no version."""
    call = helper.make_node("Scaler", ["x"], ["y"], name="s", domain="ai.onnx.ml")
    message = refused(model([call], {"x": [1]}, ["y"]))
    assert "imports no version" in message and "'s'" in message


def test_reading_a_tensor_that_does_not_exist():
    """The node, the input and near names."""
    nodes = [node("Relu", ["x"], ["hidden_state"]), node("Abs", ["hiden_state"], ["y"], name="a")]
    message = refused(model(nodes, {"x": [1]}, ["y"]))
    assert "node 'a' (Abs)" in message and "'hiden_state'" in message and "'hidden_state'" in message


def test_output_that_nobody_writes():
    """A graph output without a producer."""
    message = refused(model([node("Relu", ["x"], ["z"])], {"x": [1]}, ["y"]))
    assert "output 'y'" in message


def test_cycle():
    """Nodes that wait for each other are named."""
    nodes = [node("Add", ["x", "b"], ["a"], name="n1"), node("Relu", ["a"], ["b"], name="n2")]
    message = refused(model(nodes, {"x": [1]}, ["b"]))
    assert "cycle" in message and "'n1'" in message and "'n2'" in message


def test_two_nodes_that_write_one_tensor():
    """Both nodes are named."""
    nodes = [node("Relu", ["x"], ["y"], name="n1"), node("Abs", ["x"], ["y"], name="n2")]
    message = refused(model(nodes, {"x": [1]}, ["y"]))
    assert "written twice" in message and "'n1'" in message and "'n2'" in message


def test_checker_message_is_short_and_names_the_node():
    """What onnx.checker refuses is said in a line, with the node."""
    message = refused(model([node("Relu", ["x"], ["y"], name="r", bogus=1)], {"x": [1]}, ["y"]))
    assert "checker" in message and "'r'" in message and "bogus" in message


def test_missing_attribute():
    """A required attribute that is missing is named."""
    message = refused(model([node("Concat", ["x"], ["y"], name="c")], {"x": [1]}, ["y"]))
    assert "axis" in message and "'c'" in message


def test_axis_out_of_range():
    """An axis beyond the rank: node, axis and the allowed range."""
    message = refused(model([node("Flatten", ["x"], ["y"], name="f", axis=5)], {"x": [2, 3]}, ["y"]))
    assert "'f'" in message and "5" in message and "[-2, 2]" in message
    message = refused(model([node("Softmax", ["x"], ["y"], name="s", axis=2)], {"x": [2, 3]}, ["y"]))
    assert "'s'" in message and "[-2, 1]" in message


def test_dangling_name_in_a_subgraph():
    """A name that neither the subgraph nor what is around it has."""
    branch = helper.make_graph(
        [node("Relu", ["nowhere"], ["o"], name="inner")],
        "b",
        [],
        [helper.make_tensor_value_info("o", F32, None)],
    )
    nodes = [node("Cast", ["x"], ["c"], to=9), node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)]
    assert "'nowhere'" in refused(model(nodes, {"x": []}, ["y"]))


def test_wrong_argument_types():
    """What is no source at all is refused by its type, with what load takes."""
    with pytest.raises(SourceError, match=r"int(.|\n)*\.onnx"):
        mt.load(3)


def test_nothing_is_left_behind():
    """After a refusal, a good model loads as before."""
    refused(model([node("Nope", ["x"], ["y"])], {"x": [1]}, ["y"]))
    assert from_onnx(model([node("Relu", ["x"], ["y"])], {"x": [1]}, ["y"])).inputs[0].name == "x"


def test_window_larger_than_its_input():
    """A convolution whose window does not fit, with a Slice after it, is refused by name; ONNX's own inference
    would end the process at the Slice."""
    nodes = [node("Conv", ["x", "w"], ["c"], name="conv"), node("Slice", ["c", "s", "e"], ["y"])]
    weights = {"w": np.zeros((1, 1, 5, 5), np.float32), "s": np.array([0] * 4), "e": np.array([1] * 4)}
    message = refused(model(nodes, {"x": [1, 1, 1, 1]}, ["y"], weights))
    assert "'conv' (Conv)" in message and "negative dimension" in message


def test_negative_dimensions():
    """An initializer of negative size is refused; an input's negative dimension means that it is not known."""
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [-1, 2]}, ["y"], {"w": np.ones(2, np.float32)})
    assert from_onnx(proto).inputs[0].shape == (None, 2)
    proto.graph.initializer[0].dims[0] = -2
    assert "initializer 'w' has a negative dimension" in refused(proto)


def test_names_that_are_not_text():
    """Bytes that are no UTF-8 in a name give one error."""
    data = model([node("Relu", ["x"], ["y"], name="QQQQ")], {"x": [1]}, ["y"]).SerializeToString()
    with pytest.raises(InvalidModelError, match="not text"):
        from_onnx(data.replace(b"QQQQ", b"Q\xff\xfeQ"))


def mutated(proto, random):
    """A copy with one to three damages: nodes dropped or rewired, types, sizes and attributes changed."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    graph = copy.graph
    for _ in range(random.integers(1, 4)):
        victim = graph.node[random.integers(len(graph.node))]
        other = graph.node[random.integers(len(graph.node))]
        tensor = graph.initializer[random.integers(len(graph.initializer))]
        match random.integers(8):
            case 0:
                graph.node.remove(victim)
            case 1:
                victim.input[0] = other.output[0]
            case 2:
                victim.output[0] = other.output[0]
            case 3:
                victim.op_type = other.op_type
            case 4:
                tensor.dims[:1] = [int(random.choice([0, -1, 3, 2**40]))]
            case 5:
                tensor.data_type = int(random.integers(30))
            case 6:
                for attribute in victim.attribute[:1]:
                    attribute.type = int(random.integers(1, 15))
            case 7:
                for attribute in victim.attribute[:1]:
                    attribute.i = int(random.choice([-1, 0, 2**62]))
                    attribute.ints[:1] = [int(random.choice([-1, 0, 2**40]))] if attribute.ints else []
        if not graph.node:
            break
    return copy


@pytest.mark.parametrize("seed", range(40))
def test_damaged_models(seed):
    """A model damaged in its structure either imports and goes through the input passes, or gives one error."""
    nodes = [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[1, 1]),
        node("BatchNormalization", ["c", "g", "g", "g", "g"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("Shape", ["r"], ["s"]),
        node("Slice", ["s", "zero", "one"], ["b"]),
        node("Concat", ["b", "minus"], ["t"], axis=0),
        node("Reshape", ["r", "t"], ["f"]),
        node("Transpose", ["f"], ["q"], perm=[1, 0]),
        node("Softmax", ["q"], ["y"], axis=1),
    ]
    weights = {
        "w": np.ones((4, 3, 3, 3), np.float32),
        "g": np.ones(4, np.float32),
        "zero": np.array([0]),
        "one": np.array([1]),
        "minus": np.array([-1]),
    }
    proto = mutated(model(nodes, {"x": [1, 3, 8, 8]}, ["y"], weights), np.random.default_rng(seed))
    try:
        program = from_onnx(proto)
        passes = "specialize-shapes,onnx-eliminate-identity,onnx-fold-constants,fold-batch-norm"
        assert mt.Pipeline.parse(passes).run(program).program.module.operation.verify()
    except MlirTrtError as error:
        assert len(str(error)) < 900


def test_a_declared_type_that_is_not_the_nodes_own():
    """An output declared as another element type than its node gives is named, with both types."""
    proto = model([node("Add", ["x", "x"], ["y"])], {"x": [2]}, ["y"])
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert "declares 'y' as INT64, but it is made as FLOAT" in refused(proto)
