// Writes a run that tensorboard_test.py reads: tensorboard_writer FOLDER.
#include <minnow/minnow.h>
#include <minnow/tensorboard/tensorboard.h>

using namespace minnow;

namespace {

struct Net : nn::Module {
  nn::Sequential features = child("features", nn::Sequential(nn::Conv2d(1, 4, 3), nn::ReLU()));
  nn::Linear fc = child("fc", nn::Linear(4 * 6 * 6, 10));
  Tensor forward(const Tensor& x) override { return fc(features(x).flatten(1)); }
};

}  // namespace

int main(int, char** argv) {
  tensorboard::Writer writer(argv[1]);
  for (int step = 0; step < 20; ++step) {
    writer.add_scalar("train/loss", 1.0 / (1 + step), step);
    writer.add_scalar("valid/accuracy", tensor(0.05 * step), step);
  }
  for (int step = 0; step < 3; ++step)
    writer.add_histogram("weights", (arange(100) * 0.25 - 8) * static_cast<double>(step + 1), step);
  writer.add_image("rgb", arange(3 * 4 * 5).reshape({3, 4, 5}).to(uint8), 7);
  writer.add_image("grey", arange(6).reshape({2, 3}) / 5.0, 7);
  writer.add_text("notes", "**ü** | a table", 2);
  writer.add_hparams({{"lr", 1e-3}, {"batch_size", 64}, {"optimizer", "adam"}, {"amp", true}},
                     {{"hparam/accuracy", 0.75}, {"hparam/loss", 0.5}});
  writer.add_graph(Net(), zeros({2, 1, 8, 8}));
  writer.flush();
  return 0;
}
