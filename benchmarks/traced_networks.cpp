// The networks of models.py on minnow: each is a text file of parameters and operations, run by a small interpreter.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <minnow/minnow.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

/// An operation: its function gets the operands and the numbers of its line.
struct Arguments {
  std::vector<Tensor> in;
  const std::vector<double>& numbers;
  bool training, with_dropout;

  const Tensor& x() const { return in[0]; }
  const Tensor& operand(std::size_t i) const { return in[i]; }
  double number(std::size_t i) const { return numbers[i]; }
  std::int64_t size(std::size_t i) const { return static_cast<std::int64_t>(numbers[i]); }
  Pair pair(std::size_t i) const { return {size(i), size(i + 1)}; }
  Shape sizes() const {
    Shape out;
    for (std::size_t i = 0; i < numbers.size(); ++i) out.push_back(size(i));
    return out;
  }
};
using Function = std::function<Tensor(const Arguments&)>;

/// By the name that models.py writes; one that ends with _ works in place.
const std::map<std::string, Function>& functions() {
  using A = const Arguments&;
  static const std::map<std::string, Function> kFunctions{
      {"conv2d",
       [](A a) {
         return conv2d(
             a.x(), a.operand(1), a.operand(2),
             {.stride = a.pair(0), .padding = {a.size(2), a.size(3)}, .dilation = a.pair(4), .groups = a.size(6)});
       }},
      {"batch_norm",
       [](A a) {
         return batch_norm(a.x(), a.operand(1), a.operand(2), a.operand(3), a.operand(4),
                           {.training = a.training, .momentum = a.number(0), .eps = a.number(1)});
       }},
      {"linear", [](A a) { return linear(a.x(), a.operand(1), a.operand(2)); }},
      {"layer_norm",
       [](A a) { return layer_norm(a.x(), a.operand(1).shape(), a.operand(1), a.operand(2), a.number(0)); }},
      {"relu", [](A a) { return relu(a.x()); }},
      {"relu_", [](A a) { return relu_(a.x()); }},
      {"relu6", [](A a) { return relu6(a.x()); }},
      {"silu", [](A a) { return silu(a.x()); }},
      {"gelu", [](A a) { return gelu(a.x()); }},
      {"sigmoid", [](A a) { return sigmoid(a.x()); }},
      {"hardswish", [](A a) { return hardswish(a.x()); }},
      {"hardsigmoid", [](A a) { return hardsigmoid(a.x()); }},
      {"dropout", [](A a) { return dropout(a.x(), {.p = a.number(0), .training = a.training && a.with_dropout}); }},
      {"max_pool2d",
       [](A a) {
         return max_pool2d(
             a.x(), a.pair(0),
             {.stride = a.pair(2), .padding = a.pair(4), .dilation = a.pair(6), .ceil_mode = a.size(8) != 0});
       }},
      {"avg_pool2d", [](A a) { return avg_pool2d(a.x(), a.pair(0), {.stride = a.pair(2), .padding = a.pair(4)}); }},
      {"adaptive_avg_pool2d", [](A a) { return adaptive_avg_pool2d(a.x(), a.pair(0)); }},
      {"add", [](A a) { return a.x() + a.operand(1); }},
      {"mul", [](A a) { return a.x() * a.operand(1); }},
      {"cat", [](A a) { return cat(a.in, static_cast<int>(a.size(0))); }},
      {"chunk",
       [](A a) { return a.x().chunk(a.size(0), static_cast<int>(a.size(1)))[static_cast<std::size_t>(a.size(2))]; }},
      {"channel_shuffle", [](A a) { return channel_shuffle(a.x(), a.size(0)); }},
      {"flatten", [](A a) { return a.x().flatten(static_cast<int>(a.size(0))); }},
      {"permute", [](A a) { return a.x().permute(a.sizes()); }},
      {"mean", [](A a) { return mean(a.x(), Dims(a.sizes())); }},
  };
  return kFunctions;
}

class Network {
 public:
  /// `file`: lines "parameter NAME SIZE...", "buffer NAME SIZE...", "NAME FUNCTION OPERAND... | NUMBER...", in which
  /// the operand - is none, and comments.
  explicit Network(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::map<std::string, std::size_t> places{{"x", 0}};
    std::map<std::string, Shape> parameters;  // by name, which is the order of their numbers
    values_.resize(1);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string name, what;
      words >> name >> what;
      if (name == "#") continue;
      if (name == "parameter" || name == "buffer") {
        Shape shape;
        for (std::int64_t size = 0; words >> size;) shape.push_back(size);
        places[what] = values_.size();
        values_.push_back(name == "parameter" ? empty(shape) : what.ends_with("_mean") ? zeros(shape) : ones(shape));
        if (name == "parameter") parameters[what] = shape;
        continue;
      }
      read_call(name, what, words, places);
    }
    std::uint32_t seed = 100;
    for (const auto& [name, shape] : parameters) fill(values_[places[name]], name, seed++);
    let_go();
  }

  const Tensor& first_by_name() const { return first_; }
  const Tensor& last_by_name() const { return last_; }
  void zero_grad() const {
    for (const Tensor& value : values_)
      if (value.defined() && value.requires_grad()) value.set_grad({});
  }

  Tensor operator()(const Tensor& x, bool training, bool with_dropout) const {
    std::vector<Tensor> values = values_;
    values[0] = x;
    for (const Call& call : calls_) {
      Arguments arguments{{}, call.numbers, training, with_dropout};
      for (const std::size_t i : call.operands) arguments.in.push_back(i == kNone ? Tensor() : values[i]);
      for (const std::size_t i : call.last_uses) values[i] = Tensor();
      values[call.result] = (*call.function)(arguments);
    }
    return values[calls_.back().result];
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Call {
    const Function* function;
    std::vector<std::size_t> operands, last_uses;
    std::vector<double> numbers;
    std::size_t result;
  };

  void read_call(const std::string& name, const std::string& function, std::istringstream& words,
                 std::map<std::string, std::size_t>& places) {
    const auto found = functions().find(function);
    if (found == functions().end()) throw std::runtime_error("no function " + function + " for " + name);
    Call call{&found->second, {}, {}, {}, values_.size()};
    std::string word;
    while (words >> word && word != "|") call.operands.push_back(word == "-" ? kNone : places.at(word));
    for (double number = 0; words >> number;) call.numbers.push_back(number);
    places[name] = values_.size();
    values_.emplace_back();
    calls_.push_back(std::move(call));
  }

  /// Weights keep the variance of what a relu follows; those of norms are around 1.
  void fill(Tensor& p, const std::string& name, std::uint32_t seed) {
    const bool wide = p.dim() > 1;
    const double scale = wide ? std::sqrt(6 / static_cast<double>(p.numel() / p.size(0))) : 0.1;
    const std::vector<float> from = numbers(seed, p.numel(), scale);
    const auto to = p.span<float>();
    const float plus = !wide && name.ends_with("weight") ? 1 : 0;
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] + plus;
    p.requires_grad_();
    if (!first_.defined()) first_ = p;
    last_ = p;
  }

  /// An intermediate result is let go by the last call that reads it, as it is in a function in C++.
  void let_go() {
    std::vector<bool> seen(values_.size());
    for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
      for (const std::size_t i : call->operands) {
        if (i == kNone || seen[i] || values_[i].defined()) continue;
        seen[i] = true;
        call->last_uses.push_back(i);
      }
  }

  std::vector<Tensor> values_;  // parameters and buffers; the others are made by calls
  std::vector<Call> calls_;
  Tensor first_, last_;
};

struct Row {
  std::filesystem::path file;
  std::int64_t batch, side;
  bool training, amp;
};

Ready prepare(const Settings& s, const Row& row) {
  const auto network = std::make_shared<Network>(row.file);
  const Tensor x = formula(s, 1, {row.batch, 3, row.side, row.side});
  if (!row.training)
    return forward_only([=] {
      const Autocast guard(bfloat16, {.enabled = row.amp});
      return (*network)(x, false, false);
    });
  const Tensor labels = arange(row.batch, int64) * 7 % 10;
  const auto step = [=](bool with_dropout) {
    network->zero_grad();
    Tensor loss;
    {
      const Autocast guard(bfloat16, {.enabled = row.amp});
      loss = nn::cross_entropy((*network)(x, true, with_dropout), labels);
    }
    loss.backward();
    return loss.item();
  };
  std::vector<double> values{step(false)};
  for (const Tensor& p : {network->first_by_name(), network->last_by_name()})
    values.insert(values.end(), {p.grad().abs().mean().item(), p.grad().square().mean().sqrt().item()});
  return {{{"", [step] { step(true); }}}, values};
}

/// Of all files NAME.txt in `folder`, "NAME BATCH": rows NAME-BATCH-forward, -step, and these with -bf16.
std::vector<Workload> rows(const std::filesystem::path& folder) {
  std::vector<Workload> list;
  if (folder.empty()) return list;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    std::string mark;
    std::int64_t side = 0;
    in >> mark >> side;
    for (const std::int64_t batch : {1, 2, 4, 8, 16, 32})
      for (const bool training : {false, true})
        for (const bool amp : {false, true}) {
          const Row row{entry.path(), batch, side, training, amp};
          list.push_back({entry.path().stem().string() + "-" + std::to_string(batch) +
                              (training ? "-step" : "-forward") + (amp ? "-bf16" : ""),
                          [row](const Settings& s) { return prepare(s, row); }});
        }
  }
  return list;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  std::string folder;
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string(argv[i]) == "--files") folder = argv[i + 1];
  return bench::run(
      argc, argv, bench::rows(folder), [](bench::Settings& s) { minnow::set_num_threads(s.threads); },
      [](const bench::Settings&) { minnow::empty_cache(minnow::Device("cpu")); });
}
