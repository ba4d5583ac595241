#include <minnow/tensor/cpu/isa/row_vectors.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

void square(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  Vector v[kLanes32];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes32; ++i) v[i] = load(from + i * from_stride);
  transpose_square<kLanes32>(v);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes32; ++i) store(v[i], to + i * to_stride);
}

/// Whole squares by shuffles, the remainder element by element.
void transpose(const void* source, std::int64_t from_stride, void* target, std::int64_t to_stride, std::int64_t rows,
               std::int64_t cols) {
  const auto* from = static_cast<const float*>(source);
  auto* to = static_cast<float*>(target);
  const std::int64_t whole_rows = rows - rows % kLanes32, whole_cols = cols - cols % kLanes32;
  const auto rest = [&](std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
    for (std::int64_t r = r0; r < r1; ++r)
      for (std::int64_t c = c0; c < c1; ++c)
        std::memcpy(to + r * to_stride + c, from + c * from_stride + r, sizeof(float));
  };
  for (std::int64_t r = 0; r < whole_rows; r += kLanes32) {
    for (std::int64_t c = 0; c < whole_cols; c += kLanes32)
      square(from + c * from_stride + r, from_stride, to + r * to_stride + c, to_stride);
  }
  rest(0, whole_rows, whole_cols, cols);
  rest(whole_rows, rows, 0, cols);
}

void fill(const void* value, std::size_t size, void* to, std::int64_t n) {
  typedef std::uint64_t Word __attribute__((may_alias, aligned(1)));
  Word word;
  for (std::size_t at = 0; at < sizeof word; at += size) std::memcpy(reinterpret_cast<char*>(&word) + at, value, size);
  Word* const out = static_cast<Word*>(to);
  const std::size_t bytes = static_cast<std::size_t>(n) * size, words = bytes / sizeof word;
  for (std::size_t i = 0; i < words; ++i) out[i] = word;
  std::memcpy(out + words, &word, bytes % sizeof word);
}

void stream_zeros(void* data, std::size_t bytes) {
  char* const to = static_cast<char*>(data);
  std::size_t done = (kVectorBytes - reinterpret_cast<std::uintptr_t>(to) % kVectorBytes) % kVectorBytes;
  if (done > bytes) done = bytes;
  std::memset(to, 0, done);
  for (; done + kVectorBytes <= bytes; done += kVectorBytes) stream(Vector{}, reinterpret_cast<float*>(to + done));
  end_stream();
  std::memset(to + done, 0, bytes - done);
}

}  // namespace

template <> void install_loops<family::Transpose>(Kernels& k) {
  k.transpose = transpose;
  k.fill = fill;
  k.stream_zeros = stream_zeros;
}

}  // namespace minnow::cpu::MINNOW_ISA
