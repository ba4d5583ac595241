// expect: a captured call cannot keep an argument of this type
// What a replay would find gone.
#include <span>
#include <minnow/tensor/backend/captured_arguments.h>
#include <minnow/tensor/internal.h>

using namespace minnow;

struct Options {
  const float* weights;
};

void keep(const CaptureMemory& pool, const float* numbers, std::span<const int> sizes, Options options) {
  const CapturedArgument<double> number(1.0, pool);
  const CapturedArgument<const float*> pointer(numbers, pool);          // must not compile
  const CapturedArgument<std::span<const int>> elsewhere(sizes, pool);  // must not compile
  const CapturedArgument<Options> unknown(options, pool);               // must not compile
}
