"""tensorboard_test.py PROGRAM: TensorBoard and tbparse read back what PROGRAM (tensorboard_writer.cpp) has written.

Without them (pip install tensorboard tbparse) it is skipped, with status 77."""

import io
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import tensorboard
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2
    from tbparse import SummaryReader
except ImportError as missing:
    print(f"skipped: {missing}; pip install tensorboard tbparse")
    sys.exit(77)


def bins():
    v, positive = 1e-12, []
    while v < 1e20:
        positive.append(v)
        v *= 1.1
    return np.array([-x for x in reversed(positive)] + [0] + positive)


def same(got, want, what):
    if not np.array_equal(np.asarray(got), np.asarray(want)):
        sys.exit(f"{what}: {got} instead of {want}")


def scalars(events):
    same(sorted(events.Tags()["scalars"]), ["hparam/accuracy", "hparam/loss", "train/loss", "valid/accuracy"], "scalars")
    loss = events.Scalars("train/loss")
    same([e.step for e in loss], range(20), "steps")
    same([e.value for e in loss], np.float32([1 / (1 + i) for i in range(20)]), "train/loss")
    accuracy = [e.value for e in events.Scalars("valid/accuracy")]
    same(accuracy, np.float32([0.05 * i for i in range(20)]), "valid/accuracy")
    walls = [e.wall_time for e in loss]
    same(walls, sorted(walls), "wall times")


def histograms(events):
    for i, event in enumerate(events.Histograms("weights")):
        values, got = (np.arange(100) * 0.25 - 8) * (i + 1), event.histogram_value
        same([event.step, got.min, got.max, got.num, got.sum, got.sum_squares],
             [i, values.min(), values.max(), 100, values.sum(), values.dot(values)], "sums")
        counts, edges = np.histogram(values, bins())
        used = np.flatnonzero(counts)
        same(got.bucket, [0, *counts[used[0]:used[-1] + 1]], "buckets")
        same(got.bucket_limit, edges[used[0]:used[-1] + 2], "limits")
    same(i, 2, "histograms")


def images(events):
    rgb, grey = np.arange(60).reshape(3, 4, 5).transpose(1, 2, 0), np.arange(6).reshape(2, 3) * 51
    for name, want in (("rgb", rgb), ("grey", grey)):
        (event,) = events.Images(name)
        same([event.step, event.height, event.width], [7, *want.shape[:2]], name)
        same(np.array(Image.open(io.BytesIO(event.encoded_image_string))), want, name)


def texts(events):
    (event,) = events.Tensors("notes/text_summary")
    same(event.step, 2, "step of a text")
    same([s.decode() for s in event.tensor_proto.string_val], ["**ü** | a table"], "text")
    same(events.SummaryMetadata("notes/text_summary").plugin_data.plugin_name, "text", "plugin")


def hparams(events):
    def content(tag):
        return plugin_data_pb2.HParamsPluginData.FromString(events.SummaryMetadata(tag).plugin_data.content)

    experiment = content(metadata.EXPERIMENT_TAG).experiment
    types = {i.name: i.type for i in experiment.hparam_infos}
    if types != {"amp": 2, "batch_size": 3, "lr": 3, "optimizer": 1}:
        sys.exit(f"types: {types}")
    same([i.name.tag for i in experiment.metric_infos], ["hparam/accuracy", "hparam/loss"], "metrics")
    start = content(metadata.SESSION_START_INFO_TAG).session_start_info.hparams
    got = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.items()}
    if got != {"lr": 1e-3, "batch_size": 64, "optimizer": "adam", "amp": True}:
        sys.exit(f"hyperparameters: {got}")
    same(content(metadata.SESSION_END_INFO_TAG).session_end_info.status, 1, "status")


def graph(events):
    nodes = {node.name: node for node in events.Graph().node}
    conv, relu, fc = "Net/Sequential[features]/Conv2d[0]", "Net/Sequential[features]/ReLU[1]", "Net/Linear[fc]"
    same(list(nodes), ["input", conv, relu, fc, "output"], "nodes")
    same([n.op for n in nodes.values()], ["IO Node", "Conv2d", "ReLU", "Linear", "IO Node"], "types")
    same([list(nodes[n].input) for n in (conv, relu, fc, "output")], [["input"], [conv], [relu], [fc]], "edges")
    same([d.size for d in nodes[fc].attr["_output_shapes"].list.shape[0].dim], [2, 10], "shape")


def tbparse(folder):  # its images would need TensorFlow
    reader = SummaryReader(folder)
    loss = reader.scalars[reader.scalars["tag"] == "train/loss"]
    same(loss["value"], np.float32([1 / (1 + i) for i in range(20)]), "tbparse: train/loss")
    same(reader.histograms["step"], [0, 1, 2], "tbparse: histograms")
    same(reader.text["value"], ["**ü** | a table"], "tbparse: text")
    got = dict(zip(reader.hparams["tag"], reader.hparams["value"]))
    if got != {"lr": 1e-3, "batch_size": 64, "optimizer": "adam", "amp": True}:
        sys.exit(f"tbparse: hyperparameters {got}")


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True)
    events = EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0})
    events.Reload()
    for check in (scalars, histograms, images, texts, hparams, graph):
        check(events)
    tbparse(folder)
print(f"tensorboard {tensorboard.__version__} and tbparse read what was written")
