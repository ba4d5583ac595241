#include <minnow/tensor/cpu/onednn/onednn_plan.h>

#include <mutex>
#include <vector>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/per_thread.h>

namespace minnow::cpu::onednn {
namespace {

dnnl::stream& stream() {
  return per_thread<dnnl::stream>([] { return dnnl::stream(engine()); });
}

/// The memory objects of one execution.
struct MemoryObjects {
  explicit MemoryObjects(const std::vector<Argument>& slots) {
    for (const Argument& slot : slots) {
      const bool there = !slot.desc.is_zero();
      memories.push_back(there ? memory(slot.desc, engine(), DNNL_MEMORY_NONE) : memory());
      if (there) list.push_back({slot.kind, memories.back().get()});
    }
  }
  void set(std::size_t i, const void* data) {
    if (memories[i]) memories[i].set_data_handle(const_cast<void*>(data));
  }

  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> list;
};

}  // namespace

struct Executable::Impl {
  Impl(const dnnl::primitive& p, const memory::desc& scratchpad, std::initializer_list<Argument> list, std::string name)
      : primitive(p), implementation(std::move(name)), slots(list), scratch_bytes(scratchpad.get_size()) {
    slots.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
    give(take());
  }

  std::unique_ptr<MemoryObjects> take() {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        auto arguments = std::move(idle.back());
        idle.pop_back();
        return arguments;
      }
      idle.reserve(++made);  // so that returning one cannot throw
    }
    return std::make_unique<MemoryObjects>(slots);
  }
  void give(std::unique_ptr<MemoryObjects> arguments) noexcept {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(arguments));
  }

  dnnl::primitive primitive;
  std::string implementation;
  std::vector<Argument> slots;
  std::size_t scratch_bytes;
  std::mutex mutex;
  std::vector<std::unique_ptr<MemoryObjects>> idle;
  std::size_t made = 0;
};

Executable::Executable(const dnnl::primitive& primitive, const memory::desc& scratchpad,
                       std::initializer_list<Argument> slots, std::string implementation)
    : impl_(std::make_shared<Impl>(primitive, scratchpad, slots, std::move(implementation))) {}

std::string Executable::implementation() const { return impl_ ? impl_->implementation : ""; }

std::size_t Executable::scratch_bytes() const { return impl_ ? impl_->scratch_bytes : 0; }

void Executable::run(std::string_view op, std::initializer_list<const void*> data, void* scratch) const {
  try {
    auto arguments = impl_->take();
    std::size_t i = 0;
    for (const void* address : data) arguments->set(i++, address);
    arguments->set(i, scratch);
    const auto status = dnnl_primitive_execute(impl_->primitive.get(), stream().get(),
                                               static_cast<int>(arguments->list.size()), arguments->list.data());
    impl_->give(std::move(arguments));
    if (status != dnnl_success) throw dnnl::error(status, "could not execute a primitive");
  } catch (const dnnl::error& error) { fail(op, error); }
}

void Executable::run(std::string_view op, std::initializer_list<const void*> data) const {
  const Buffer scratch(scratch_bytes());
  run(op, data, scratch.data());
}

Executable reorder(std::string_view op, const memory::desc& from, const memory::desc& to) {
  require_address_space(op);
  try {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc plan(engine(), from, engine(), to, attr);
    return Executable(dnnl::reorder(plan), plan.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
                      plan.impl_info_str());
  } catch (const dnnl::error& error) { fail(op, error); }
}

Relayout::Relayout(std::string_view op, const memory::desc& have, const memory::desc& want) {
  if (have == want) return;
  copy_ = reorder(op, have, want);
  bytes_ = (want.get_size() + 63) / 64 * 64;
}

const void* Relayout::run(std::string_view op, const void* data, void* room) const {
  if (!copy_) return data;
  copy_.run(op, {data, room});
  return room;
}

PlanKey& PlanKey::add(const Shape& shape) {
  put(shape.rank());
  for (const std::int64_t n : shape) put(n);
  return *this;
}

std::size_t PlanKey::hash() const {
  KeyHash h;
  for (std::size_t i = 0; i < size_; ++i) h.add(numbers_[i]);
  return h.value();
}

}  // namespace minnow::cpu::onednn
