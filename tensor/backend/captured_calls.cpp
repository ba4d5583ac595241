#include <minnow/tensor/backend/captured_calls.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/backend/capture_pool.h>
#include <minnow/tensor/backend/captured_arguments.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/forwarding.h>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/error.h>

namespace minnow::detail {
namespace {

class CapturedCall {
 public:
  CapturedCall() = default;
  CapturedCall(const CapturedCall&) = delete;
  CapturedCall& operator=(const CapturedCall&) = delete;
  virtual ~CapturedCall() = default;
  virtual Outcome run(Backend& backend) const = 0;
};

template <class C, class... T> class CapturedCallOf final : public CapturedCall {
 public:
  CapturedCallOf(const CaptureMemory& pool, const T&... arguments)
      : arguments_(CapturedArgument<T>(arguments, pool)...) {}

  Outcome run(Backend& backend) const override {
    return std::apply(
        [&](const auto&... kept) {
          if constexpr (std::is_void_v<ResultOf<C>>) return backend.run(C{kept.value()...}), Outcome::ok;
          else return backend.run(C{kept.value()...});
        },
        arguments_);
  }

 private:
  std::tuple<CapturedArgument<T>...> arguments_;
};

template <class C> std::unique_ptr<CapturedCall> captured(const C& call, const CaptureMemory& pool) {
  return std::apply(
      [&]<class... T>(const T&... arguments) -> std::unique_ptr<CapturedCall> {
        return std::make_unique<CapturedCallOf<C, T...>>(pool, arguments...);
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
      : backend_(backend), device_(device), pool_(CapturePool::open(backend.allocator(device.index()), device)) {}
  ~CallCapture() override {
    calls_.clear();
    pool_.close();
  }

  Device device() const { return device_; }

  void replay() const {
    for (const Entry& entry : calls_) {
      const CallSite site = CallSite::instead(entry.operation.c_str(), entry.where);
      if (const Outcome outcome = entry.call->run(backend_); outcome != Outcome::ok) [[unlikely]]
        entry.fail(outcome);
    }
  }

  template <class C> ResultOf<C> pass(const C& call) {
    calls_.push_back({captured(call, CaptureMemory{pool_}), std::string(CallSite::op()), CallSite::where()});
    if constexpr (!std::is_void_v<ResultOf<C>>) return Outcome::captured;
  }

  Tensor operand(const Tensor& tensor) const {
    const CaptureMemory pool{pool_};
    if (!tensor.defined()) return tensor;
    const View view = pool.owns(tensor) ? pool.without_owner(tensor) : tensor.layout();
    const Tensor kept(view.storage(), view.dtype(), view.shape(), view.strides(), view.storage_offset());
    kept.impl()->name = tensor.impl()->name;
    if (!pool.owns(tensor)) {
      kept.impl()->held_by_graph = true;
      view.storage()->add_graph_reference(1);
    }
    return kept;
  }
  void on_wrong_data(std::function<void()> refuse) { calls_.back().refuse = std::move(refuse); }

  Allocator& allocator(int) override { return pool_; }
  int device_count() const override { return backend_.device_count(); }
  bool computes_on_host() const override { return backend_.computes_on_host(); }
  Allocator* pinned_allocator() override { return backend_.pinned_allocator(); }
  Stream current_stream(int index) override { return backend_.current_stream(index); }
  void set_current_stream(int index, const Stream& stream) override { backend_.set_current_stream(index, stream); }
  Stream new_stream(int index) override { return backend_.new_stream(index); }
  MemoryFormat conv2d_format(const Conv2dParams& params, const View& x, const View& w) override {
    return backend_.conv2d_format(params, x, w);
  }
  void synchronize(int) override { refuse(); }
  void transfer(const View&, const View&, bool) override { refuse(); }
  std::unique_ptr<CapturedWork> begin_capture(int) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { forbid_in_capture(CallSite::op(), CallSite::where()); }

  Backend& backend_;
  const Device device_;
  CapturePool& pool_;
  std::vector<Entry> calls_;
};

thread_local CallCapture* capturing = nullptr;

class CapturedCalls final : public CapturedWork {
 public:
  CapturedCalls(Backend& backend, Device device)
      : capture_(backend, device), outer_(std::exchange(capturing, &capture_)) {}
  ~CapturedCalls() override { finish(); }

  void finish() override {
    if (capturing == &capture_) capturing = outer_;
  }
  void replay() override { capture_.replay(); }

 private:
  CallCapture capture_;
  CallCapture* const outer_;
};

}  // namespace

std::unique_ptr<CapturedWork> capture_calls(Backend& backend, Device device) {
  return std::make_unique<CapturedCalls>(backend, device);
}

Backend* call_capture(Device device) { return capturing && capturing->device() == device ? capturing : nullptr; }

Tensor captured_operand(const Tensor& tensor) { return capturing->operand(tensor); }

void on_wrong_data(std::function<void()> refuse) { capturing->on_wrong_data(std::move(refuse)); }

}  // namespace minnow::detail
