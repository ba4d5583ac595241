// cuDNN's convolutions as NVIDIA documents them, as simple loops that run as work of an emulated stream.

#include <cstring>
#include <emulator/launch.h>
#include <vector>

#include "cudnn_state.h"
#include "numbers.h"

using namespace emulator;

namespace {

/// A convolution and its operands; the output of the direction is written.
struct Job {
  Direction direction;
  Movement movement;
  Block4 x, w, y;
  void *x_data = nullptr, *w_data = nullptr, *y_data = nullptr;
  double alpha = 1, beta = 0;

  const Block4& output() const { return direction == Direction::forward ? y : direction == Direction::data ? x : w; }
  void* output_data() const {
    return direction == Direction::forward ? y_data : direction == Direction::data ? x_data : w_data;
  }
};

Job job_of(Direction direction, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t conv,
           cudnnTensorDescriptor_t y) {
  return {direction, conv->movement, x->block, w->block, y->block};
}

/// alpha and beta are doubles for double data, otherwise floats.
double factor(const Block4& block, const void* value) {
  return block.type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(value)
                                         : static_cast<double>(*static_cast<const float*>(value));
}

bool tf32(const Job& job) { return job.x.type == CUDNN_DATA_FLOAT && job.movement.math != CUDNN_FMA_MATH; }

/// Whether cuDNN supports the convolution and the shapes match.
cudnnStatus_t examine(const Job& job) {
  const Movement& m = job.movement;
  if (job.x.type != job.w.type || job.x.type != job.y.type) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "types differ");
  if (m.compute != (job.x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the type to compute in");
  if (job.x.dim[1] != job.w.dim[1] * m.groups || job.w.dim[0] % m.groups != 0)
    return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "channels and groups");
  if (job.y.dim[0] != job.x.dim[0] || job.y.dim[1] != job.w.dim[0])
    return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "batch or channels of y");
  for (int i = 0; i < 2; ++i) {
    const std::int64_t reach = (job.w.dim[2 + i] - 1) * m.dilation[i] + 1;
    const std::int64_t room = job.x.dim[2 + i] + 2 * m.padding[i] - reach;
    if (room < 0 || job.y.dim[2 + i] != room / m.step[i] + 1)
      return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "height or width of y");
  }
  if (job.w.format == CUDNN_TENSOR_NHWC) {
    if (!job.x.is_packed(CUDNN_TENSOR_NHWC) || !job.y.is_packed(CUDNN_TENSOR_NHWC))
      return refuse(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "filters in NHWC and images that are not");
    if (m.mode == CUDNN_CONVOLUTION || job.x.type == CUDNN_DATA_DOUBLE)
      return refuse(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "NHWC of this type or mode");
  } else if ((job.x.format == CUDNN_TENSOR_NHWC && !job.x.is_packed(CUDNN_TENSOR_NCHW)) ||
             (job.y.format == CUDNN_TENSOR_NHWC && !job.y.is_packed(CUDNN_TENSOR_NCHW))) {
    return refuse(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "filters in NCHW and images that are not");
  }
  return CUDNN_STATUS_SUCCESS;
}

/// The requirements of the emulated algorithms, in the order in which they are offered.
template <class Algorithm> struct Offer {
  Algorithm algorithm;
  cudnnDeterminism_t determinism;
  std::size_t workspace;
};
const std::vector<Offer<cudnnConvolutionFwdAlgo_t>>& offers(cudnnConvolutionFwdAlgo_t) {
  static const std::vector<Offer<cudnnConvolutionFwdAlgo_t>> all{
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_DETERMINISTIC, 4096},
      {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_DETERMINISTIC, 0}};
  return all;
}
const std::vector<Offer<cudnnConvolutionBwdDataAlgo_t>>& offers(cudnnConvolutionBwdDataAlgo_t) {
  static const std::vector<Offer<cudnnConvolutionBwdDataAlgo_t>> all{
      {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_NON_DETERMINISTIC, 0},
      {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_DETERMINISTIC, 8192}};
  return all;
}
const std::vector<Offer<cudnnConvolutionBwdFilterAlgo_t>>& offers(cudnnConvolutionBwdFilterAlgo_t) {
  static const std::vector<Offer<cudnnConvolutionBwdFilterAlgo_t>> all{
      {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_NON_DETERMINISTIC, 0},
      {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_DETERMINISTIC, 12288}};
  return all;
}

template <class Performance> cudnnStatus_t list(const Job& job, int requested, int* found, Performance* results) {
  *found = 0;
  if (requested < 1) return refuse(CUDNN_STATUS_BAD_PARAM, "the number of results");
  if (const cudnnStatus_t status = examine(job); status != CUDNN_STATUS_SUCCESS) return status;
  for (const auto& offer : offers(decltype(Performance::algo){})) {
    if (*found == requested) break;
    Performance& result = results[(*found)++];
    result = {};
    result.algo = offer.algorithm;
    result.memory = offer.workspace;
    result.determinism = offer.determinism;
    result.mathType = job.movement.math;
    result.time = static_cast<float>(*found);
  }
  return CUDNN_STATUS_SUCCESS;
}

/// Measures the algorithms: waits for the stream, and leaves the output undefined.
template <class Performance>
cudnnStatus_t find(cudnnHandle_t handle, Job job, int requested, int* found, Performance* results, void* workspace,
                   std::size_t bytes) {
  const cudnnStatus_t status = list(job, requested, found, results);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (cudaStreamSynchronize(handle->stream) != cudaSuccess)
    return refuse(CUDNN_STATUS_EXECUTION_FAILED, "while timing");
  if (bytes && !is_device_memory(workspace, bytes)) return refuse(CUDNN_STATUS_BAD_PARAM, "the workspace");
  const cudaError_t given = submit(handle->stream, [job] {
    std::memset(job.output_data(), 0xff, job.output().bytes());
    return std::string();
  });
  return given == cudaSuccess && cudaStreamSynchronize(handle->stream) == cudaSuccess ? CUDNN_STATUS_SUCCESS
                                                                                      : CUDNN_STATUS_EXECUTION_FAILED;
}

template <class Algorithm> cudnnStatus_t workspace_of(const Job& job, Algorithm algorithm, std::size_t* bytes) {
  if (const cudnnStatus_t status = examine(job); status != CUDNN_STATUS_SUCCESS) return status;
  for (const auto& offer : offers(algorithm))
    if (offer.algorithm == algorithm) {
      *bytes = offer.workspace;
      return CUDNN_STATUS_SUCCESS;
    }
  return refuse(CUDNN_STATUS_NOT_SUPPORTED, "an algorithm that the emulated cuDNN does not have");
}

void perform(const Job& job) {
  const auto read = [&](Direction as_output, const Block4& shape, const void* data) {
    return job.direction == as_output ? std::vector<double>(static_cast<std::size_t>(shape.count()))
                                      : dense(shape, data, tf32(job));
  };
  std::vector<double> x = read(Direction::data, job.x, job.x_data), w = read(Direction::filter, job.w, job.w_data),
                      y = read(Direction::forward, job.y, job.y_data);
  convolve(job.direction, job.movement, job.x, job.w, job.y, x, w, y);
  const auto& result = job.direction == Direction::forward ? y : job.direction == Direction::data ? x : w;
  blend(job.output(), job.output_data(), result, job.alpha, job.beta);
}

cudnnStatus_t give(cudnnHandle_t handle, std::function<std::string()> work) {
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess || device != handle->device)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the handle is another device's");
  return submit(handle->stream, std::move(work)) == cudaSuccess
             ? CUDNN_STATUS_SUCCESS
             : refuse(CUDNN_STATUS_EXECUTION_FAILED, "the stream accepts no work");
}

/// Whether the convolution can run with this algorithm.
template <class Algorithm>
cudnnStatus_t check(const char* function, const Job& job, Algorithm algorithm, void* workspace, std::size_t bytes,
                    std::size_t& needed) {
  if (const int status = library_status(function, algorithm))
    return refuse(static_cast<cudnnStatus_t>(status), "requested by the test");
  if (const cudnnStatus_t status = workspace_of(job, algorithm, &needed); status != CUDNN_STATUS_SUCCESS) return status;
  if (bytes < needed || (needed && !is_device_memory(workspace, bytes)))
    return refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "the workspace is too small, or not the device's");
  if (!is_device_memory(job.x_data, job.x.bytes()) || !is_device_memory(job.w_data, job.w.bytes()) ||
      !is_device_memory(job.y_data, job.y.bytes()))
    return refuse(CUDNN_STATUS_BAD_PARAM, "an operand is not in the device's memory");
  return CUDNN_STATUS_SUCCESS;
}

template <class Algorithm>
cudnnStatus_t run(const char* function, cudnnHandle_t handle, const Job& job, Algorithm algorithm, void* workspace,
                  std::size_t bytes) {
  std::size_t needed = 0;
  if (const cudnnStatus_t status = check(function, job, algorithm, workspace, bytes, needed);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  return give(handle, [=] {
    if (needed) std::memset(workspace, 0x7f, needed);  // it is the library's to write
    perform(job);
    return std::string();
  });
}

Job with(Job job, const void* x, const void* w, const void* y, double alpha, double beta) {
  job.x_data = const_cast<void*>(x);
  job.w_data = const_cast<void*>(w);
  job.y_data = const_cast<void*>(y);
  job.alpha = alpha;
  job.beta = beta;
  return job;
}

}  // namespace

extern "C" {

// Forward.

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t conv,
                                                     const cudnnTensorDescriptor_t y, const int requested, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return list(job_of(Direction::forward, x, w, conv, y), requested, found, results);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                     const void* x_data, const cudnnFilterDescriptor_t w,
                                                     const void* w_data, const cudnnConvolutionDescriptor_t conv,
                                                     const cudnnTensorDescriptor_t y, void* y_data, const int requested,
                                                     int* found, cudnnConvolutionFwdAlgoPerf_t* results,
                                                     void* workspace, size_t bytes) {
  const Job job = with(job_of(Direction::forward, x, w, conv, y), x_data, w_data, y_data, 1, 0);
  return find(handle, job, requested, found, results, workspace, bytes);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t conv,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  return workspace_of(job_of(Direction::forward, x, w, conv, y), algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x,
                                      const void* x_data, const cudnnFilterDescriptor_t w, const void* w_data,
                                      const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algorithm,
                                      void* workspace, size_t bytes, const void* beta, const cudnnTensorDescriptor_t y,
                                      void* y_data) {
  return run("cudnnConvolutionForward", handle,
             with(job_of(Direction::forward, x, w, conv, y), x_data, w_data, y_data, factor(y->block, alpha),
                  factor(y->block, beta)),
             algorithm, workspace, bytes);
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, const cudnnTensorDescriptor_t x, const void* x_data,
    const cudnnFilterDescriptor_t w, const void* w_data, const cudnnConvolutionDescriptor_t conv,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t bytes, const void* alpha2,
    const cudnnTensorDescriptor_t z, const void* z_data, const cudnnTensorDescriptor_t bias, const void* bias_data,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y, void* y_data) {
  const Job job = with(job_of(Direction::forward, x, w, conv, y), x_data, w_data, y_data, factor(y->block, alpha1), 0);
  if (y->block.type == CUDNN_DATA_DOUBLE) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "doubles");
  // The documentation allows the identity with this algorithm only.
  const bool identity = activation->mode == CUDNN_ACTIVATION_IDENTITY;
  if ((!identity && activation->mode != CUDNN_ACTIVATION_RELU) ||
      (identity && algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the activation");
  for (int i = 0; i < 4; ++i) {
    if (bias->block.dim[i] != (i == 1 ? y->block.dim[1] : 1)) return refuse(CUDNN_STATUS_BAD_PARAM, "the bias's shape");
    if (z->block.dim[i] != y->block.dim[i]) return refuse(CUDNN_STATUS_BAD_PARAM, "the shape of z");
  }
  std::size_t needed = 0;
  if (const cudnnStatus_t status =
          check("cudnnConvolutionBiasActivationForward", job, algorithm, workspace, bytes, needed);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  const double z_factor = factor(y->block, alpha2);
  const Block4 z_shape = z->block, bias_shape = bias->block;
  if (!is_device_memory(bias_data, bias_shape.bytes()) || (z_factor != 0 && !is_device_memory(z_data, z_shape.bytes())))
    return refuse(CUDNN_STATUS_BAD_PARAM, "bias or z is not in the device's memory");
  return give(handle, [=] {
    std::vector<double> in = dense(job.x, job.x_data, tf32(job)), filter = dense(job.w, job.w_data, tf32(job));
    std::vector<double> out(static_cast<std::size_t>(job.y.count()));
    convolve(Direction::forward, job.movement, job.x, job.w, job.y, in, filter, out);
    const std::vector<double> added = dense(bias_shape, bias_data);
    const std::vector<double> more = z_factor != 0 ? dense(z_shape, z_data) : std::vector<double>(out.size());
    const auto plane = static_cast<std::size_t>(job.y.dim[2] * job.y.dim[3]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = job.alpha * out[i] + z_factor * more[i] + added[i / plane % added.size()];
      if (!identity && out[i] < 0) out[i] = 0;
    }
    blend(job.y, job.y_data, out, 1, 0);
    return std::string();
  });
}

// Backward, to the input.

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                          const cudnnTensorDescriptor_t y,
                                                          const cudnnConvolutionDescriptor_t conv,
                                                          const cudnnTensorDescriptor_t x, const int requested,
                                                          int* found, cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return list(job_of(Direction::data, x, w, conv, y), requested, found, results);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const void* w_data, const cudnnTensorDescriptor_t y,
    const void* y_data, const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x, void* x_data,
    const int requested, int* found, cudnnConvolutionBwdDataAlgoPerf_t* results, void* workspace, size_t bytes) {
  const Job job = with(job_of(Direction::data, x, w, conv, y), x_data, w_data, y_data, 1, 0);
  return find(handle, job, requested, found, results, workspace, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                           const cudnnTensorDescriptor_t y,
                                                           const cudnnConvolutionDescriptor_t conv,
                                                           const cudnnTensorDescriptor_t x,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  return workspace_of(job_of(Direction::data, x, w, conv, y), algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, const cudnnFilterDescriptor_t w,
                                           const void* w_data, const cudnnTensorDescriptor_t y, const void* y_data,
                                           const cudnnConvolutionDescriptor_t conv,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, size_t bytes,
                                           const void* beta, const cudnnTensorDescriptor_t x, void* x_data) {
  return run("cudnnConvolutionBackwardData", handle,
             with(job_of(Direction::data, x, w, conv, y), x_data, w_data, y_data, factor(x->block, alpha),
                  factor(x->block, beta)),
             algorithm, workspace, bytes);
}

// Backward, to the filters.

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                            const cudnnTensorDescriptor_t y,
                                                            const cudnnConvolutionDescriptor_t conv,
                                                            const cudnnFilterDescriptor_t w, const int requested,
                                                            int* found, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return list(job_of(Direction::filter, x, w, conv, y), requested, found, results);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void* x_data, const cudnnTensorDescriptor_t y,
    const void* y_data, const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t w, void* w_data,
    const int requested, int* found, cudnnConvolutionBwdFilterAlgoPerf_t* results, void* workspace, size_t bytes) {
  const Job job = with(job_of(Direction::filter, x, w, conv, y), x_data, w_data, y_data, 1, 0);
  return find(handle, job, requested, found, results, workspace, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                             const cudnnTensorDescriptor_t y,
                                                             const cudnnConvolutionDescriptor_t conv,
                                                             const cudnnFilterDescriptor_t w,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return workspace_of(job_of(Direction::filter, x, w, conv, y), algorithm, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x,
                                             const void* x_data, const cudnnTensorDescriptor_t y, const void* y_data,
                                             const cudnnConvolutionDescriptor_t conv,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, size_t bytes,
                                             const void* beta, const cudnnFilterDescriptor_t w, void* w_data) {
  return run("cudnnConvolutionBackwardFilter", handle,
             with(job_of(Direction::filter, x, w, conv, y), x_data, w_data, y_data, factor(w->block, alpha),
                  factor(w->block, beta)),
             algorithm, workspace, bytes);
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t y,
                                           const void* y_data, const void* beta, const cudnnTensorDescriptor_t bias,
                                           void* bias_data) {
  const Block4 y_shape = y->block, bias_shape = bias->block;
  if (bias_shape.dim[0] != 1 || bias_shape.dim[1] != y_shape.dim[1] || bias_shape.dim[2] != 1 || bias_shape.dim[3] != 1)
    return refuse(CUDNN_STATUS_BAD_PARAM, "the bias's shape");
  if (!is_device_memory(y_data, y_shape.bytes()) || !is_device_memory(bias_data, bias_shape.bytes()))
    return refuse(CUDNN_STATUS_BAD_PARAM, "an operand is not in the device's memory");
  const double scale = factor(y_shape, alpha), old = factor(y_shape, beta);
  return give(handle, [=] {
    const std::vector<double> grad = dense(y_shape, y_data);
    std::vector<double> sums(static_cast<std::size_t>(y_shape.dim[1]));
    const auto plane = static_cast<std::size_t>(y_shape.dim[2] * y_shape.dim[3]);
    for (std::size_t i = 0; i < grad.size(); ++i) sums[i / plane % sums.size()] += grad[i];
    blend(bias_shape, bias_data, sums, scale, old);
    return std::string();
  });
}

}  // extern "C"
