#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/products/quantize_loops.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>

// Products of uint8 and int8 by a library, without scales and zero points: the sums are exact integers, and the row
// that turns them into floats is the same for every library.  The zero point of x is subtracted there too.

namespace minnow::cpu {
namespace {

constexpr std::int64_t kColumns = 256;  // of the weight in a part
constexpr std::int64_t kRows = 64;      // of x in a part, which one thread computes

/// A weight in the layout of the library's kernels, a part of columns after the other.
struct PackedWeight final : Prepared {
  explicit PackedWeight(const View& w)
      : out(w.shape()[0]), in(w.shape()[1]), offset(w.storage_offset()), columns(static_cast<std::size_t>(out)) {
    const auto* const from = static_cast<const std::int8_t*>(w.raw_data());
    for (std::int64_t first = 0; first < out; first += kColumns)
      parts.push_back(library::pack_bytes(from + first * in, std::min(kColumns, out - first), in));
    for (std::int64_t j = 0; j < out; ++j) {
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < in; ++k) sum += from[j * in + k];
      columns[static_cast<std::size_t>(j)] = sum;
    }
  }
  bool is_of(const View& w) const { return out == w.shape()[0] && in == w.shape()[1] && offset == w.storage_offset(); }

  std::int64_t out, in, offset;
  std::vector<std::unique_ptr<const library::ByteColumns>> parts;
  std::vector<std::int32_t> columns;  ///< sums over the inputs
};

std::shared_ptr<const PackedWeight> packed(const View& w) {
  return w.storage()->prepared<PackedWeight>([&](const PackedWeight& kept) { return kept.is_of(w); },
                                             [&] { return std::make_shared<const PackedWeight>(w); });
}

/// x = (byte - zero) * scale.
struct Bytes {
  float scale;
  int zero, highest;
};

/// As PyTorch's dynamic quantization, but of a row: the range of it and 0 is spread over the bytes, and 0 is one of
/// them.
Bytes bytes_for(float least, float most) {
  const int highest = library::adds_bytes_exactly() ? 255 : 127;
  auto scale = static_cast<float>((static_cast<double>(most) - static_cast<double>(least)) / highest);
  if (scale == 0.0f || std::isinf(1.0f / scale)) scale = 0.1f;
  // From the end of the range that is nearer to 0, where the zero point is more exact.
  const double from_least = -static_cast<double>(least) / scale,
               from_most = highest - static_cast<double>(most) / scale;
  const bool is_least = std::abs(from_least) < highest - std::abs(static_cast<double>(most) / scale);
  const double zero = std::nearbyint(is_least ? from_least : from_most);
  return {scale, static_cast<int>(std::clamp<double>(zero, 0, highest)), highest};
}

/// Rounds a row, and returns what its bytes mean.  Unless all are finite, zeros of a scale that makes the row of y NaN.
Bytes rounded_row(const float* x, std::uint8_t* q, std::int64_t n) {
  const QuantizeLoops& l = quantize_loops();
  float least = 0, most = 0;
  l.range(x, n, &least, &most);
  if (std::isnan(least + most)) {
    std::fill_n(q, n, std::uint8_t{0});
    return {std::numeric_limits<float>::quiet_NaN(), 0, 0};
  }
  const Bytes bytes = bytes_for(least, most);
  l.round(x, q, n, 1.0f / bytes.scale, bytes.zero, bytes.highest);
  return bytes;
}

}  // namespace

template <> void execute(const calls::QuantizedLinear& args) {
  const std::int64_t rows = args.x.shape()[0], in = args.x.shape()[1], out = args.w.shape()[0];
  const auto* const x = static_cast<const float*>(args.x.raw_data());
  auto* const y = static_cast<float*>(args.y.raw_data());
  const std::shared_ptr<const PackedWeight> w = packed(args.w);
  const auto parts = static_cast<std::int64_t>(w->parts.size());
  const std::int64_t height = std::min(rows, kRows), strips = (rows + kRows - 1) / kRows;

  // Products of the first and the last strip of rows, with the first and the last part of columns.
  std::shared_ptr<const library::ByteProduct> products[2][2];
  std::size_t room = 0;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) {
      const library::ByteColumns& part = c == 0 ? *w->parts.front() : *w->parts.back();
      const std::int64_t width = c == 0 ? std::min(out, kColumns) : out - (parts - 1) * kColumns;
      products[r][c] = library::byte_product(r == 0 ? height : rows - (strips - 1) * kRows, width, in, part);
      room = std::max(room, products[r][c]->scratch_bytes(part));
    }
  const auto rounded = [](std::size_t size) { return (size + 63) / 64 * 64; };
  const std::size_t sums_size = rounded(static_cast<std::size_t>(height * kColumns) * sizeof(std::int32_t));
  const std::size_t bytes_size = rounded(static_cast<std::size_t>(rows) * sizeof(Bytes));
  const ThreadScratch scratch(sums_size + room, bytes_size + static_cast<std::size_t>(rows * in));
  auto* const bytes = static_cast<Bytes*>(scratch.shared());
  auto* const q = static_cast<std::uint8_t*>(scratch.shared()) + bytes_size;
  const QuantizeLoops& l = quantize_loops();
  parallel_for(rows, 2 * args.x.nbytes(), [&](std::int64_t r) { bytes[r] = rounded_row(x + r * in, q + r * in, in); });
  const auto* const scale = static_cast<const float*>(args.scale.raw_data());
  const auto* const bias = args.bias.defined() ? static_cast<const float*>(args.bias.raw_data()) : nullptr;
  const bool relu = args.activation == Activation::relu && bias != nullptr && !args.add;
  parallel_loop(parts * strips, num_threads(), [&](std::int64_t i) {
    const std::int64_t c = i / strips, r = i % strips, left = c * kColumns, top = r * kRows;
    const std::int64_t width = std::min(kColumns, out - left), tall = std::min(kRows, rows - top);
    auto* const own = static_cast<std::byte*>(scratch.mine());
    auto* const sums = reinterpret_cast<std::int32_t*>(own);
    products[r + 1 == strips][c + 1 == parts]->run(q + top * in, *w->parts[static_cast<std::size_t>(c)], sums,
                                                   own + sums_size);
    for (std::int64_t k = 0; k < tall; ++k)
      l.finish(sums + k * width,
               {w->columns.data() + left, scale + left, bias == nullptr ? nullptr : bias + left, bytes[top + k].scale,
                bytes[top + k].zero, args.add, relu},
               y + (top + k) * out + left, width);
  });
  if (!relu) activate(args.activation, args.y);
}

}  // namespace minnow::cpu
