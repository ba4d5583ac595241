#include <cstring>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/runtime/copies.h>

namespace minnow {
namespace cpu {
namespace {

/// Work of the CPU is done when the call returns, so its streams wait only for events of other devices.
struct CpuStream : Stream::State {
  Event record(EventUse) override { return {}; }
  void wait(const Event& event) override { event.synchronize(); }
  void synchronize() override {}
};

Stream make_stream() { return Stream(Device(), std::make_shared<CpuStream>()); }

constexpr std::int64_t kCopyBlock = 1 << 18;

}  // namespace

int CpuBackend::device_count() const { return 1; }

Allocator& CpuBackend::allocator(int) { return cpu_allocator(); }

Allocator* CpuBackend::pinned_allocator() { return nullptr; }

Stream CpuBackend::current_stream(int) {
  static const auto* stream = new Stream(make_stream());  // one for all threads: it has no state
  return *stream;
}

void CpuBackend::set_current_stream(int, const Stream&) {}

Stream CpuBackend::new_stream(int) { return make_stream(); }

void CpuBackend::synchronize(int) {}

bool CpuBackend::computes_half(DType dtype) const { return library::has_half(dtype); }

void CpuBackend::transfer(const View& from, const View& to, bool) {
  const char* source = static_cast<const char*>(from.raw_data());
  char* target = static_cast<char*>(to.raw_data());
  const std::int64_t bytes = to.nbytes();
  parallel_blocks(bytes, kCopyBlock, bytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace cpu

Backend* detail::cpu_backend() {
  static auto* backend = [] {  // never destroyed: global tensors may be destroyed last
    warn_of_copies();
    return new cpu::CpuBackend();
  }();
  return backend;
}

}  // namespace minnow
