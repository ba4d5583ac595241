#include <cstring>
#include <minnow/ops/detail/index.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/stream.h>

#include "rows.h"

// index_add with more sources than one thread handles: few and many rows to add to, one index for all lines and one for
// each, sums that are split into pieces.

namespace minnow::test {
namespace {

class RowsIndexAdd : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, RowsIndexAdd, all_devices(), device_test_name);

/// Sources [before, n, after] are added to [before, rows, after].
struct Sizes {
  std::int64_t before, n, after, rows;

  Shape source() const { return {before, n, after}; }
  Shape out() const { return {before, rows, after}; }
  std::string str(DType dtype) const { return std::string(name_of(dtype)) + source().str() + " to " + out().str(); }
};
const std::vector<Sizes>& sizes() {
  static const std::vector<Sizes> all{{1, 200, 1, 300}, {1, 129, 3, 2},   {1, 5000, 1, 1},   {1, 3000, 1, 4000},
                                      {3, 500, 5, 40},  {1, 1300, 20, 2}, {1, 150, 300, 50}, {2, 4100, 2, 3},
                                      {12, 150, 5, 20}, {1, 1024, 1, 1},  {1, 2049, 1, 1}};
  return all;
}

/// Small whole numbers, whose sums are exact in every dtype and order.
Tensor whole_numbers(const Shape& shape, DType dtype, std::int64_t seed) {
  const bool with_sign = is_floating_point(dtype) || dtype == DType::int64 || dtype == DType::int32;
  return made(shape, dtype, [=](std::int64_t i) {
    const auto k = static_cast<std::int64_t>(1000 * (1 + mixed(i + seed)));
    return static_cast<double>(with_sign ? k % 3 - 1 : k % 2);
  });
}

/// Unsorted rows, some of them repeated.
Tensor rows_of(const Shape& shape, std::int64_t rows) {
  return made(shape, DType::int64, [=](std::int64_t i) {
    const double at = (1 + mixed(i + 77)) / 2;
    return i % 3 == 0 ? 0.0 : std::floor(at * static_cast<double>(rows));
  });
}

/// The sum by its definition, in float64; index has the shape of the sources or is [n].
Tensor reference(const Sizes& s, const Tensor& out, const Tensor& index, const Tensor& source) {
  const Tensor sum = raw::clone(raw::cast(out, DType::float64)), x = raw::cast(source, DType::float64);
  const auto to = sum.span<double>();
  const auto from = x.span<double>();
  const auto at = index.span<std::int64_t>();
  for (std::int64_t b = 0; b < s.before; ++b)
    for (std::int64_t i = 0; i < s.n; ++i)
      for (std::int64_t a = 0; a < s.after; ++a) {
        const std::int64_t place = (b * s.n + i) * s.after + a;
        const std::int64_t row = at[static_cast<std::size_t>(index.dim() == 1 ? i : place)];
        to[static_cast<std::size_t>((b * s.rows + row) * s.after + a)] += from[static_cast<std::size_t>(place)];
      }
  return sum;
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  expect_close(to_host(got), raw::cast(want, got.dtype()), what, {});
}

TEST_P(RowsIndexAdd, OneIndexForAllLines) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64, DType::int32,
                            DType::uint8, DType::bool_})
    for (const Sizes& s : sizes()) {
      const Tensor out = whole_numbers(s.out(), dtype, 1), source = whole_numbers(s.source(), dtype, 2);
      const Tensor index = rows_of({s.n}, s.rows);
      const Tensor want = reference(s, out, index, source);
      const Tensor there = on(index, device());
      expect_same(raw::index_add(on(out, device()), 1, there, on(source, device())), want, s.str(dtype));
      // The same from memory in another order, which is added to along its last dimension.
      const Tensor turned = raw::transpose(on(source, device()), 1, 2);
      const Tensor got = raw::index_add(raw::transpose(on(out, device()), 1, 2), 2, there, turned);
      expect_same(raw::transpose(to_host(got), 1, 2), want, s.str(dtype) + " turned");
    }
}

TEST_P(RowsIndexAdd, AnIndexForEachLine) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::int64, DType::uint8, DType::bool_})
    for (const Sizes& s : sizes()) {
      const Tensor out = whole_numbers(s.out(), dtype, 1), source = whole_numbers(s.source(), dtype, 2);
      const Tensor index = rows_of(s.source(), s.rows);
      const Tensor want = reference(s, out, index, source);
      const Tensor there = on(index, device()), x = on(source, device());
      expect_same(raw::scatter_add(on(out, device()), 1, there, x), want, s.str(dtype));
      const Tensor got = raw::scatter_add(raw::transpose(on(out, device()), 1, 2), 2, raw::transpose(there, 1, 2),
                                          raw::transpose(x, 1, 2));
      expect_same(raw::transpose(to_host(got), 1, 2), want, s.str(dtype) + " turned");
    }
}

TEST_P(RowsIndexAdd, AnIndexThatIsExpandedOverTheLines) {
  const Sizes s{2, 700, 9, 30};
  const Tensor out = whole_numbers(s.out(), DType::float32, 1), source = whole_numbers(s.source(), DType::float32, 2);
  const Tensor index = rows_of({s.n}, s.rows);
  const Tensor wide = raw::expand(raw::unsqueeze(on(index, device()), -1), s.source());
  expect_same(raw::scatter_add(on(out, device()), 1, wide, on(source, device())), reference(s, out, index, source),
              "expanded");
}

/// The bits of float32 elements.
std::vector<std::uint32_t> bits_of(const Tensor& t) {
  const Tensor here = to_host(t);
  const auto values = here.span<float>();
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size_bytes());
  return bits;
}

// A sum of no more than 1024 sources has the bits of a loop over them.
TEST_P(RowsIndexAdd, AddsInTheOrderOfTheSources) {
  for (const Sizes& s : {Sizes{1, 3000, 5, 400}, Sizes{1, 4000, 1, 6}, Sizes{1, 1024, 3, 1}}) {
    const Tensor out = made(s.out(), DType::float32, mixed);
    const Tensor source = made(s.source(), DType::float32, [](std::int64_t i) { return mixed(i + 5000); });
    const Tensor index =
        made({s.n}, DType::int64, [&](std::int64_t i) { return static_cast<double>(i * 7919 % s.rows); });
    const Tensor want = raw::cast(out, DType::float32);
    std::vector<float> sums = want.to_vector<float>();
    const auto from = source.span<float>();
    const auto at = index.span<std::int64_t>();
    for (std::int64_t i = 0; i < s.n; ++i)
      for (std::int64_t a = 0; a < s.after; ++a)
        sums[static_cast<std::size_t>(at[static_cast<std::size_t>(i)] * s.after + a)] +=
            from[static_cast<std::size_t>(i * s.after + a)];
    std::vector<std::uint32_t> bits(sums.size());
    std::memcpy(bits.data(), sums.data(), sums.size() * sizeof(float));
    EXPECT_EQ(bits_of(raw::index_add(on(out, device()), 1, on(index, device()), on(source, device()))), bits)
        << s.str(DType::float32);
  }
}

TEST_P(RowsIndexAdd, LongSumsAreTheSameEachTime) {
  const Sizes s{1, 20000, 3, 2};
  const Tensor out = made(s.out(), DType::float32, mixed), index = rows_of({s.n}, s.rows);
  const Tensor source = made(s.source(), DType::float32, [](std::int64_t i) { return mixed(i + 5000); });
  const auto sum = [&] { return raw::index_add(on(out, device()), 1, on(index, device()), on(source, device())); };
  const Tensor once = sum();
  expect_agrees(once, reference(s, out, index, source), "long sums", 100);
  EXPECT_EQ(bits_of(once), bits_of(sum()));
}

TEST_P(RowsIndexAdd, AnIndexOutOfRangeIsAnError) {
  for (const std::int64_t bad : {std::int64_t{7}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const Tensor index =
        made({500}, DType::int64, [&](std::int64_t i) { return static_cast<double>(i == 300 ? bad : i % 7); });
    const Tensor out = on(made({7, 4}, DType::float32, mixed), device());
    const Tensor source = on(made({500, 4}, DType::float32, mixed), device());
    EXPECT_THROW(finish([&] { (void)raw::index_add(out, 0, on(index, device()), source); }), IndexError) << bad;
    const Tensor wide = raw::expand(raw::unsqueeze(on(index, device()), -1), {500, 4});
    EXPECT_THROW(finish([&] { (void)raw::scatter_add(out, 0, wide, source); }), IndexError) << bad;
  }
  synchronize(device());
}

}  // namespace
}  // namespace minnow::test
