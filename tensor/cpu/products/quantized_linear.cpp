#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/products/quantize_loops.h>
#include <minnow/tensor/cpu/runtime/onednn_plan.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>

// Products of uint8 and int8 by oneDNN, without scales and zero points: the sums are exact integers, and the row that turns
// them into floats is the same for every version of oneDNN.  The zero point of x is subtracted there too.

namespace minnow::cpu {
namespace {

constexpr std::string_view kOp = "quantized_linear";
constexpr std::int64_t kColumns = 256;  // of the weight in a part
constexpr std::int64_t kRows = 64;      // of x in a part, which one thread computes
constexpr std::int64_t kTypicalRows = 32;

struct Plan {
  onednn::Executable run;
  onednn::memory::desc weight;
};

/// A product of [rows, in] and [in, columns].  `layout`: of the weight; the plan chooses one if it is zero.
std::shared_ptr<Plan> plan_for(std::int64_t rows, std::int64_t columns, std::int64_t in,
                               const onednn::memory::desc& layout) {
  onednn::PlanKey key;
  key.add(rows, columns, in, layout.is_zero());
  return onednn::plans<Plan>().get(key, [&] {
    const auto x = onednn::desc_of({rows, in}, {in, 1}, DType::uint8),
               y = onednn::desc_of({rows, columns}, {columns, 1}, DType::int32);
    const auto free = onednn::any_layout({in, columns}, DType::int8);
    auto made = std::make_shared<Plan>();
    auto p = layout.is_zero() ? dnnl::matmul::primitive_desc()
                              : onednn::matmul_plan(kOp, x, layout, onednn::nothing(), y, {});
    // Another number of rows may want another layout.
    if (!p) p = onednn::matmul_plan(kOp, x, free, onednn::nothing(), y, {}, onednn::WithoutKernel::loops);
    made->weight = p.weights_desc();
    made->run = onednn::executable<dnnl::matmul>(
        kOp, p, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, made->weight}, {DNNL_ARG_DST, y}});
    return made;
  });
}

/// A weight in the layout of oneDNN's kernels, a part of columns after the other.
struct PackedWeight final : Prepared {
  explicit PackedWeight(const View& w)
      : out(w.shape()[0]), in(w.shape()[1]), offset(w.storage_offset()), columns(static_cast<std::size_t>(out)) {
    const auto* const from = static_cast<const std::int8_t*>(w.raw_data());
    for (std::int64_t first = 0; first < out; first += kColumns) {
      const std::int64_t n = std::min(kColumns, out - first);
      const auto plain = onednn::desc_of({in, n}, {1, in}, DType::int8);
      Part& part = parts.emplace_back();
      part.layout = plan_for(kTypicalRows, n, in, {})->weight;
      part.data = std::make_unique<onednn::Buffer>(part.layout.get_size());
      onednn::reorder(kOp, plain, part.layout).run(kOp, {from + first * in, part.data->data()});
    }
    for (std::int64_t j = 0; j < out; ++j) {
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < in; ++k) sum += from[j * in + k];
      columns[static_cast<std::size_t>(j)] = sum;
    }
  }
  bool is_of(const View& w) const { return out == w.shape()[0] && in == w.shape()[1] && offset == w.storage_offset(); }

  struct Part {
    onednn::memory::desc layout;
    std::unique_ptr<onednn::Buffer> data;
  };
  std::int64_t out, in, offset;
  std::vector<Part> parts;
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

/// As PyTorch's dynamic quantization, but of a row: the range of it and 0 is spread over the bytes, and 0 is one of them.
Bytes bytes_for(float least, float most) {
  const int highest = onednn::adds_bytes_exactly() ? 255 : 127;
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
  const onednn::OneThread alone;
  const std::shared_ptr<const PackedWeight> w = packed(args.w);
  const auto parts = static_cast<std::int64_t>(w->parts.size());
  const std::int64_t height = std::min(rows, kRows), strips = (rows + kRows - 1) / kRows;

  // Plans of the first and the last strip of rows, for the first and the last part of columns.
  std::shared_ptr<Plan> plans[2][2];
  std::size_t room = 0, copy_size = 0;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) {
      const PackedWeight::Part& part = c == 0 ? w->parts.front() : w->parts.back();
      const std::int64_t width = c == 0 ? std::min(out, kColumns) : out - (parts - 1) * kColumns;
      plans[r][c] = plan_for(r == 0 ? height : rows - (strips - 1) * kRows, width, in, part.layout);
      room = std::max(room, plans[r][c]->run.scratch_bytes());
      if (plans[r][c]->weight != part.layout) copy_size = std::max(copy_size, plans[r][c]->weight.get_size());
    }
  const auto rounded = [](std::size_t size) { return (size + 63) / 64 * 64; };
  const std::size_t sums_size = rounded(static_cast<std::size_t>(height * kColumns) * sizeof(std::int32_t));
  const std::size_t bytes_size = rounded(static_cast<std::size_t>(rows) * sizeof(Bytes));
  const ThreadScratch scratch(sums_size + rounded(room) + copy_size, bytes_size + static_cast<std::size_t>(rows * in));
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
    const Plan& plan = *plans[r + 1 == strips][c + 1 == parts];
    const PackedWeight::Part& part = w->parts[static_cast<std::size_t>(c)];
    auto* const own = static_cast<std::byte*>(scratch.mine());
    auto* const sums = reinterpret_cast<std::int32_t*>(own);
    const void* weight = part.data->data();
    if (plan.weight != part.layout)
      weight = onednn::Relayout(kOp, part.layout, plan.weight).run(kOp, weight, own + sums_size + rounded(room));
    plan.run.run(kOp, {q + top * in, weight, sums}, own + sums_size);
    for (std::int64_t k = 0; k < tall; ++k)
      l.finish(sums + k * width,
               {w->columns.data() + left, scale + left, bias == nullptr ? nullptr : bias + left, bytes[top + k].scale,
                bytes[top + k].zero, args.add, relu},
               y + (top + k) * out + left, width);
  });
  if (!relu) activate(args.activation, args.y);
}

}  // namespace minnow::cpu
