#include <minnow/tensor/cpu/elementwise/rows.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
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
  size_switch(size_of(dtype),
              [&]<class T>() { gather_row<T>(from, stride * static_cast<std::int64_t>(sizeof(T)), to, n); });
  if (converts) loops().load[static_cast<int>(dtype)][static_cast<int>(compute)](raw, buffer, n);
  return buffer;
}

}  // namespace minnow::cpu
