// Times functions of minnow for sweep.py: a line of JSON for each line of standard input.
//   prepare NAME forward|backward DTYPE COUNT NUMBER... COUNT (KIND PARAMETER SHAPE LAYOUT DTYPE GRAD)...
//   run COUNT THREADS

#include "sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <minnow/tensor/runtime/threads.h>
#include "harness/harness.h"

namespace sweep {
namespace {

DType dtype_of(const std::string& name) {
  for (int i = 0; i < minnow::kDTypeCount; ++i) {
    if (minnow::name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  throw std::runtime_error("there is no dtype " + name);
}

Shape shape_of(const std::string& text) {
  Shape shape;
  std::istringstream parts(text == "-" ? "" : text);
  for (std::string size; std::getline(parts, size, 'x');) shape.push_back(std::stoll(size));
  return shape;
}

struct Spec {
  std::string kind;
  double parameter = 0;
  Shape shape;
  std::string layout;
  DType dtype = DType::float32;
};

/// An element from its hash u in [-1, 1); benchmarks/pytorch/sweep.py has the same formulas.
double element(const Spec& s, double u, std::int64_t i) {
  const bool whole = minnow::is_integral(s.dtype);
  const std::int64_t last = s.shape.empty() ? 1 : s.shape.back();
  const double column = static_cast<double>(i % std::max<std::int64_t>(last, 1));
  if (s.kind == "any") {
    if (s.dtype == DType::bool_) return u > 0;
    return !whole ? 2 * u : s.dtype == DType::uint8 ? std::trunc(200 * std::abs(u)) : std::trunc(100 * u);
  }
  if (s.kind == "pos") return whole ? 1 + std::trunc(10 * std::abs(u)) : 1.1 + u;
  if (s.kind == "nonzero") return whole ? 1 + std::trunc(10 * std::abs(u)) : u + (u < 0 ? -0.5 : 0.5);
  if (s.kind == "unit") return 0.95 * u;
  if (s.kind == "prob") return 0.5 + 0.45 * u;
  if (s.kind == "above1") return 2.1 + u;
  if (s.kind == "logp") return -2.1 + 2 * u;
  if (s.kind == "small") return 0.1 * u;
  if (s.kind == "near1") return 1 + 0.01 * u;
  if (s.kind == "index") return std::min(std::floor((u + 1) / 2 * s.parameter), s.parameter - 1);
  if (s.kind == "mask") return u > 0;
  if (s.kind == "sign") return u > 0 ? 1 : -1;
  if (s.kind == "sorted") return whole ? 2 * column : (column + 0.5) / static_cast<double>(last) * 4 - 2;
  if (s.kind == "perm") return static_cast<double>(i * 7919 % last);
  if (s.kind == "place") {  // in each image, one in each window of `parameter` elements
    std::int64_t image = 1;
    for (int d = 2; d < s.shape.rank(); ++d) image *= s.shape[d];
    return static_cast<double>(i % image) * s.parameter;
  }
  if (s.kind == "const") return s.parameter;
  throw std::runtime_error("there is no kind " + s.kind);
}

/// Matrices with eigenvalues around 2: symmetric ones, or any.
void make_matrices(std::vector<float>& values, const Shape& shape, bool symmetric) {
  const auto n = static_cast<std::size_t>(shape.back());
  const double scale = 1 / std::sqrt(static_cast<double>(n));
  for (std::size_t at = 0; at < values.size(); at += n * n) {
    const std::vector<float> u(values.begin() + static_cast<std::ptrdiff_t>(at),
                               values.begin() + static_cast<std::ptrdiff_t>(at + n * n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double own = symmetric ? (double{u[i * n + j]} + double{u[j * n + i]}) / 2 : double{u[i * n + j]};
        values[at + i * n + j] = static_cast<float>(own * scale + (i == j ? 2 : 0));
      }
    }
  }
}

Tensor laid_out(const Tensor& x, const std::string& layout) {
  const auto rank = static_cast<int>(x.dim());
  if (layout == "t") return x.transpose(-1, -2).contiguous().transpose(-1, -2);
  if (layout == "n") {
    Shape to{0}, back{0, rank - 1};
    for (int d = 2; d < rank; ++d) to.push_back(d);
    to.push_back(1);
    for (int d = 1; d < rank - 1; ++d) back.push_back(d);
    return x.permute(to).contiguous().permute(back);
  }
  if (layout == "s") return minnow::stack({x, x}, -1).select(-1, 0);
  if (layout == "b") return x.narrow(0, 0, 1).clone().expand(x.shape());
  return x;
}

Tensor input(const Spec& s, std::uint32_t seed) {
  std::vector<float> values = bench::numbers(seed, s.shape.numel());
  if (s.kind == "spd" || s.kind == "well") make_matrices(values, s.shape, s.kind == "spd");
  else
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(element(s, double{values[i]}, static_cast<std::int64_t>(i)));
  return laid_out(minnow::tensor(values).reshape(s.shape).to(s.dtype), s.layout);
}

/// What `prepare` has left for `run`.
struct State {
  Prepared function;
  Tensors leaves, grad_outputs;
  bool backward = false;
};

Tensors with_grad(const Tensors& outputs) {
  Tensors found;
  std::copy_if(outputs.begin(), outputs.end(), std::back_inserter(found),
               [](const Tensor& x) { return x.requires_grad(); });
  return found;
}

/// One step: the results, and the gradients behind them.
Tensors step(State& state) {
  Tensors out = state.function.step();
  if (!state.backward) return out;
  const Tensors differentiable = with_grad(out);
  if (state.grad_outputs.empty()) {
    for (const Tensor& x : differentiable) {
      const auto seed = static_cast<std::uint32_t>(900 + state.grad_outputs.size());
      state.grad_outputs.push_back(minnow::tensor(bench::numbers(seed, x.numel())).reshape(x.shape()).to(x.dtype()));
    }
  }
  const Tensors gradients =
      minnow::grad(differentiable, state.leaves, {.allow_unused = true, .grad_outputs = state.grad_outputs});
  out.insert(out.end(), gradients.begin(), gradients.end());
  return out;
}

/// Mean and mean magnitude of up to 997 elements of each tensor.
std::string digest(const Tensors& tensors) {
  std::string text;
  for (const Tensor& t : tensors) {
    if (!t.defined() || t.numel() == 0) continue;
    const Tensor x = t.detach().to(minnow::float64).contiguous();
    const std::int64_t count = std::min<std::int64_t>(997, x.numel());
    double sum = 0, size = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const double value = x.data<double>()[k * x.numel() / count];
      sum += value;
      size += std::abs(value);
    }
    for (const double value : {sum, size}) {
      char number[40] = "null";
      if (std::isfinite(value)) std::snprintf(number, sizeof number, "%.9g", value / static_cast<double>(count));
      text += (text.empty() ? "" : ", ") + std::string(number);
    }
  }
  return text;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The parameters of a layer by formula, in the order of their names.
void set_parameters(State& state, DType dtype) {
  minnow::nn::Module& layer = *state.function.layer;
  layer.to(dtype);
  std::map<std::string, Tensor> sorted;
  for (const auto& [name, value] : layer.named_parameters()) sorted.emplace(name, value);
  std::uint32_t seed = 500;
  for (auto& [name, value] : sorted) {
    const minnow::NoGradGuard guard;
    minnow::copy_(value.detach(), minnow::tensor(bench::numbers(seed++, value.numel(), 0.1)).reshape(value.shape()));
    if (state.backward) state.leaves.push_back(value);
  }
}

std::string prepare(std::istream& words, State& state) {
  std::string name, direction, dtype;
  std::size_t count = 0;
  words >> name >> direction >> dtype >> count;
  state = State();
  state.backward = direction == "backward";
  Inputs inputs{{}, Numbers(count), dtype_of(dtype)};
  for (std::int64_t& number : inputs.numbers) words >> number;
  words >> count;
  for (std::size_t i = 0; i < count; ++i) {
    Spec s;
    std::string shape, own;
    int grad = 0;
    words >> s.kind >> s.parameter >> shape >> s.layout >> own >> grad;
    s.shape = shape_of(shape);
    s.dtype = dtype_of(own);
    inputs.tensors.push_back(input(s, static_cast<std::uint32_t>(i + 1)));
    if (grad) state.leaves.push_back(inputs.tensors.back().requires_grad_());
  }
  for (const auto& functions : all_functions()) {
    for (const Function& f : functions) {
      if (f.name != name) continue;
      state.function = f.prepare(inputs);
      if (state.function.layer) set_parameters(state, inputs.dtype);
      const minnow::AutoGradMode mode(state.backward);
      const double start = wall_seconds();
      const Tensors results = step(state);
      const double seconds = wall_seconds() - start;
      std::ostringstream answer;
      answer << "{\"seconds\": " << seconds << ", \"values\": [" << digest(results) << "]}";
      return answer.str();
    }
  }
  throw std::runtime_error("there is no function " + name);
}

std::string run(std::istream& words, State& state) {
  int count = 1, threads = 1;
  words >> count >> threads;
  minnow::set_num_threads(threads);
  const minnow::AutoGradMode mode(state.backward);
  for (int i = 0; i < count / 4; ++i) step(state);  // this process was stopped: its threads and caches have gone cold
  const double cpu = cpu_seconds(), wall = wall_seconds();
  for (int i = 0; i < count; ++i) step(state);
  std::ostringstream answer;
  answer << "{\"wall\": " << (wall_seconds() - wall) / count << ", \"cpu\": " << (cpu_seconds() - cpu) / count << "}";
  return answer.str();
}

}  // namespace
}  // namespace sweep

int main() {
  sweep::State state;
  minnow::set_num_threads(1);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    try {
      std::cout << (command == "run" ? sweep::run(words, state) : sweep::prepare(words, state)) << std::endl;
    } catch (const std::exception& error) {
      std::cout << R"({"error": ")" << bench::escaped(error.what()) << "\"}" << std::endl;
    }
  }
}
