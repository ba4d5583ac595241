#include <algorithm>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/library.h>

// Products of bytes as float32 products of parts of the depth, whose sums are integers below 2^24 and so exact, and are added as
// integers.

namespace minnow::cpu {
namespace {

constexpr std::int64_t kDepth = 256;  // 256 * 255 * 128 < 2^24

struct Columns final : library::ByteColumns {
  Columns(const std::int8_t* w, std::int64_t width, std::int64_t in)
      : data(static_cast<std::size_t>(width * in)), columns(width), depth(in) {
    std::copy_n(w, width * in, static_cast<std::int8_t*>(data.data()));
  }
  const std::int8_t* row(std::int64_t j) const { return static_cast<const std::int8_t*>(data.data()) + j * depth; }

  Buffer data;
  std::int64_t columns, depth;
};

class ByteLoops final : public library::ByteProduct {
 public:
  explicit ByteLoops(std::int64_t rows) : rows_(rows) {}
  std::size_t scratch_bytes(const library::ByteColumns& w) const override {
    const std::int64_t n = static_cast<const Columns&>(w).columns;
    return static_cast<std::size_t>(rows_ * kDepth + n * kDepth + rows_ * n) * sizeof(float);
  }
  void run(const std::uint8_t* x, const library::ByteColumns& w, std::int32_t* sums, void* scratch) const override {
    const auto& c = static_cast<const Columns&>(w);
    const std::int64_t n = c.columns;
    float *const a = static_cast<float*>(scratch), *const b = a + rows_ * kDepth, *const part = b + n * kDepth;
    std::fill_n(sums, rows_ * n, 0);
    for (std::int64_t k = 0; k < c.depth; k += kDepth) {
      const std::int64_t deep = std::min(kDepth, c.depth - k);
      for (std::int64_t i = 0; i < rows_; ++i) std::copy_n(x + i * c.depth + k, deep, a + i * kDepth);
      for (std::int64_t j = 0; j < n; ++j) std::copy_n(c.row(j) + k, deep, b + j * kDepth);
      multiply(Product{rows_, n, deep, a, kDepth, 1, b, 1, kDepth, nullptr, part, n});
      for (std::int64_t i = 0; i < rows_ * n; ++i) sums[i] += static_cast<std::int32_t>(part[i]);
    }
  }

 private:
  std::int64_t rows_;
};

}  // namespace

std::unique_ptr<const library::ByteColumns> library::pack_bytes(const std::int8_t* w, std::int64_t columns,
                                                                std::int64_t in) {
  return std::make_unique<Columns>(w, columns, in);
}

std::shared_ptr<const library::ByteProduct> library::byte_product(std::int64_t rows, std::int64_t, std::int64_t,
                                                                  const ByteColumns&) {
  return std::make_shared<ByteLoops>(rows);
}

}  // namespace minnow::cpu
