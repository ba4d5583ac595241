// The declarations before the statements of habits.txt.
#include <iostream>
#include <string>
#include <vector>
#include <minnow/distributions/distributions.h>
#include <minnow/minnow.h>
#include <minnow/tensorboard/tensorboard.h>
#include <minnow/text/text.h>
#include <minnow/vision/vision.h>

using namespace minnow;

struct Generator : nn::Module {};  // every GAN has one

struct Attention : nn::Module {
  Tensor forward(const Tensor& x, const Tensor& mask) { return where(mask, x, 0); }
  Tensor operator()(const Tensor& x, const Tensor& mask) { return forward(x, mask); }
};

struct Net : nn::Module {
  nn::Linear first = child("first", nn::Linear(3, 4));
  Attention attention = child("attention", Attention());

  Tensor forward(const Tensor& x) override { return where(first(x) > 0, first(x), 0.0); }
};

extern Tensor x, y, index, mask, leaf;
extern Device device;
extern float floats[4];
extern std::int64_t longs[4];
extern const float constants[4];
extern std::int32_t i;
extern std::size_t u;
extern Net net;
extern nn::Linear layer;
extern const nn::Linear constant;
extern nn::Sequential sequential;
extern optim::Adam adam;
extern data::DataLoader<data::TensorDataset<2>> loader;
extern data::TensorDataset<2> dataset;
