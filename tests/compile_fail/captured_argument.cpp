// expect: a captured call cannot keep an argument of this type
// What a replay would find gone.
#include <span>
#include <minnow/tensor/backend/captured_arguments.h>
#include <minnow/tensor/internal.h>

using namespace minnow;

struct Options {
  const float* weights;
};

void keep(CaptureMemory& memory, const float* numbers, std::span<const int> sizes, Options options) {
  const CapturedArgument<double> number(1.0, memory);
  const CapturedArgument<const float*> pointer(numbers, memory);          // must not compile
  const CapturedArgument<std::span<const int>> elsewhere(sizes, memory);  // must not compile
  const CapturedArgument<Options> unknown(options, memory);               // must not compile
}
