"""benchmarks/workloads/files.cpp with pandas and torchvision."""

import pathlib
import warnings

import torch
from torch.utils.data import DataLoader


def workloads(tools, folder):
    """By name.  Errors of libraries that are missing are those of their rows."""

    def csv():
        import pandas
        path = pathlib.Path(folder) / "table.csv"
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")  # nothing writes to it
        return tools.forward_only(lambda: torch.from_numpy(pandas.read_csv(path).to_numpy(dtype="float32")))

    def png():
        from torchvision.io import decode_image
        paths = sorted(map(str, (pathlib.Path(folder) / "images").glob("*/*.png")))
        return tools.forward_only(lambda: [decode_image(path) for path in paths][-1])

    def png_loader():
        from torchvision.datasets import ImageFolder
        from torchvision.io import decode_image
        images = ImageFolder(pathlib.Path(folder) / "images", loader=decode_image)
        loader = DataLoader(images, batch_size=tools.Settings.pick(8, 2), num_workers=2, persistent_workers=True)
        return tools.forward_only(lambda: [batch for batch, _ in loader][-1])

    return {"csv_100k": csv, "png": png, "png_loader": png_loader}
