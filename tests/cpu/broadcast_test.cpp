#include <minnow/tensor/internal.h>
#include "cpu_support.h"

// Broadcast operands: repeated blocks, rows and single elements; combined with dense and strided ones.

namespace minnow {
namespace {

using namespace kernels;
using test::backend;
using test::blank;
using test::get;
using test::Lay;

class Broadcast : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Broadcast, test::every_isa(), test::isa_name);

constexpr int kSub = kIndexOf<BinaryOps, Sub>;

/// `own`, broadcast to `shape`: sizes of 1 get a stride of 0.
Tensor repeated(const Shape& own, const Shape& shape, DType dtype, Lay lay = Lay::kContiguous) {
  const Tensor t = test::numbers(own, dtype, lay, -9, 23);
  Strides strides = t.strides();
  for (int d = 0; d < own.rank(); ++d)
    if (own[d] == 1 && shape[d] != 1) strides[d] = 0;
  return Tensor(t.storage(), dtype, shape, strides);
}

struct Case {
  Shape own, shape;
};
const Case kCases[] = {{{1, 16, 1, 1}, {3, 16, 28, 28}},  // constant rows
                       {{1, 16, 1, 1}, {3, 16, 40, 70}},  // ... of more than a chunk
                       {{1, 16, 1, 1}, {5, 16, 7, 7}},    // short ones: repeated as a block
                       {{1, 40, 1, 1}, {3, 40, 7, 7}},    // a block too long for that
                       {{1, 1, 1, 128}, {1, 1, 50, 128}},  {{1, 1, 3, 5}, {2, 50, 3, 5}},
                       {{1, 1, 1, 1023}, {1, 1, 4, 1023}}, {{1, 1, 1, 1024}, {1, 1, 4, 1024}},
                       {{1, 1, 1, 1025}, {1, 1, 4, 1025}}, {{1, 1, 1, 1}, {2, 3, 50, 61}},
                       {{4, 1, 6, 1}, {4, 5, 6, 3}},       {{4, 1, 6, 100}, {4, 5, 6, 100}},
                       {{1, 7, 1, 9}, {3, 7, 70, 9}},      {{1, 3, 1, 1}, {1, 3, 1, 10000}},  // rows that blocks cut
                       {{3, 1, 1, 7}, {3, 50, 90, 7}},     {{3, 1, 1, 1}, {3, 90, 50, 7}},
                       {{3, 5, 1, 7}, {3, 5, 900, 7}},     {{2, 1, 1, 32}, {2, 17, 31, 32}}};  // repeated within parts

void check(const Tensor& a, const Tensor& b, DType dtype, Lay lay) {
  const Tensor out = blank(a.shape(), dtype, lay == Lay::kBroadcast ? Lay::kContiguous : lay);
  static_cast<void>(
      backend().run(calls::Binary{kSub, cpu::compute_of(dtype) == cpu::Compute::kFloat ? float32 : dtype, a, b, out}));
  for (std::int64_t i = 0; i < out.numel(); ++i)
    ASSERT_EQ(get(out, i), get(a, i) - get(b, i)) << a.shape().str() << " " << name_of(dtype) << " element " << i;
}

TEST_P(Broadcast, EitherSideInEveryLayout) {
  for (const Case& c : kCases)
    for (const DType dtype : {float32, DType::float64, DType::bfloat16, DType::int64}) {
      for (const Lay lay : {Lay::kContiguous, Lay::kReversed, Lay::kGaps}) {
        const Tensor whole = test::numbers(c.shape, dtype, lay, -9, 23);
        for (const Lay own : {Lay::kContiguous, Lay::kReversed}) {
          const Tensor part = repeated(c.own, c.shape, dtype, own);
          check(whole, part, dtype, lay);
          check(part, whole, dtype, lay);
        }
      }
      check(repeated(c.own, c.shape, dtype), repeated(c.own, c.shape, dtype), dtype, Lay::kContiguous);
    }
}

/// Channels-last images and a number for each channel.
TEST_P(Broadcast, ChannelsLast) {
  for (const std::int64_t channels : {1, 3, 16, 64, 100, 1500}) {
    const Shape shape{2, channels, 5, 9};
    const Tensor x = test::numbers({2, 5, 9, channels}, float32, Lay::kContiguous, -9, 23);
    const Tensor images(x.storage(), float32, shape, channels_last_strides(shape));
    const Tensor each = repeated({1, channels, 1, 1}, shape, float32);
    const Tensor out = test::with_strides(shape, channels_last_strides(shape), float32);
    static_cast<void>(backend().run(calls::Binary{kSub, float32, images, each, out}));
    for (std::int64_t i = 0; i < out.numel(); ++i) ASSERT_EQ(get(out, i), get(images, i) - get(each, i)) << channels;
  }
}

TEST_P(Broadcast, CopiesAndThreeOperands) {
  for (const Case& c : kCases) {
    const Tensor part = repeated(c.own, c.shape, float32), copy = blank(c.shape), half = blank(c.shape, DType::float16);
    backend().run(calls::Copy{part, copy});
    backend().run(calls::Copy{part, half});
    const Tensor a = test::numbers(c.shape), out = blank(c.shape);
    backend().run(calls::Ternary{kIndexOf<TernaryOps, Addcmul>, float32, a, part, part, out, 2});
    for (std::int64_t i = 0; i < copy.numel(); ++i) {
      ASSERT_EQ(get(copy, i), get(part, i));
      ASSERT_EQ(get(half, i), get(part, i));
      ASSERT_EQ(get(out, i), get(a, i) + 2 * get(part, i) * get(part, i));
    }
  }
}

TEST(BroadcastCpu, SameBitsForAnyNumberOfThreads) {
  for (const Case& c : {Case{{1, 16, 1, 1}, {30, 16, 28, 28}}, Case{{1, 1, 1, 128}, {4, 4, 64, 128}}}) {
    const Tensor a = test::reals(c.shape), b = repeated(c.own, c.shape, float32);
    test::expect_thread_invariant([&] {
      const Tensor out = blank(c.shape);
      static_cast<void>(backend().run(calls::Binary{kSub, float32, a, b, out}));
      return out;
    });
  }
}

}  // namespace
}  // namespace minnow
