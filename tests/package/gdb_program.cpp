// A program for gdb: it prints tensors, which the printer must show in the same way.
#include <minnow/minnow.h>

#include <cstdio>

using namespace minnow;

struct Net : nn::Module {
  nn::Conv2d conv1 = child("conv1", nn::Conv2d(1, 2, 1, {.bias = false}));
  nn::Linear fc = child("fc", nn::Linear(2, 3));
  Tensor forward(const Tensor& x) override { return fc(conv1(x).flatten(1)); }
};

[[gnu::noinline]] void stop() { std::fflush(stdout); }

void tell(const char* name, const Tensor& tensor) { std::printf("tell %s\n%s\n", name, to_string(tensor).c_str()); }

int main() {
  const Tensor floats = tensor({{1.5, -2.25, 1e-5}, {3.0, 4.0, 5.0}});
  const Tensor whole = arange(6, {.dtype = float32}).reshape({2, 1, 3});
  const Tensor ints = tensor({{1, -20}, {300, 9007199254740993}});
  const Tensor small = arange(4, {.dtype = uint8}), signed_small = arange(-2, 2, 1, {.dtype = int8});
  const Tensor none;
  const Tensor nothing = zeros({2, 0}, {.dtype = int32});
  const Tensor turned = whole.reshape({2, 3}).t();
  const Tensor part = floats.select(1, 1);
  const Tensor mask = floats > 2;
  const Tensor number = full({}, 3.5);
  const Tensor edges = tensor({kInfinity, -kInfinity, std::nan(""), 2.5});
  const Tensor halves = floats.to(DType::float16), brains = floats.to(DType::bfloat16), doubles = floats.to(float64);
  const Tensor far = ints.to("sim:0"), far_turned = turned.to("sim:0").t();
  const Tensor large = arange(2000, {.dtype = float32}).reshape({4, 500});
  const Tensor wide = zeros({50, 50}) + 0.5;
  const Tensor leaf = ones({2}).requires_grad_();
  const Tensor result = leaf * 2;
  Net net;
  const Tensor &weight = net.conv1.weight, &bias = net.fc.bias, &no_bias = net.conv1.bias;
  const struct {
    const char* name;
    const Tensor& tensor;
  } all_of_them[] = {{"floats", floats},
                     {"whole", whole},
                     {"ints", ints},
                     {"small", small},
                     {"none", none},
                     {"nothing", nothing},
                     {"turned", turned},
                     {"part", part},
                     {"mask", mask},
                     {"number", number},
                     {"edges", edges},
                     {"halves", halves},
                     {"brains", brains},
                     {"doubles", doubles},
                     {"far", far},
                     {"far_turned", far_turned},
                     {"large", large},
                     {"wide", wide},
                     {"leaf", leaf},
                     {"result", result},
                     {"net.conv1.weight", weight},
                     {"net.fc.bias", bias},
                     {"net.conv1.bias", no_bias}};
  for (const auto& [name, tensor] : all_of_them) tell(name, tensor);
  stop();
  return 0;
}
