#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/nn/module/module.h>
#include <minnow/nn/module/parameter.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/in.h>

namespace minnow::onnx {

/// A dimension of an input whose size is left open, by a name: dimensions of one name have one size.
struct DynamicDim {
  std::size_t input;
  int dim;
  std::string name;
};

struct SaveOptions {
  /// 18 to 23.  From 20 on GELU, and from 23 on rms_norm, are operators of their own.
  int opset = 18;
  /// Left out, it is dimension 0 of each input, as "batch"; {} for none.
  std::optional<std::vector<DynamicDim>> dynamic = std::nullopt;
  /// Left out, "input", or "input_0", "input_1", ...; the same for outputs.
  std::vector<std::string> input_names = {};
  std::vector<std::string> output_names = {};
  /// Writes the weights to another file beside it, PATH.data.  Those of more than 2 GB, which one file of ONNX cannot
  /// hold, always go there.
  bool external_data = false;
};

/// What is exported: a function of tensors.
using Forward = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

/// Writes what `forward` computes from `inputs` as a model of ONNX, with the parameters and buffers of `model` by the
/// names of its state_dict().  The file is written atomically.
///
/// forward() is called twice, with inputs of other sizes in the dynamic dimensions (rows of the example are left out or
/// repeated), and what it calls is written down.  Sizes that differ become symbolic.  A branch or a loop is exported as
/// it was taken, without the others.
///
/// ValueError for a model in train mode, names that are given twice or too often, no inputs, and a forward that does
/// other things for other sizes, calls a function that ONNX has no operators for, or overwrites a part of a tensor: it
/// names the function, its line and the module.  DTypeError for inputs of a dtype that ONNX does not have; IoError.
void save(const nn::Module& model, const std::vector<Tensor>& inputs, const Forward& forward, const std::string& path,
          const SaveOptions& options = {}, SourceLocation where = SourceLocation::current());

namespace detail {

template <class M, class... A>
std::vector<Tensor> call_with(const M& model, std::span<const Tensor> inputs, std::type_identity<std::tuple<A...>>) {
  static_assert((std::same_as<A, Tensor> && ...),
                "onnx::save calls a module of tensors; for other arguments pass a function that makes the call");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::vector<Tensor> outputs;
    nn::detail::collect_tensors(model((I < inputs.size() ? inputs[I] : Tensor())...), outputs);
    return outputs;
  }
  (std::index_sequence_for<A...>());
}

/// Refuses another number of inputs than a call takes.
inline void require_inputs(std::size_t given, std::size_t most, SourceLocation where) {
  if (given == 0 || given > most)
    throw ValueError("onnx::save: " + std::to_string(given) + " inputs are given, the module takes 1 to " +
                         std::to_string(most) + "\ngive an example of each",
                     where);
}

}  // namespace detail

/// The same of a call of the model: model(inputs[0], ...).  Of a ModuleOf, tensors at the end may be left out, which
/// are then undefined.
///
///     onnx::save(net, {zeros({2, 3, 224, 224})}, "net.onnx");
///     onnx::save(gpt, {tokens}, "gpt.onnx", {.dynamic = {{{0, 0, "batch"}, {0, 1, "length"}}}});
template <std::derived_from<nn::Module> M>
void save(const M& model, const std::vector<Tensor>& inputs, const std::string& path, const SaveOptions& options = {},
          SourceLocation where = SourceLocation::current()) {
  if constexpr (requires { typename M::Arguments; }) {
    using Arguments = typename M::Arguments;
    detail::require_inputs(inputs.size(), std::tuple_size_v<Arguments>, where);
    save(
        model, inputs,
        [&](std::span<const Tensor> x) { return detail::call_with(model, x, std::type_identity<Arguments>()); }, path,
        options, where);
  } else {
    detail::require_inputs(inputs.size(), 4, where);
    save(
        model, inputs,
        [&](std::span<const Tensor> x) -> std::vector<Tensor> {
          if (x.size() == 1) return {model(x[0])};
          if (x.size() == 2) return {model(x[0], x[1])};
          if (x.size() == 3) return {model(x[0], x[1], x[2])};
          return {model(x[0], x[1], x[2], x[3])};
        },
        path, options, where);
  }
}

namespace detail {
struct Program;
}

/// A model of a file of ONNX, as a module: its floating-point weights are parameters, by their names there, so that it
/// trains, moves, is saved and cloned as any other.  Running statistics are buffers.  It is in eval mode; after
/// train(), BatchNormalization takes the statistics of a batch, and Dropout is random.  Of several outputs a call with
/// one to four tensors gives the first.
///
///     onnx::Model net = onnx::load("resnet.onnx");
///     Tensor scores = net(images);
///     net.train();
///     optim::SGD optimizer(net.parameters(), {.lr = 0.01});
///
/// A call is a FormatError if an operator has attributes that minnow does not have, and the error of the functions that
/// the operators are made of for inputs that do not fit.
class Model : public nn::ModuleOf<std::vector<Tensor>(std::vector<Tensor>)> {
 public:
  using Module::operator();
  using ModuleOf::operator();

  const std::vector<std::string>& input_names() const;
  const std::vector<std::string>& output_names() const;

  /// All outputs.  ValueError for another number of inputs.
  std::vector<Tensor> forward(std::vector<Tensor> inputs) override;
  Tensor forward(const Tensor& x) override;
  Tensor forward(const Tensor& x, const Tensor& y) override;
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) override;
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z, const Tensor& w) override;
  std::string describe() const override;

 private:
  friend Model load(const std::string& path, SourceLocation where);
  Model(std::shared_ptr<const detail::Program> program, const std::string& path, SourceLocation where);
  std::vector<Tensor> compute(std::vector<Tensor> inputs) const;

  std::shared_ptr<const detail::Program> program_;
  std::vector<nn::Parameter> parameters_;
  std::vector<nn::Buffer> buffers_;
};

/// Reads a model of ONNX, of opset 13 to 25, with the operators that onnx::save and PyTorch's exporter write for usual
/// networks; docs/onnx.md lists them.  Weights that are in another file are read, if that is beside this one.
///
/// FormatError for a file that is no such model or is damaged, with the names of all operators that minnow does not
/// have; IoError; OutOfMemoryError.  Memory and time are bounded by the
/// size of the file: memory by some dozen times that.
Model load(const std::string& path, SourceLocation where = SourceLocation::current());

}  // namespace minnow::onnx
