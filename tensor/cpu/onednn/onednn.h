#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <string_view>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>

// The only files that depend on oneDNN's version (2.6 to 3.x): engine, layouts, plans.  Errors of oneDNN become a
// BackendError with the operation.

namespace minnow::cpu::onednn {

using dnnl::memory;

const dnnl::engine& engine();

/// While one exists, oneDNN uses only the calling thread; in parallel loops it always does.  All calls of oneDNN are
/// made like this, because a primitive made for n threads omits parts of its result if OpenMP gives it fewer, and its
/// sums depend on n. We divide work among threads, by its size only.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

memory::data_type type_of(DType dtype);
/// With the sizes and strides of a view.
memory::desc desc_of(const View& tensor);
memory::desc desc_of(const Shape& shape, const Strides& strides, DType dtype);
/// A layout that the primitive chooses.
memory::desc any_layout(const Shape& shape, DType dtype);
/// A missing operand.
memory::desc nothing();

/// What is applied after a product or convolution and its bias, in the same pass: out = alpha * (...) + beta * out.
struct Epilogue {
  double alpha = 1;
  double beta = 0;
};

// Plans: primitive descriptors; empty (`!plan`) if this machine or version of oneDNN has none but plain loops.  They
// are made once for each shape (onednn_plan.h).

/// What is taken where oneDNN has plain loops only.
enum class WithoutKernel { nothing, loops };

dnnl::matmul::primitive_desc matmul_plan(std::string_view op, const memory::desc& a, const memory::desc& b,
                                         const memory::desc& bias, const memory::desc& out, Epilogue epilogue,
                                         WithoutKernel otherwise = WithoutKernel::nothing);

struct ConvDescs {
  memory::desc x, w, bias, y;
  std::int64_t bottom = kAsTop;  ///< rows of padding after the last row

  static constexpr std::int64_t kAsTop = -1;
};
dnnl::convolution_forward::primitive_desc conv_plan(std::string_view op, const Conv2dParams& params,
                                                    const ConvDescs& descs, Epilogue epilogue = {});
dnnl::convolution_backward_data::primitive_desc conv_input_plan(std::string_view op, const Conv2dParams& params,
                                                                const ConvDescs& descs);
/// `w`: the weights of the forward convolution; for halves, the gradient is float32.
dnnl::convolution_backward_weights::primitive_desc conv_weight_plan(std::string_view op, const Conv2dParams& params,
                                                                    const ConvDescs& descs, const memory::desc& w);

/// C = alpha op(A) op(B) + beta C in float32, row-major, op(X) = X or its transpose.
struct Gemm {
  bool transpose_a, transpose_b;
  std::int64_t m, n, k;
  double alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  double beta;
  float* c;
  std::int64_t ldc;
};
void sgemm(std::string_view op, const Gemm& gemm);

/// OutOfMemoryError if there is too little address space for a plan or primitive; oneDNN would crash.
void require_address_space(std::string_view op);

[[noreturn]] void fail(std::string_view op, const dnnl::error& error);

}  // namespace minnow::cpu::onednn
