// What is saved is loaded as the same bits: random state dicts, here and with Python's safetensors and torch.

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <minnow/tensor/io/npz.h>
#include <minnow/tensor/io/safetensors.h>

#include "hostile.h"

namespace minnow {
namespace {

using test::MemoryFolder;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  std::string name() {
    static const std::string kParts[] = {"weight",
                                         ".",
                                         "0",
                                         "layer",
                                         " ",
                                         "\"",
                                         "\\",
                                         "/",
                                         "../",
                                         "\n",
                                         "\t",
                                         "\x01",
                                         "{",
                                         "\u00e9",
                                         "\u4e2d\u6587",
                                         "\U0001f600",
                                         "\u202e",
                                         "\uffff",
                                         ":",
                                         "\x7f",
                                         ".npy",
                                         "\u0300",
                                         std::string(1, '\0')};
    std::string out;
    for (std::size_t i = 0, n = 1 + below(5); i < n; ++i) out += kParts[below(std::size(kParts))];
    return out;
  }

  /// Random bits, also those of infinities and NaN, in any strides.
  Tensor tensor(DType dtype) {
    Shape shape;
    const std::size_t rank = below(9);
    for (std::size_t d = 0; d < rank; ++d)
      shape.push_back(static_cast<std::int64_t>(below(8) == 0 ? 0 : 1 + below(rank > 4 ? 2 : 4)));
    // The dimensions in another order, with gaps, some expanded.
    Strides strides = contiguous_strides(shape);
    std::vector<int> order;
    for (int d = 0; d < shape.rank(); ++d)
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(below(order.size() + 1)), d);
    std::int64_t last = static_cast<std::int64_t>(below(4)), step = 1;
    const std::int64_t offset = last;
    const bool plain = below(3) == 0;
    for (const int d : order) {
      const std::int64_t n = std::max<std::int64_t>(shape[d], 1);
      if (!plain) strides[d] = below(6) == 0 ? 0 : step * static_cast<std::int64_t>(1 + below(2));
      last += strides[d] * (n - 1);
      step *= 2 * n;
    }
    const std::size_t size = (static_cast<std::size_t>(last) + 1) * size_of(dtype);
    auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), size);
    auto* bytes = static_cast<unsigned char*>(storage->data());
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<unsigned char>(dtype == DType::bool_ ? below(2) : random_());
    return Tensor(std::move(storage), dtype, shape, strides, offset);
  }

  StateDict dict(bool bfloat) {
    StateDict tensors;
    for (std::size_t i = 0, n = below(7); i < n; ++i) {
      const auto dtype = static_cast<DType>(below(kDTypeCount));
      if (dtype != DType::bfloat16 || bfloat) tensors.set(name(), tensor(dtype));
    }
    return tensors;
  }

 private:
  std::mt19937 random_;
};

/// The bytes of the elements in row-major order, found by the strides alone.
std::string elements(const Tensor& t) {
  const std::size_t item = size_of(t.dtype());
  const auto* base =
      static_cast<const char*>(t.storage()->data()) + static_cast<std::size_t>(t.storage_offset()) * item;
  std::string out;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    std::int64_t rest = i, at = 0;
    for (int d = t.dim(); d-- > 0; rest /= t.shape()[d]) at += rest % t.shape()[d] * t.strides()[d];
    out.append(base + static_cast<std::size_t>(at) * item, item);
  }
  return out;
}

void expect_same(const StateDict& got, const StateDict& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const Tensor* other = got.find(name);
    ASSERT_NE(other, nullptr) << name;
    ASSERT_EQ(other->dtype(), tensor.dtype()) << name;
    ASSERT_EQ(other->shape(), tensor.shape()) << name;
    ASSERT_EQ(test::bytes_of(*other), elements(tensor)) << name;
  }
}

TEST(RoundTrip, AThousandStateDicts) {
  const MemoryFolder folder;
  const std::string path = folder / "x.safetensors", again = folder / "y.safetensors";
  Generator random(20);
  for (int i = 0; i < 1000; ++i) {
    const StateDict tensors = random.dict(true);
    Metadata metadata;
    for (std::size_t k = random.below(3); k > 0; --k) metadata[random.name()] = random.name();
    save(tensors, path, metadata);
    const StateDict loaded = load(path);
    ASSERT_NO_FATAL_FAILURE(expect_same(loaded, tensors)) << i;
    ASSERT_EQ(load_metadata(path), metadata) << i;
    save(loaded, again, metadata);
    ASSERT_EQ(test::read_bytes(again), test::read_bytes(path)) << i;
  }
}

TEST(RoundTrip, ArchivesOfArrays) {
  const MemoryFolder folder;
  const std::string path = folder / "x.npz";
  Generator random(21);
  for (int i = 0; i < 300; ++i) {
    const StateDict tensors = random.dict(false);
    save_npz(tensors, path, {.compress = i % 2 == 0});
    ASSERT_NO_FATAL_FAILURE(expect_same(load_npz(path), tensors)) << i;
  }
}

/// Python writes random files, this test loads and saves each of them, and Python compares.  MINNOW_PYTHON: the
/// interpreter; MINNOW_ROUND_TRIPS: how many.
TEST(RoundTrip, WithPython) {
  const auto setting = [](const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return std::string(value ? value : otherwise);
  };
  const std::string python = setting("MINNOW_PYTHON", "python3") + " ";
  if (std::system((python + "-c 'import torch, safetensors.torch' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "this Python has no torch or safetensors: set MINNOW_PYTHON";
  const MemoryFolder folder;
  const std::string script = python + "-B " MINNOW_TEST_DIR "/files/round_trip.py ",
                    count = setting("MINNOW_ROUND_TRIPS", "50");
  ASSERT_EQ(std::system((script + "write " + folder / "" + " " + count).c_str()), 0);
  for (int i = 0; i < std::stoi(count); ++i) {
    const std::string name = folder / std::to_string(i);
    save(load(name + ".safetensors"), name + ".ours.safetensors", load_metadata(name + ".safetensors"));
    ASSERT_EQ(test::read_bytes(name + ".ours.safetensors"), test::read_bytes(name + ".safetensors")) << i;
  }
  EXPECT_EQ(std::system((script + "check " + folder / "" + " " + count).c_str()), 0);
}

}  // namespace
}  // namespace minnow
