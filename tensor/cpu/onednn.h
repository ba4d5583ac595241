#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <string_view>
#include <minnow/tensor/allocator.h>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>

// The only files that know oneDNN's version (2.6 to 3.x): engine, layouts, plans.
// Errors of oneDNN become BackendError, which names the operation.

namespace minnow::cpu::onednn {

using dnnl::memory;

const dnnl::engine& engine();

/// While one is alive, oneDNN called from this thread uses no other thread; within parallel loops it never does.
/// oneDNN is always called so: made for n threads, a primitive leaves parts of its result out when OpenMP gives it
/// fewer, and its sums depend on n.  Work is divided among threads by us, by its size alone.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Host memory for the length of a scope, from the allocator of tensors.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes), data_(bytes ? cpu_allocator().allocate(bytes) : nullptr) {}
  ~Buffer() {
    if (data_) cpu_allocator().deallocate(data_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Whether oneDNN has a data type for ours that plans may be asked for: float32, bfloat16, float16.
bool has_type(DType dtype);
memory::data_type type_of(DType dtype);
/// A tensor's own sizes and strides.
memory::desc desc_of(const View& tensor);
memory::desc desc_of(const Shape& shape, const Strides& strides, DType dtype);
/// A layout of the primitive's choice.
memory::desc any_layout(const Shape& shape, DType dtype);
/// An operand that is not there.
memory::desc nothing();

/// What follows a product or convolution and its bias in the same pass: out = alpha * (...) + beta * out.
/// Activations join here.
struct Epilogue {
  double alpha = 1;
  double beta = 0;
};

// Plans: primitive descriptors, or ones that are empty (`!plan`) where this machine or version cannot.  They are made
// once for each shape: onednn_plan.h.

dnnl::matmul::primitive_desc matmul_plan(std::string_view op, const memory::desc& a, const memory::desc& b,
                                         const memory::desc& bias, const memory::desc& out, Epilogue epilogue);

struct ConvDescs {
  memory::desc x, w, bias, y;
  bool winograd = false;         ///< the algorithm; layouts must be any_layout
  std::int64_t bottom = kAsTop;  ///< rows of padding after the last

  static constexpr std::int64_t kAsTop = -1;
};
dnnl::convolution_forward::primitive_desc conv_plan(std::string_view op, const Conv2dParams& params,
                                                    const ConvDescs& descs, Epilogue epilogue = {});
dnnl::convolution_backward_data::primitive_desc conv_input_plan(std::string_view op, const Conv2dParams& params,
                                                                const ConvDescs& descs);
dnnl::convolution_backward_weights::primitive_desc conv_weight_plan(std::string_view op, const Conv2dParams& params,
                                                                    const ConvDescs& descs);

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

/// Whether its float32 products are those for AVX-512.
bool has_avx512();

/// OutOfMemoryError where there is no address space for what a plan or a primitive takes: oneDNN crashes without.
void check_room(std::string_view op);

[[noreturn]] void fail(std::string_view op, const dnnl::error& error);

}  // namespace minnow::cpu::onednn
