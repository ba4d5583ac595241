#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/elementwise/element_access.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/strided.h>
#include <minnow/tensor/view.h>

namespace minnow::cuda {

/// An input of an elementwise kernel: an array, a single element in memory (uniform), or a number (no memory).
struct KernelInput {
  const void* data;
  double floating;
  std::int64_t whole;
  DType dtype;
  bool uniform;
};

/// The operands of an elementwise kernel, and the parameters of the functor.
template <int N> struct KernelOperands {
  void* out;
  DType out_dtype;
  KernelInput in[N];
  double p0, p1;
  std::uint32_t* fault;  ///< set to 1 for a zero divisor, by functors that divide integers
};

/// Operands that are all dense in the same order and aligned to packs.
template <int N> struct DenseArgs {
  KernelOperands<N> operands;
  std::int64_t packs;
};
/// Operands with any strides; the output is the first one of the layout.
template <int N> struct StridedArgs {
  KernelOperands<N> operands;
  kernels::Narrow<N + 1> layout;
};

/// The two kernels of a functor for a compute type, nullptr if the functor does not take it, and the dtypes that they
/// read and write directly.
template <int N> struct Loops {
  void (*dense)(DenseArgs<N>) = nullptr;
  void (*strided)(StridedArgs<N>) = nullptr;
  Accepts in = Accepts::kSameFamily, out = Accepts::kSameFamily;
};

// The tables, by the index of the functor, each built in files of its name.
template <class T> const Loops<1>& copy_loops();
template <class T> const Loops<1>* unary_table();
template <class T> const Loops<2>* slope_table();
template <class T> const Loops<2>* binary_table();
template <class T> const Loops<3>* ternary_table();

/// Elements in device memory, or a number for all elements.
struct Elements {
  void* data = nullptr;
  DType dtype{};
  Strides strides;  ///< in elements
  double floating = 0;
  std::int64_t whole = 0;

  /// The elements of a tensor; the value of a 0-dim tensor on the host.
  explicit Elements(const View& tensor);
  /// A number for all elements of a shape.
  Elements(Scalar value, int rank);
  /// Dense memory of a shape.
  Elements(void* memory, DType type, const Shape& shape);
};

/// Runs the kernel of a functor, which computes in `compute`, on operands with any dtypes and strides.
template <int N> struct Run {
  Loops<N> loops;
  Compute compute;
  double p0 = 0, p1 = 0;
  std::uint32_t* fault = nullptr;

  /// All operands have the shape.
  void operator()(const Call& call, const Shape& shape, const Elements& out, const Elements (&in)[N]) const;
};

/// Copies elements between any dtypes, by way of `compute`.
Run<1> copier(Compute compute);

}  // namespace minnow::cuda
