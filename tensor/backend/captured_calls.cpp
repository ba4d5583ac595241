#include <minnow/tensor/backend/captured_calls.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/backend/capture_memory.h>
#include <minnow/tensor/backend/captured_arguments.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/forwarding.h>
#include <minnow/tensor/backend/fused_calls.h>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/error.h>

namespace minnow::detail {
namespace {

using Kind = ElementwiseCall::Kind;

template <class C> std::optional<ElementwiseCall> elementwise(const C&) { return std::nullopt; }
std::optional<ElementwiseCall> elementwise(const calls::Unary& c) {
  return ElementwiseCall{Kind::unary, c.op, c.compute, {&c.x}, &c.out, c.p0, c.p1};
}
/// Gradients compute in the type of their result, or in float32 if that is a half.
template <class C> ElementwiseCall gradient(Kind kind, const C& c) {
  return {kind, c.op, c.out.dtype() == DType::float64 ? DType::float64 : DType::float32, {&c.grad, &c.saved}, &c.out,
          c.p0, c.p1};
}
std::optional<ElementwiseCall> elementwise(const calls::UnarySlope& c) { return gradient(Kind::slope, c); }
std::optional<ElementwiseCall> elementwise(const calls::UnaryCurve& c) { return gradient(Kind::curve, c); }
std::optional<ElementwiseCall> elementwise(const calls::Binary& c) {
  return ElementwiseCall{Kind::binary, c.op, c.compute, {&c.a, &c.b}, &c.out};
}
std::optional<ElementwiseCall> elementwise(const calls::Ternary& c) {
  return ElementwiseCall{Kind::ternary, c.op, c.compute, {&c.a, &c.b, &c.c}, &c.out, c.p};
}

class CapturedCall {
 public:
  CapturedCall() = default;
  CapturedCall(const CapturedCall&) = delete;
  CapturedCall& operator=(const CapturedCall&) = delete;
  virtual ~CapturedCall() = default;
  virtual Outcome run(Backend& backend) const = 0;
  virtual CallText describe(const CaptureMemory& memory) const = 0;
  /// The call, if it is elementwise.
  virtual std::optional<ElementwiseCall> as_elementwise() const = 0;
};

template <class C, class... T> class CapturedCallOf final : public CapturedCall {
 public:
  CapturedCallOf(CaptureMemory& memory, const T&... arguments)
      : arguments_(CapturedArgument<T>(arguments, memory)...) {}

  Outcome run(Backend& backend) const override {
    return with_call([&](const C& call) {
      if constexpr (std::is_void_v<ResultOf<C>>) return backend.run(call), Outcome::ok;
      else return backend.run(call);
    });
  }
  std::optional<ElementwiseCall> as_elementwise() const override {
    return with_call([](const C& call) { return elementwise(call); });
  }
  CallText describe(const CaptureMemory& memory) const override {
    CallText text(std::string(C::kName) + ":", memory);
    std::apply([&](const auto&... kept) { (kept.describe(text), ...); }, arguments_);
    return text;
  }

 private:
  template <class F> auto with_call(const F& f) const {
    return std::apply([&](const auto&... kept) { return f(C{kept.value()...}); }, arguments_);
  }

  std::tuple<CapturedArgument<T>...> arguments_;
};

template <class C> std::unique_ptr<CapturedCall> captured(const C& call, CaptureMemory& memory) {
  return std::apply(
      [&]<class... T>(const T&... arguments) -> std::unique_ptr<CapturedCall> {
        return std::make_unique<CapturedCallOf<C, T...>>(memory, arguments...);
      },
      fields(call));
}

/// A captured call, and the user's operation that made it.
struct Entry {
  std::unique_ptr<CapturedCall> call;
  std::string operation;
  SourceLocation where;
  std::function<void()> refuse = nullptr;  ///< throws the error for wrong data

  /// Throws for wrong data.
  [[noreturn]] void fail(Outcome outcome) const {
    if (refuse) refuse();
    switch (outcome) {
      case Outcome::zero_divisor:
        throw ValueError(
            operation + ": an integer was divided by zero\ncheck the divisor, or divide floating-point tensors", where);
      case Outcome::class_out_of_range:
        throw IndexError(operation +
                             ": a target is out of range\ntargets go from 0 to the number of classes - 1, or are "
                             "ignore_index",
                         where);
      case Outcome::index_out_of_range:
        throw IndexError(operation + ": an index is out of range\nindices go from 0 to the dimension's size - 1",
                         where);
      case Outcome::no_solution: throw ValueError(operation + ": a matrix has no solution", where);
      case Outcome::ok:
      case Outcome::captured: break;
    }
    throw BackendError(operation + ": a captured call was not made\nthis is an error in minnow", where);
  }
};

/// Replaces a backend and keeps the calls that it gets.
class CallCapture final : public Forwarding<CallCapture> {
 public:
  CallCapture(Backend& backend, Device device)
      : backend_(backend), device_(device), memory_(backend.allocator(device.index())) {}

  Device device() const { return device_; }
  CaptureMemory& memory() { return memory_; }
  const CaptureMemory& memory() const { return memory_; }

  /// The capture has ended: plans its replays.
  void finish() {
    memory_.end_capture();
    std::vector<std::optional<ElementwiseCall>> calls;
    for (const Entry& entry : calls_) calls.push_back(entry.call->as_elementwise());
    fused_ = fuse_chains(calls, memory_);
    memory_.lay_out();
  }

  void replay() const {
    if (!device_.is_cpu()) backend_.current_stream(device_.index()).synchronize();  // copies that fused calls may read
    auto fused = fused_.begin();
    auto bytes = bytes_.begin();
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (fused != fused_.end() && fused->begin == i) {
        fused->calls->run();
        i = (fused++)->end - 1;
      } else {
        const Entry& entry = calls_[i];
        const CallSite site = CallSite::instead(entry.operation.c_str(), entry.where);
        if (const Outcome outcome = entry.call->run(backend_); outcome != Outcome::ok) [[unlikely]]
          entry.fail(outcome);
      }
      for (; bytes != bytes_.end() && bytes->call <= i; ++bytes) bytes->storage->forget_prepared();
    }
  }

  std::string difference(const CallCapture& now) const {
    const std::size_t shorter = std::min(calls_.size(), now.calls_.size());
    for (std::size_t i = 0; i < shorter; ++i)
      if (!(calls_[i].call->describe(memory_) == now.calls_[i].call->describe(now.memory_)))
        return "\n  captured  " + line(i) + "\n  now       " + now.line(i);
    if (calls_.size() == now.calls_.size()) return "";
    return "\n  captured  " + line(shorter) + "\n  now       " + now.line(shorter);
  }

  template <class C> ResultOf<C> pass(const C& call) {
    memory_.begin_call(calls_.size());
    calls_.push_back({captured(call, memory_), std::string(CallSite::op()), CallSite::where()});
    if constexpr (!std::is_same_v<C, calls::QuantizedLinear>)
      std::apply([this](const auto&... arguments) { (this->note_bytes(arguments), ...); }, fields(call));
    if constexpr (!std::is_void_v<ResultOf<C>>) return Outcome::captured;
  }

  Tensor operand(const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    const View view = memory_.kept(tensor);
    const Tensor kept(view.storage(), view.dtype(), view.shape(), view.strides(), view.storage_offset());
    kept.impl()->name = tensor.impl()->name;
    if (memory_.is_outside(tensor)) {
      kept.impl()->held_by_graph = true;
      view.storage()->add_graph_reference(1);
    }
    return kept;
  }
  void on_wrong_data(std::function<void()> refuse) { calls_.back().refuse = std::move(refuse); }

  Allocator& allocator(int) override { return memory_.pool(); }
  int device_count() const override { return backend_.device_count(); }
  bool computes_on_host() const override { return backend_.computes_on_host(); }
  Allocator* pinned_allocator() override { return backend_.pinned_allocator(); }
  Stream current_stream(int index) override { return backend_.current_stream(index); }
  void set_current_stream(int index, const Stream& stream) override { backend_.set_current_stream(index, stream); }
  Stream new_stream(int index) override { return backend_.new_stream(index); }
  bool computes_half(DType dtype) const override { return backend_.computes_half(dtype); }
  MemoryFormat conv2d_format(const Conv2dParams& params, const View& x, const View& w) override {
    return backend_.conv2d_format(params, x, w);
  }
  void synchronize(int) override { refuse(); }
  void transfer(const View&, const View&, bool) override { refuse(); }
  std::unique_ptr<CapturedWork> begin_capture(int) override { refuse(); }

 private:
  /// A call, for messages.
  std::string line(std::size_t i) const {
    if (i == calls_.size()) return "no call after " + std::to_string(i);
    const Entry& entry = calls_[i];
    std::string_view file = entry.where.file;
    file.remove_prefix(file.find_last_of('/') + 1);
    return "call " + std::to_string(i + 1) + " of " + std::to_string(calls_.size()) + ", " + entry.operation + ": " +
           entry.call->describe(memory_).text() + "  (" + std::string(file) + ":" + std::to_string(entry.where.line) +
           ")";
  }
  /// Of an argument of the last call.
  template <class T> void note_bytes(const T& argument) {
    if constexpr (std::is_same_v<T, View>)
      if (argument.defined() && argument.dtype() == DType::int8)
        bytes_.push_back({calls_.size() - 1, memory_.kept(argument).storage()});
  }
  [[noreturn]] static void refuse() { forbid_in_capture(CallSite::op(), CallSite::where()); }

  Backend& backend_;
  const Device device_;
  CaptureMemory memory_;
  std::vector<Entry> calls_;
  std::vector<FusedPart> fused_;
  /// A call that may write to int8, which no replay counts as a version: what was prepared of it is forgotten.
  struct Bytes {
    std::size_t call;
    std::shared_ptr<Storage> storage;
  };
  std::vector<Bytes> bytes_;  // in the order of the calls
};

thread_local CallCapture* capturing = nullptr;

class CapturedCalls final : public CapturedList {
 public:
  CapturedCalls(Backend& backend, Device device)
      : capture_(backend, device), outer_(std::exchange(capturing, &capture_)) {}
  ~CapturedCalls() override { stop(); }

  void add_input(const View& tensor) override { capture_.memory().add_input(tensor); }
  void set_input(std::size_t i, void* data) override { capture_.memory().set_input(i, data); }
  bool uses(const void* begin, std::size_t bytes) const override { return capture_.memory().uses(begin, bytes); }
  std::string difference(const CapturedList& now) const override {
    return capture_.difference(static_cast<const CapturedCalls&>(now).capture_);
  }
  void finish() override {
    stop();
    capture_.finish();
  }
  void replay() override { capture_.replay(); }

 private:
  void stop() {
    if (capturing == &capture_) capturing = outer_;
  }

  CallCapture capture_;
  CallCapture* const outer_;
};

}  // namespace

std::unique_ptr<CapturedList> capture_calls(Backend& backend, Device device) {
  return std::make_unique<CapturedCalls>(backend, device);
}

Backend* call_capture(Device device) { return capturing && capturing->device() == device ? capturing : nullptr; }

Tensor captured_operand(const Tensor& tensor) { return capturing->operand(tensor); }

void on_wrong_data(std::function<void()> refuse) { capturing->on_wrong_data(std::move(refuse)); }

}  // namespace minnow::detail
