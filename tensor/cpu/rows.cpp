#include <minnow/tensor/cpu/rows.h>

namespace minnow::cpu {
namespace {

template <class T> void gather(const char* from, std::int64_t stride, char* to, std::int64_t n) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i * stride];
}

}  // namespace

const void* dense_row(const char* from, std::int64_t stride, DType dtype, Compute compute, char* buffer,
                      std::int64_t n) {
  const bool converts = dtype != dtype_of(compute);
  if (stride == 1 || n <= 1) {
    if (!converts) return from;
    loops().load[static_cast<int>(dtype)][static_cast<int>(compute)](from, buffer, n);
    return buffer;
  }
  alignas(64) char raw[kReduceBlock * 8];
  char* to = converts ? raw : buffer;
  switch (size_of(dtype)) {
    case 1: gather<std::uint8_t>(from, stride, to, n); break;
    case 2: gather<std::uint16_t>(from, stride, to, n); break;
    case 4: gather<std::uint32_t>(from, stride, to, n); break;
    default: gather<std::uint64_t>(from, stride, to, n); break;
  }
  if (converts) loops().load[static_cast<int>(dtype)][static_cast<int>(compute)](raw, buffer, n);
  return buffer;
}

}  // namespace minnow::cpu
