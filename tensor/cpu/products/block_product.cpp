#include <algorithm>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/products/block_loops.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

namespace minnow::cpu {

template <> void execute(const calls::BlockProduct& args) {
  constexpr std::int64_t kEach = 32;  // rows of w in a part
  const std::int64_t out = args.w.shape()[0], row_bytes = args.w.shape()[1];
  const BlockRows whole{args.x.shape()[0],
                        args.x.shape()[1],
                        out,
                        static_cast<const float*>(args.x.raw_data()),
                        static_cast<const std::uint8_t*>(args.w.raw_data()),
                        static_cast<float*>(args.y.raw_data()),
                        out};
  parallel_blocks(out, kEach, args.w.nbytes(), [&](std::int64_t begin, std::int64_t end) {
    BlockRows part = whole;
    part.out = end - begin;
    part.w += begin * row_bytes;
    part.y += begin;
    block_loops().product(args.format, part);
  });
}

template <> void execute(const calls::Dequantize& args) {
  const std::int64_t in = args.y.shape()[1], row_bytes = args.w.shape()[1];
  const auto* const w = static_cast<const std::uint8_t*>(args.w.raw_data());
  auto* const y = static_cast<float*>(args.y.raw_data());
  const std::int64_t each = std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, in));
  parallel_blocks(args.w.shape()[0], each, args.y.nbytes(), [&](std::int64_t begin, std::int64_t end) {
    block_loops().dequantize(args.format, w + begin * row_bytes, y + begin * in, (end - begin) * in);
  });
}

}  // namespace minnow::cpu
