#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include <minnow/minnow.h>

/// PyTorch's own samples (tests/golden/samples/FAMILY.txt, make_samples.py says what a line holds), and how minnow is
/// called for them.
namespace minnow::test {

/// An argument of a sample, as Python has it.
struct SampleValue {
  enum class Kind : std::uint8_t { kNone, kBool, kInteger, kNumber, kText, kDType, kTensor, kList };
  Kind kind = Kind::kNone;
  double number = 0;  ///< of a bool and an integer, too
  std::string text = {};
  DType dtype = DType::float32;
  Tensor tensor = {};
  bool differentiable = false;
  std::vector<SampleValue> items = {};
};

/// A tensor or a number: add(x.like(0), x.like(1)).
struct SampleOperand {
  Tensor tensor;
  Scalar number = 0;
  operator TensorLike() const { return tensor.defined() ? TensorLike(tensor) : TensorLike(number); }
};

/// The arguments of a sample.  A getter's argument is found by its position or its name; those that no getter asked for
/// make the sample one that minnow has no form for.
class SampleArguments {
 public:
  std::vector<SampleValue> positional;
  std::vector<std::pair<std::string, SampleValue>> named;  ///< in Python's order, which is that of the gradients

  bool has(std::size_t at, const std::string& name) const;
  const SampleValue& value(std::size_t at, const std::string& name = "-") const;
  Tensor tensor(std::size_t at, const std::string& name = "-") const { return value(at, name).tensor; }
  SampleOperand like(std::size_t at, const std::string& name = "-") const;
  Scalar scalar(std::size_t at, const std::string& name, Scalar otherwise) const;
  double number(std::size_t at, const std::string& name, double otherwise) const;
  std::int64_t integer(std::size_t at, const std::string& name, std::int64_t otherwise) const;
  int dim(std::size_t at, const std::string& name, int otherwise) const {
    return static_cast<int>(integer(at, name, otherwise));
  }
  bool flag(std::size_t at, const std::string& name, bool otherwise) const;
  std::string text(std::size_t at, const std::string& name, const std::string& otherwise) const;
  /// One integer or a list of them.
  std::vector<std::int64_t> integers(std::size_t at, const std::string& name = "-") const;
  /// The integers from an argument on, or those of the list that it is.
  std::vector<std::int64_t> rest(std::size_t at, const std::string& name = "-") const;
  /// The tensors from an argument on, or those of the list that it is.
  std::vector<Tensor> tensors(std::size_t at) const;
  /// A number of each dimension.
  template <class Size> Size size(std::size_t at, const std::string& name, std::int64_t otherwise) const {
    const std::vector<std::int64_t> n = has(at, name) ? integers(at, name) : std::vector{otherwise};
    if (n.empty()) return Size(otherwise);
    if constexpr (std::is_same_v<Size, Pair>) return n.size() == 1 ? Pair(n[0]) : Pair(n.at(0), n.at(1));
    else if constexpr (std::is_same_v<Size, Triple>)
      return n.size() == 1 ? Triple(n[0]) : Triple(n.at(0), n.at(1), n.at(2));
    else return n.at(0);
  }

  /// Whether a getter asked for all that is not None.
  bool all_used() const;
  /// Applies f to each tensor, those in lists too.
  void for_each(const std::function<void(SampleValue&)>& f);
  /// Applies f to each number, those in lists too.
  void for_each_number(const std::function<void(SampleValue&)>& f);

 private:
  mutable std::vector<std::string> used_;
};

using SampleCall = std::function<std::vector<Tensor>(const SampleArguments&)>;
/// How minnow is called, by PyTorch's name.
using SampleCalls = std::map<std::string, SampleCall>;

/// Thrown by a call that minnow has no form for.
struct NoForm {};

/// Where minnow intends another result than PyTorch: the name of the samples (all that begin with it), a part of the
/// error or of the line ("": any), and why.
struct SampleException {
  std::string name, part, reason;
};

/// Runs the samples of a family on a device: values, gradients, refusals; on the CPU also with operands that are not
/// contiguous (`same_bits`: the results are the same bit by bit) and with expanded ones.
void expect_samples(const std::string& family, const SampleCalls& calls, const std::vector<SampleException>& exceptions,
                    Device device, bool same_bits = false);

/// Runs some samples of each function with other numbers in the place of each that it has: negative, huge, NaN.  Each
/// call gives a result, or an Error that names an operation.
void misuse_samples(const std::string& family, const SampleCalls& calls, Device device);

}  // namespace minnow::test
