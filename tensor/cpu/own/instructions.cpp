#include <minnow/tensor/cpu/runtime/library.h>

// Without oneDNN there are no products of halves or bytes by the processor's own instructions for these.

namespace minnow::cpu::library {

bool has_half(DType) { return false; }
bool has_tiles() { return false; }
bool adds_bytes_exactly() { return true; }

}  // namespace minnow::cpu::library
