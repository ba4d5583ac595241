#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <emulator/device.h>
#include <string>
#include <type_traits>

// The products of tensor cores, of <mma.h>, as far as minnow uses them: 16x16x16 of halves with sums in float.  Each
// lane has 8 elements of an accumulator, in an order that no program may know; a factor is whole in each lane.
namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Layout = void> struct fragment;

template <class Use, class T, class Layout> struct fragment<Use, 16, 16, 16, T, Layout> {
  static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>);
  float of_lane[16][16];
};
template <> struct fragment<accumulator, 16, 16, 16, float, void> {
  static constexpr int num_elements = 8;
  float x[8];
};

namespace detail {

/// The place of a lane's i-th element.
inline int row_of(int i) { return (emulator::lane() * 5 + i * 3 + 7) % 32 / 2; }
inline int column_of(int i) { return (emulator::lane() * 5 + i * 3 + 7) % 2 * 8 + i; }

template <class T> void check(const T* memory, unsigned stride, const char* file, int line) {
  constexpr unsigned kMultiple = 16 / sizeof(T);
  if (reinterpret_cast<std::uintptr_t>(memory) % 32 != 0)
    emulator::fault({file, line}, "a matrix of wmma is not aligned to 32 bytes");
  if (stride % kMultiple != 0 || stride < 16)
    emulator::fault({file, line}, "rows of a matrix of wmma are " + std::to_string(stride) + " elements apart");
}

inline float value(__half x) { return __half2float(x); }
inline float value(__nv_bfloat16 x) { return __bfloat162float(x); }

}  // namespace detail

template <class Use, class T, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& to, const T* from, unsigned stride,
                      const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  detail::check(from, stride, file, line);
  __syncwarp(0xffffffffu, file, line);
  for (std::size_t r = 0; r < 16; ++r)
    for (std::size_t c = 0; c < 16; ++c)
      to.of_lane[r][c] = detail::value(std::is_same_v<Layout, row_major> ? from[r * stride + c] : from[c * stride + r]);
}

inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& to, const float* from, unsigned stride,
                             layout_t layout, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  detail::check(from, stride, file, line);
  __syncwarp(0xffffffffu, file, line);
  for (int i = 0; i < 8; ++i) {
    const auto r = static_cast<std::size_t>(detail::row_of(i)), c = static_cast<std::size_t>(detail::column_of(i));
    to.x[i] = layout == mem_row_major ? from[r * stride + c] : from[c * stride + r];
  }
}

/// Others see the elements after the next __syncwarp().
inline void store_matrix_sync(float* to, const fragment<accumulator, 16, 16, 16, float>& from, unsigned stride,
                              layout_t layout, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  detail::check(to, stride, file, line);
  __syncwarp(0xffffffffu, file, line);
  for (int i = 0; i < 8; ++i) {
    const auto r = static_cast<std::size_t>(detail::row_of(i)), c = static_cast<std::size_t>(detail::column_of(i));
    (layout == mem_row_major ? to[r * stride + c] : to[c * stride + r]) = from.x[i];
  }
}

inline void fill_fragment(fragment<accumulator, 16, 16, 16, float>& to, float value) {
  for (float& x : to.x) x = value;
}

template <class T, class A, class B>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d, const fragment<matrix_a, 16, 16, 16, T, A>& a,
              const fragment<matrix_b, 16, 16, 16, T, B>& b, const fragment<accumulator, 16, 16, 16, float>& c,
              const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  __syncwarp(0xffffffffu, file, line);
  for (int i = 0; i < 8; ++i) {
    float sum = c.x[i];
    for (int k = 0; k < 16; ++k) sum += a.of_lane[detail::row_of(i)][k] * b.of_lane[k][detail::column_of(i)];
    d.x[i] = sum;
  }
}

}  // namespace nvcuda::wmma
