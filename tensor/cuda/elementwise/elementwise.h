#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/elementwise/elements.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/strided.h>
#include <minnow/tensor/view.h>

namespace minnow::cuda {

/// An input of an elementwise kernel: memory, one element of memory for all, or a number (no memory).
struct Input {
  const void* data;
  double floating;
  std::int64_t whole;
  DType dtype;
  bool uniform;
};

/// The operands of an elementwise kernel and the functor's parameters.
template <int N> struct Operands {
  void* out;
  DType out_dtype;
  Input in[N];
  double p0, p1;
  std::uint32_t* fault;  ///< where a zero divisor is reported, for functors that divide integers
};

/// Operands that all lie dense in one order, aligned for packs.
template <int N> struct DenseArgs {
  Operands<N> operands;
  std::int64_t packs;
};
/// Operands of any strides; the output is the layout's first.
template <int N> struct StridedArgs {
  Operands<N> operands;
  kernels::Narrow<N + 1> layout;
};

/// The two kernels of a functor and a compute type, nullptr where the functor has no such form; the dtypes that they
/// read and write by themselves.
template <int N> struct Loops {
  void (*dense)(DenseArgs<N>) = nullptr;
  void (*strided)(StridedArgs<N>) = nullptr;
  Stored in = Stored::kNear, out = Stored::kNear;
};

// The tables, by the functor's number, each built in the files of its name.
template <class T> const Loops<1>& copy_loops();
template <class T> const Loops<1>* unary_table();
template <class T> const Loops<2>* slope_table();
template <class T> const Loops<2>* curve_table();
template <class T> const Loops<2>* binary_table();
template <class T> const Loops<3>* ternary_table();

/// Elements in the memory of a device; a number where there is no memory.
struct Elements {
  void* data = nullptr;
  DType dtype{};
  Strides strides;  ///< in elements
  double floating = 0;
  std::int64_t whole = 0;

  /// A tensor's elements; the value of a 0-dim tensor on the host.
  explicit Elements(const View& tensor);
  /// A number for all elements of a shape.
  Elements(Scalar value, int rank);
  /// Dense memory of a shape.
  Elements(void* memory, DType type, const Shape& shape);
};

/// Runs a functor's kernel, which computes in `compute`, over operands of any dtypes and strides.
template <int N> struct Run {
  Loops<N> loops;
  Compute compute;
  double p0 = 0, p1 = 0;
  std::uint32_t* fault = nullptr;

  /// All views are of the shape.
  void operator()(const Call& call, const Shape& shape, const Elements& out, const Elements (&in)[N]) const;
};

/// Copies elements of any dtypes, which pass through `compute`.
Run<1> copier(Compute compute);

/// The same strides and no gaps: element i of one belongs to element i of the other, in memory order.
bool same_dense_layout(const Shape& shape, const Strides& a, const Strides& b);

}  // namespace minnow::cuda
