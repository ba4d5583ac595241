#include <gtest/gtest.h>
#include <unordered_set>
#include <vector>
#include <minnow/tensor/cuda/elementwise/pointer_alignment.h>
#include <minnow/tensor/cuda/libraries/matmul_layout.h>

namespace minnow::cuda {
namespace {

/// Memory of a batch of matrices that holds distinct small numbers.
std::vector<double> numbers(std::size_t size, int seed) {
  std::vector<double> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<double>((static_cast<int>(i) * 7 + seed) % 23 - 11);
  return out;
}

std::size_t reach(const Matrices& m) {
  return static_cast<std::size_t>((m.batch - 1) * m.batch_stride + (m.rows - 1) * m.row_stride +
                                  (m.cols - 1) * m.col_stride + 1);
}

double at(const std::vector<double>& data, const Matrices& m, std::int64_t p, std::int64_t i, std::int64_t j) {
  return data[static_cast<std::size_t>(p * m.batch_stride + i * m.row_stride + j * m.col_stride)];
}

/// op(side)[i, j] of batch p, as cuBLASLt's documentation says: column-major, transposed where asked.
double at(const std::vector<double>& data, const ColumnMajor& m, std::int64_t p, std::int64_t i, std::int64_t j) {
  const std::int64_t row = m.transpose ? j : i, col = m.transpose ? i : j;
  EXPECT_LT(row, m.rows);
  EXPECT_LT(col, m.cols);
  return data.at(static_cast<std::size_t>(p * m.batch_stride + col * m.leading + row));
}

/// Computes a product as cuBLASLt would, and compares it with the definition.
void expect_product(Matrices a, Matrices b, Matrices out) {
  const auto a_data = numbers(reach(a), 3), b_data = numbers(reach(b), 5);
  std::vector<double> expected(reach(out), 99), actual(expected);
  for (std::int64_t p = 0; p < out.batch; ++p)
    for (std::int64_t i = 0; i < out.rows; ++i)
      for (std::int64_t j = 0; j < out.cols; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < a.cols; ++k) sum += at(a_data, a, p, i, k) * at(b_data, b, p, k, j);
        expected[static_cast<std::size_t>(p * out.batch_stride + i * out.row_stride + j * out.col_stride)] = sum;
      }
  ASSERT_TRUE(normalize(a) && normalize(b) && normalize(out) && writable(out));
  const Product product = column_major(a, b, out);
  for (const ColumnMajor* side : {&product.a, &product.b, &product.d}) EXPECT_GE(side->leading, side->rows);
  EXPECT_FALSE(product.d.transpose);
  EXPECT_EQ(product.d.rows, out.cols);  // a bias of N values is added along them
  const std::int64_t depth = product.a.transpose ? product.a.rows : product.a.cols;
  ASSERT_EQ(depth, a.cols);
  for (std::int64_t p = 0; p < product.batch; ++p)
    for (std::int64_t i = 0; i < product.d.rows; ++i)
      for (std::int64_t j = 0; j < product.d.cols; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) sum += at(b_data, product.a, p, i, k) * at(a_data, product.b, p, k, j);
        actual.at(static_cast<std::size_t>(p * product.d.batch_stride + j * product.d.leading + i)) = sum;
      }
  EXPECT_EQ(actual, expected);
}

/// Matrices of a shape: rows or columns contiguous, with `gap` elements between them.
Matrices stored(std::int64_t batch, std::int64_t rows, std::int64_t cols, bool flipped, std::int64_t gap) {
  const std::int64_t leading = (flipped ? rows : cols) + gap;
  const std::int64_t size = leading * (flipped ? cols : rows) + gap;
  return {batch, rows, cols, size, flipped ? 1 : leading, flipped ? leading : 1};
}

TEST(MatmulLayout, EveryShapeAndOrder) {
  for (const std::int64_t batch : {1, 3})
    for (const std::int64_t m : {1, 2, 5})
      for (const std::int64_t n : {1, 4})
        for (const std::int64_t k : {1, 3, 7})
          for (int orders = 0; orders < 4; ++orders)
            for (const std::int64_t gap : {0, 2}) {
              SCOPED_TRACE(::testing::Message() << batch << " x " << m << " x " << k << " x " << n << ", orders "
                                                << orders << ", gap " << gap);
              const Matrices a = stored(batch, m, k, (orders & 1) != 0, gap);
              const Matrices b = stored(batch, k, n, (orders & 2) != 0, gap);
              const Matrices out = stored(batch, m, n, false, gap);
              expect_product(a, b, out);
              Matrices a_repeated = a, b_repeated = b;
              a_repeated.batch_stride = b_repeated.batch_stride = 0;
              expect_product(a_repeated, b, out);
              expect_product(a, b_repeated, out);
              expect_product(a_repeated, b_repeated, out);
            }
}

TEST(MatmulLayout, SharedRightSideIsOneProduct) {
  Matrices a = stored(4, 3, 5, false, 0), b = stored(1, 5, 2, true, 0), out = stored(4, 3, 2, false, 0);
  b.batch = 4;
  b.batch_stride = 0;
  expect_product(a, b, out);
  const Product joined = column_major(a, b, out);
  EXPECT_EQ(joined.batch, 1);
  EXPECT_EQ(joined.d.cols, 12);
  a.batch_stride += 1;  // not one tall matrix
  EXPECT_EQ(column_major(a, b, out).batch, 4);
}

TEST(MatmulLayout, RefusesUnsupportedStrides) {
  Matrices strided{1, 3, 4, 0, 8, 2};
  EXPECT_FALSE(normalize(strided));
  Matrices repeated_rows{1, 3, 4, 0, 0, 1};
  EXPECT_FALSE(normalize(repeated_rows));
  Matrices repeated_columns{1, 3, 4, 0, 1, 0};
  EXPECT_FALSE(normalize(repeated_columns));
  Matrices overlapping{1, 3, 4, 0, 2, 1};
  EXPECT_FALSE(normalize(overlapping));
  Matrices repeated_batch{2, 3, 4, 0, 4, 1};
  EXPECT_TRUE(normalize(repeated_batch));
  EXPECT_FALSE(writable(repeated_batch));
  Matrices columns{1, 3, 4, 0, 1, 3};
  EXPECT_TRUE(normalize(columns));
  EXPECT_FALSE(writable(columns));
  Matrices row_of_repeats{1, 1, 4, 0, 77, 0};
  EXPECT_FALSE(normalize(row_of_repeats));
  Matrices column_with_steps{1, 4, 1, 0, 6, 9};
  EXPECT_TRUE(normalize(column_with_steps));
  EXPECT_EQ(column_with_steps.col_stride, 1);
}

TEST(MatmulLayout, Alignment) {
  EXPECT_EQ(alignment_of(reinterpret_cast<void*>(0x1000)), 256);
  EXPECT_EQ(alignment_of(reinterpret_cast<void*>(0x1080)), 128);
  EXPECT_EQ(alignment_of(reinterpret_cast<void*>(0x1002)), 2);
  EXPECT_EQ(alignment_of(nullptr), 256);
}

TEST(MatmulLayout, KeysDifferByEveryField) {
  const MatmulKey base;
  const auto changed = [&](auto change) {
    MatmulKey key = base;
    change(key);
    return key;
  };
  const std::vector<MatmulKey> keys{
      base,
      changed([](MatmulKey& k) { k.product.a.rows = 2; }),
      changed([](MatmulKey& k) { k.product.b.rows = 2; }),
      changed([](MatmulKey& k) { k.product.d.leading = 2; }),
      changed([](MatmulKey& k) { k.product.a.transpose = true; }),
      changed([](MatmulKey& k) { k.product.b.batch_stride = 1; }),
      changed([](MatmulKey& k) { k.product.batch = 2; }),
      changed([](MatmulKey& k) { k.dtype = DType::bfloat16; }),
      changed([](MatmulKey& k) { k.tf32 = true; }),
      changed([](MatmulKey& k) { k.bias = true; }),
      changed([](MatmulKey& k) { k.sums = SumsOf::b; }),
      changed([](MatmulKey& k) { k.activation = Activation::relu; }),
      changed([](MatmulKey& k) { k.align_a = 16; }),
      changed([](MatmulKey& k) { k.align_b = 16; }),
      changed([](MatmulKey& k) { k.align_d = 16; }),
      changed([](MatmulKey& k) { k.align_bias = 16; }),
  };
  std::unordered_set<std::size_t> hashes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes.insert(keys[i].hash());
    for (std::size_t j = 0; j < keys.size(); ++j) EXPECT_EQ(keys[i] == keys[j], i == j) << i << ", " << j;
  }
  EXPECT_EQ(hashes.size(), keys.size());
}

}  // namespace
}  // namespace minnow::cuda
