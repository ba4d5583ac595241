#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/tensor.h>

namespace minnow::onnx::detail {

/// An argument of a function that is not a tensor.
using Argument = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A call of a function, of values by their numbers; kNone for an operand that was left out.
struct Record {
  std::string function;
  std::vector<std::size_t> operands, results;
  std::map<std::string, Argument> arguments;
  SourceLocation where;
  std::string module;  ///< the path of the module whose forward() called it
};

/// A tensor at some time of a forward.
struct Value {
  Tensor tensor;
  std::uint32_t version = 0;   ///< of its memory
  std::size_t record = kNone;  ///< what made it; kNone of inputs, parameters and constants
  bool is_input = false;
  bool depends = false;    ///< on an input
  std::string fault = {};  ///< why it is not known how its elements came about
};

/// What functions a forward has called.  Tensors are known by their memory, shape and strides, so that handles and
/// detach() need not be told; they are kept, so that no other one gets their memory.
class Recorder {
 public:
  explicit Recorder(std::span<const Tensor> inputs);

  const std::vector<Record>& records() const { return records_; }
  const Value& value(std::size_t number) const { return values_[number]; }
  std::size_t count() const { return values_.size(); }
  /// The number of a tensor; a new one for a tensor that was not made by a told function.
  std::size_t number_of(const Tensor& x);
  /// Throws for an operation on something that depends on the inputs, of which no function has told, and for numbers of
  /// it that were read.
  void require_told(SourceLocation where) const;

  // What a Recording hears.
  void begin() { open_.push_back({told_, false}); }
  void end(const char* function);
  void operands(const minnow::detail::Operands& operands);
  void told(const minnow::detail::Told& told);
  void read(const char* op, const Tensor& x);

 private:
  /// The same elements: offset, dtype, shape and strides.
  using Key = std::tuple<std::int64_t, DType, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  /// What is known of a piece of memory.
  struct Memory {
    std::map<Key, std::size_t> values;
    bool depends = false;
  };
  struct Open {
    std::size_t told = 0;
    bool computes = false;
  };

  static Key key_of(const Tensor& x);
  std::size_t add(const Tensor& x);
  /// The number, or kNone.
  std::size_t find(const Tensor& x) const;
  void define(Record record, const minnow::detail::Told& told, bool in_place);

  std::vector<Value> values_;
  std::vector<Record> records_;
  std::map<const Storage*, Memory> memory_;
  std::vector<Open> open_;
  std::size_t told_ = 0;
  // The first of what cannot be written down; their functions are empty if there is none.
  Record untold_, reading_;
};

/// Lets a recorder hear what this thread calls while it lives.
class Recording final : public minnow::detail::CallObserver {
 public:
  explicit Recording(Recorder& recorder) : recorder_(recorder) {}
  ~Recording() = default;

  void begin(const minnow::detail::CallSite& site) noexcept override;
  void end(const minnow::detail::CallSite& site) noexcept override;
  void operands(const minnow::detail::Operands& operands) override;
  void told(const minnow::detail::Told& told) override;
  void read(const char* op, const Tensor& x) noexcept override;

 private:
  Recorder& recorder_;
};

/// "add at net.cpp:12 in the module 'layers.0'"
std::string place_of(const Record& record);

}  // namespace minnow::onnx::detail
