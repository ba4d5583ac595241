#include <minnow/tensor/backend/call_list.h>

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/forwarding.h>
#include <minnow/tensor/backend/private_pool.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/step_recording.h>

namespace minnow {
namespace {

/// A call, and the operation of the user's that made it.
struct Call {
  std::function<void(Backend&)> run;
  std::string operation;
  SourceLocation where;
};

// How arguments are kept, and given to a replay: as they are, but for those that point to what changes or passes.

template <class T> const T& given(const T& kept) { return kept; }

/// A copy from a device into host memory may be under way again.
const Tensor& given(const Tensor& kept) {
  if (kept.defined()) kept.storage()->wait_ready();
  return kept;
}

/// Of a state that changes from replay to replay, the numbers of the day.
PhiloxState given(const PhiloxState& kept) {
  if (kept.replayed == nullptr) return kept;
  return {kept.replayed[0], kept.offset + kept.replayed[1]};
}

struct KeptUpdate {
  int rule;
  std::vector<double> hyper;
  const double* replayed;
};

UpdateParams given(const KeptUpdate& kept) {
  return {kept.rule, {kept.replayed ? kept.replayed : kept.hyper.data(), kept.hyper.size()}};
}

struct KeptItems {
  std::vector<Tensor> tensors;
  std::vector<UpdateItem> items;  // of these tensors
};

std::span<const UpdateItem> given(const std::shared_ptr<const KeptItems>& kept) { return kept->items; }

/// What a call that returned false has found.
template <class Method> [[noreturn]] void found_wrong_data() {
  const std::string op = last_dispatched().name;
  const std::string found = "\n  found when the recorded step ran again\n";
  const SourceLocation where = last_dispatched().where;
  if constexpr (std::is_same_v<Method, decltype(&Backend::binary)>)
    throw ValueError(op + ": an integer was divided by zero" + found + "check the divisor, or divide floating tensors",
                     where);
  else if constexpr (std::is_same_v<Method, decltype(&Backend::cross_entropy)>)
    throw IndexError(
        op + ": a target is no class" + found + "targets go from 0 to the number of classes - 1, or are ignore_index",
        where);
  else
    throw IndexError(op + ": an index is out of range" + found + "indices go from 0 to the dimension's size - 1",
                     where);
}

/// Stands in for a backend and lists what it is asked to compute.
class Recorder final : public Forwarding<Recorder> {
 public:
  Recorder(Backend& backend, Device device)
      : backend_(backend), device_(device), pool_(PrivatePool::open(backend.allocator(device.index()), device)) {}
  ~Recorder() override {
    calls_.clear();
    pool_.close();
  }

  Device device() const { return device_; }

  void replay() const {
    for (const Call& call : calls_) {
      note_operation(call.operation, call.where);
      call.run(backend_);
    }
  }

  template <class R, class... P, class... A> R pass(R (Backend::*method)(P...), const A&... arguments) {
    auto run = [method, kept = std::tuple(keep(arguments)...)](Backend& backend) {
      const auto call = [&](const auto&... values) { return (backend.*method)(given(values)...); };
      if constexpr (std::is_same_v<R, bool>) {
        if (!std::apply(call, kept)) found_wrong_data<decltype(method)>();
      } else {
        std::apply(call, kept);
      }
    };
    const DispatchedOp& op = last_dispatched();
    calls_.push_back({std::move(run), std::string(Composed::name(op.name)), op.where});
    return R(true);
  }

  Allocator& allocator(int) override { return pool_; }
  int device_count() const override { return backend_.device_count(); }
  Allocator* pinned_allocator() override { return backend_.pinned_allocator(); }
  Stream current_stream(int index) override { return backend_.current_stream(index); }
  void set_current_stream(int index, const Stream& stream) override { backend_.set_current_stream(index, stream); }
  Stream new_stream(int index) override { return backend_.new_stream(index); }
  MemoryFormat conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w) override {
    return backend_.conv2d_format(params, x, w);
  }
  void synchronize(int) override { refuse(); }
  void transfer(const Tensor&, const Tensor&, bool) override { refuse(); }
  std::unique_ptr<Recording> begin_recording(int) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { refuse_in_recording(last_dispatched().name, last_dispatched().where); }

  template <class T> static const T& keep(const T& argument) { return argument; }

  /// A tensor that replays use: of memory from the pool it is no owner, so that what the step does with memory that has
  /// one owner, or that is freed, it does as without recording.
  Tensor keep(const Tensor& t) const {
    if (!t.defined()) return t;
    const auto& storage = t.storage();
    if (storage->allocator() == &pool_)
      return Tensor(std::make_shared<Storage>(storage->data(), storage->bytes(), device_, nullptr), t.dtype(),
                    t.shape(), t.strides(), t.storage_offset());
    Tensor kept(storage, t.dtype(), t.shape(), t.strides(), t.storage_offset());
    kept.impl()->held_by_graph = true;  // nobody reads it who could mind a write
    storage->add_graph_reference(1);
    return kept;
  }

  static KeptUpdate keep(const UpdateParams& params) {
    return {params.rule, {params.hyper.begin(), params.hyper.end()}, params.replayed};
  }

  std::shared_ptr<const KeptItems> keep(std::span<const UpdateItem> items) const {
    const auto kept = std::make_shared<KeptItems>();
    kept->tensors.reserve(items.size() * (2 + std::size(UpdateItem{}.state)));
    const auto add = [&](const Tensor* t) { return t ? &kept->tensors.emplace_back(keep(*t)) : nullptr; };
    for (const UpdateItem& item : items)
      kept->items.push_back(
          {add(item.param), add(item.grad), {add(item.state[0]), add(item.state[1]), add(item.state[2])}});
    return kept;
  }

  Backend& backend_;
  const Device device_;
  PrivatePool& pool_;
  std::vector<Call> calls_;
};

thread_local Recorder* recording = nullptr;

class CallList final : public Recording {
 public:
  CallList(Backend& backend, Device device)
      : recorder_(backend, device), outer_(std::exchange(recording, &recorder_)) {}
  ~CallList() override { finish(); }

  void finish() override {
    if (recording == &recorder_) recording = outer_;
  }
  void replay() override { recorder_.replay(); }

 private:
  Recorder recorder_;
  Recorder* const outer_;
};

}  // namespace

std::unique_ptr<Recording> record_calls(Backend& backend, Device device) {
  return std::make_unique<CallList>(backend, device);
}

Backend* call_recorder(Device device) { return recording && recording->device() == device ? recording : nullptr; }

}  // namespace minnow
