#include <algorithm>
#include <minnow/tensor/cpu/own/byte_loops.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/library.h>

// Few rows are multiplied as integers.  Many as float32, a part of the depth at a time: the sums of a part are integers
// below 2^24 and so exact, and are added as integers.

namespace minnow::cpu {
namespace {

constexpr std::int64_t kDepth = 256;  // 256 * 255 * 128 < 2^24
constexpr std::int64_t kFew = 4;

struct Columns final : library::ByteColumns {
  Columns(const std::int8_t* w, std::int64_t width, std::int64_t in)
      : data(static_cast<std::size_t>(width * in)), columns(width), depth(in) {
    std::copy_n(w, width * in, static_cast<std::int8_t*>(data.data()));
  }
  const std::int8_t* column(std::int64_t j) const { return static_cast<const std::int8_t*>(data.data()) + j * depth; }

  Buffer data;
  std::int64_t columns, depth;
};

class Product final : public library::ByteProduct {
 public:
  explicit Product(std::int64_t rows) : rows_(rows) {}
  std::size_t scratch_bytes(const library::ByteColumns&) const override {
    const std::int64_t cols = loops().gemm.cols;
    return static_cast<std::size_t>((rows_ + 2 * cols) * kDepth + rows_ * cols) * sizeof(float);
  }
  void run(const std::uint8_t* x, const library::ByteColumns& w, std::int32_t* sums, void* scratch) const override {
    const auto& c = static_cast<const Columns&>(w);
    if (rows_ > kFew) return by_floats(x, c, sums, static_cast<float*>(scratch));
    for (std::int64_t j = 0; j < c.columns; ++j)
      for (std::int64_t i = 0; i < rows_; ++i)
        sums[i * c.columns + j] = byte_loops().dot(x + i * c.depth, c.column(j), c.depth);
  }

 private:
  void by_floats(const std::uint8_t* x, const Columns& w, std::int32_t* sums, float* scratch) const {
    const GemmLoops& l = loops().gemm;
    float *const a = scratch, *const b = a + rows_ * kDepth, *const panel = b + l.cols * kDepth,
                 *const part = panel + l.cols * kDepth;
    std::fill_n(sums, rows_ * w.columns, 0);
    for (std::int64_t k = 0; k < w.depth; k += kDepth) {
      const std::int64_t deep = std::min(kDepth, w.depth - k);
      for (std::int64_t i = 0; i < rows_; ++i)
        byte_loops().unsigned_to_float(x + i * w.depth + k, a + i * kDepth, deep);
      for (std::int64_t j = 0; j < w.columns; j += l.cols) {
        const std::int64_t width = std::min<std::int64_t>(l.cols, w.columns - j);
        for (std::int64_t r = 0; r < width; ++r)
          byte_loops().signed_to_float(w.column(j + r) + k, b + r * kDepth, deep);
        l.pack(b, 1, kDepth, deep, static_cast<int>(width), panel);
        for (std::int64_t i = 0; i < rows_; i += l.rows)
          l.tile({a + i * kDepth, kDepth, 1, panel, l.cols, deep, part + i * width, width, nullptr, false},
                 static_cast<int>(std::min<std::int64_t>(l.rows, rows_ - i)), static_cast<int>(width));
        for (std::int64_t i = 0; i < rows_; ++i) byte_loops().add(part + i * width, sums + i * w.columns + j, width);
      }
    }
  }

  std::int64_t rows_;
};

}  // namespace

std::unique_ptr<const library::ByteColumns> library::pack_bytes(const std::int8_t* w, std::int64_t columns,
                                                                std::int64_t in) {
  return std::make_unique<Columns>(w, columns, in);
}

std::shared_ptr<const library::ByteProduct> library::byte_product(std::int64_t rows, std::int64_t, std::int64_t,
                                                                  const ByteColumns&) {
  return std::make_shared<Product>(rows);
}

}  // namespace minnow::cpu
