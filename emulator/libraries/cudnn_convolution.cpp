// cuDNN's convolutions as NVIDIA documents them, as simple loops that run as work of an emulated stream.

#include <algorithm>
#include <cmath>
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
  if (choices_seed() != 0 && job.x.type == CUDNN_DATA_BFLOAT16 && m.groups > 1)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "bfloat16 in groups");
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

/// What a program that reads the list must expect of an algorithm.
enum class Kind {
  sums,       // as a convolution is defined
  transform,  // Winograd's or Fourier's, with an error of its own; for some filters only
  absent,     // listed with a status that says no
  refuses,    // listed as if it could run
};

/// An algorithm, and the workspace that it needs (twice as much for tensor cores).
template <class Algorithm> struct Offer {
  Algorithm algorithm;
  Kind kind;
  cudnnDeterminism_t determinism;
  std::size_t workspace;
};

// In the order in which they are offered.  The last one of those that compute sums is never refused.
std::vector<Offer<cudnnConvolutionFwdAlgo_t>> offers(cudnnConvolutionFwdAlgo_t) {
  return {{CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, Kind::absent, CUDNN_DETERMINISTIC, 0},
          {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, Kind::sums, CUDNN_DETERMINISTIC, 4096},
          {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, Kind::transform, CUDNN_DETERMINISTIC, 16384},
          {CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, Kind::transform, CUDNN_DETERMINISTIC, 32768},
          {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, Kind::refuses, CUDNN_DETERMINISTIC, 4096},
          {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, Kind::sums, CUDNN_DETERMINISTIC, 0}};
}
std::vector<Offer<cudnnConvolutionBwdDataAlgo_t>> offers(cudnnConvolutionBwdDataAlgo_t) {
  return {{CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, Kind::absent, CUDNN_DETERMINISTIC, 0},
          {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, Kind::sums, CUDNN_NON_DETERMINISTIC, 0},
          {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, Kind::sums, CUDNN_DETERMINISTIC, 8192},
          {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, Kind::transform, CUDNN_DETERMINISTIC, 16384},
          {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, Kind::refuses, CUDNN_DETERMINISTIC, 32768}};
}
std::vector<Offer<cudnnConvolutionBwdFilterAlgo_t>> offers(cudnnConvolutionBwdFilterAlgo_t) {
  return {{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, Kind::absent, CUDNN_DETERMINISTIC, 0},
          {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, Kind::sums, CUDNN_NON_DETERMINISTIC, 0},
          {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, Kind::sums, CUDNN_DETERMINISTIC, 12288},
          {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, Kind::transform, CUDNN_DETERMINISTIC, 16384},
          {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, Kind::refuses, CUDNN_NON_DETERMINISTIC, 0}};
}

constexpr bool never_refused(cudnnConvolutionFwdAlgo_t a) { return a == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM; }
constexpr bool never_refused(cudnnConvolutionBwdDataAlgo_t a) { return a == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1; }
constexpr bool never_refused(cudnnConvolutionBwdFilterAlgo_t a) { return a == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1; }

/// Whether there is a transform for this convolution.
bool transforms(const Job& job) {
  const Movement& m = job.movement;
  return job.x.type == CUDNN_DATA_FLOAT && job.w.format == CUDNN_TENSOR_NCHW && job.w.dim[2] == 3 &&
         job.w.dim[3] == 3 && m.step[0] == 1 && m.step[1] == 1 && m.dilation[0] == 1 && m.dilation[1] == 1 &&
         m.groups == 1;
}

std::uint64_t configuration(const Job& job) {
  std::uint64_t hash =
      mixed(1, {static_cast<std::uint64_t>(job.direction), static_cast<std::uint64_t>(job.movement.groups)});
  for (const Block4* block : {&job.x, &job.w, &job.y}) {
    hash = mixed(hash, {static_cast<std::uint64_t>(block->type), static_cast<std::uint64_t>(block->format)});
    for (const std::int64_t size : block->dim) hash = mixed(hash, static_cast<std::uint64_t>(size));
  }
  return hash;
}

template <class Algorithm> std::size_t workspace_for(const Job& job, const Offer<Algorithm>& offer) {
  return offer.workspace * (job.movement.math == CUDNN_TENSOR_OP_MATH ? 2 : 1);
}

/// The algorithms for a convolution: by judgement, or as if measured, where a transform is the fastest.
template <class Performance>
cudnnStatus_t list(const Job& job, bool measured, int requested, int* found, Performance* results) {
  *found = 0;
  if (requested < 1) return refuse(CUDNN_STATUS_BAD_PARAM, "the number of results");
  if (const cudnnStatus_t status = examine(job); status != CUDNN_STATUS_SUCCESS) return status;
  auto all = offers(decltype(Performance::algo){});
  if (!transforms(job)) std::erase_if(all, [](const auto& offer) { return offer.kind == Kind::transform; });
  if (measured)
    std::stable_partition(all.begin(), all.end(), [](const auto& offer) { return offer.kind == Kind::transform; });
  shuffle(all, configuration(job));
  for (const auto& offer : all) {
    if (*found == requested) break;
    Performance& result = results[(*found)++];
    result = {};
    result.algo = offer.algorithm;
    result.status = offer.kind == Kind::absent ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
    result.determinism = offer.determinism;
    // Not each algorithm uses the math type that was asked for.
    result.mathType =
        job.movement.math == CUDNN_TENSOR_OP_MATH && offer.kind != Kind::sums ? CUDNN_DEFAULT_MATH : job.movement.math;
    Job as_listed = job;
    as_listed.movement.math = result.mathType;
    result.memory = workspace_for(as_listed, offer);
    result.time = offer.kind == Kind::absent ? -1.0f : static_cast<float>(*found);
  }
  return CUDNN_STATUS_SUCCESS;
}

/// Measures the algorithms: waits for the stream, and leaves the output undefined.
template <class Performance>
cudnnStatus_t find(cudnnHandle_t handle, Job job, int requested, int* found, Performance* results, void* workspace,
                   std::size_t bytes) {
  const cudnnStatus_t status = list(job, true, requested, found, results);
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

template <class Algorithm> cudnnStatus_t find_offer(const Job& job, Algorithm algorithm, Offer<Algorithm>& found) {
  if (const cudnnStatus_t status = examine(job); status != CUDNN_STATUS_SUCCESS) return status;
  for (const auto& offer : offers(algorithm))
    if (offer.algorithm == algorithm && offer.kind != Kind::absent &&
        (offer.kind != Kind::transform || transforms(job))) {
      found = offer;
      return CUDNN_STATUS_SUCCESS;
    }
  return refuse(CUDNN_STATUS_NOT_SUPPORTED, "an algorithm that the emulated cuDNN does not have");
}

template <class Algorithm> cudnnStatus_t workspace_of(const Job& job, Algorithm algorithm, std::size_t* bytes) {
  Offer<Algorithm> offer{};
  const cudnnStatus_t status = find_offer(job, algorithm, offer);
  if (status == CUDNN_STATUS_SUCCESS) *bytes = workspace_for(job, offer);
  return status;
}

/// What an algorithm does to the result of the sums.
struct Inexact {
  bool transform = false;  // an error of 1e-5 of the typical element, the same in each run
  bool noisy = false;      // sums by atomics: the last bit differs from run to run

  template <class T> void apply(std::vector<T>& values) const {
    static std::uint64_t runs = 0;
    if (transform) {
      double squares = 0;
      for (const T value : values) squares += static_cast<double>(value) * static_cast<double>(value);
      const double error = 1e-5 * std::sqrt(squares / static_cast<double>(values.size()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<T>(error * noise(0, i));
    }
    if (noisy) {
      ++runs;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = noise(runs, i);
        if (std::abs(x) > 0.5) values[i] = std::nextafter(values[i], static_cast<T>(x > 0 ? HUGE_VAL : -HUGE_VAL));
      }
    }
  }
};

template <class T> void perform_in(const Job& job, const Inexact& inexact) {
  const auto read = [&](Direction as_output, const Block4& shape, const void* data) {
    return job.direction == as_output ? std::vector<T>(static_cast<std::size_t>(shape.count()))
                                      : dense<T>(shape, data, tf32(job));
  };
  std::vector<T> x = read(Direction::data, job.x, job.x_data), w = read(Direction::filter, job.w, job.w_data),
                 y = read(Direction::forward, job.y, job.y_data);
  convolve(job.direction, job.movement, job.x, job.w, job.y, x, w, y);
  auto& result = job.direction == Direction::forward ? y : job.direction == Direction::data ? x : w;
  inexact.apply(result);
  blend(job.output(), job.output_data(), result, job.alpha, job.beta);
}

void perform(const Job& job, const Inexact& inexact) {
  if (job.x.type == CUDNN_DATA_DOUBLE) perform_in<double>(job, inexact);
  else perform_in<float>(job, inexact);
}

bool aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

/// Tensor cores load and store vectors.
bool needs_alignment(const Job& job) {
  return job.x.type == CUDNN_DATA_HALF || job.x.type == CUDNN_DATA_BFLOAT16 || tf32(job);
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
                    Offer<Algorithm>& offer) {
  if (const int status = library_status(function, algorithm))
    return refuse(static_cast<cudnnStatus_t>(status), "requested by the test");
  if (const cudnnStatus_t status = find_offer(job, algorithm, offer); status != CUDNN_STATUS_SUCCESS) return status;
  offer.workspace = workspace_for(job, offer);
  if (offer.kind == Kind::refuses || (!never_refused(algorithm) && refuses(configuration(job), algorithm)))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "this algorithm was listed, and cannot run");
  if (bytes < offer.workspace || (offer.workspace && !is_device_memory(workspace, bytes)))
    return refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "the workspace is too small, or not the device's");
  if (!is_device_memory(job.x_data, job.x.bytes()) || !is_device_memory(job.w_data, job.w.bytes()) ||
      !is_device_memory(job.y_data, job.y.bytes()))
    return refuse(CUDNN_STATUS_BAD_PARAM, "an operand is not in the device's memory");
  if (needs_alignment(job) && !(aligned(job.x_data) && aligned(job.w_data) && aligned(job.y_data)))
    return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "tensor cores need operands aligned to 16 bytes");
  if (first_use(function, mixed(configuration(job), static_cast<std::uint64_t>(algorithm))) != cudaSuccess)
    return refuse(CUDNN_STATUS_EXECUTION_FAILED, "the first use of a kernel in a capture");
  return CUDNN_STATUS_SUCCESS;
}

template <class Algorithm>
cudnnStatus_t run(const char* function, cudnnHandle_t handle, const Job& job, Algorithm algorithm, void* workspace,
                  std::size_t bytes) {
  Offer<Algorithm> offer{};
  if (const cudnnStatus_t status = check(function, job, algorithm, workspace, bytes, offer);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  const Inexact inexact{offer.kind == Kind::transform, offer.determinism == CUDNN_NON_DETERMINISTIC};
  return give(handle, [=, needed = offer.workspace] {
    if (needed) std::memset(workspace, 0x7f, needed);  // it is the library's to write
    perform(job, inexact);
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
  return list(job_of(Direction::forward, x, w, conv, y), false, requested, found, results);
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
  Offer<cudnnConvolutionFwdAlgo_t> offer{};
  if (const cudnnStatus_t status =
          check("cudnnConvolutionBiasActivationForward", job, algorithm, workspace, bytes, offer);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  const double z_factor = factor(y->block, alpha2);
  const Block4 z_shape = z->block, bias_shape = bias->block;
  if (!is_device_memory(bias_data, bias_shape.bytes()) || (z_factor != 0 && !is_device_memory(z_data, z_shape.bytes())))
    return refuse(CUDNN_STATUS_BAD_PARAM, "bias or z is not in the device's memory");
  if (!aligned(bias_data) || (z_factor != 0 && !aligned(z_data)))
    return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "bias or z is not aligned to 16 bytes");
  return give(handle, [=, scale = static_cast<float>(job.alpha), z_scale = static_cast<float>(z_factor)] {
    std::vector<float> in = dense<float>(job.x, job.x_data, tf32(job)),
                       filter = dense<float>(job.w, job.w_data, tf32(job));
    std::vector<float> out(static_cast<std::size_t>(job.y.count()));
    convolve(Direction::forward, job.movement, job.x, job.w, job.y, in, filter, out);
    Inexact{offer.kind == Kind::transform, false}.apply(out);
    const std::vector<float> added = dense<float>(bias_shape, bias_data);
    const std::vector<float> more = z_scale != 0 ? dense<float>(z_shape, z_data) : std::vector<float>(out.size());
    const auto plane = static_cast<std::size_t>(job.y.dim[2] * job.y.dim[3]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = scale * out[i] + z_scale * more[i] + added[i / plane % added.size()];
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
  return list(job_of(Direction::data, x, w, conv, y), false, requested, found, results);
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
  return list(job_of(Direction::filter, x, w, conv, y), false, requested, found, results);
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
    const auto sum = [&](auto zero) {
      const auto grad = dense<decltype(zero)>(y_shape, y_data);
      std::vector<decltype(zero)> sums(static_cast<std::size_t>(y_shape.dim[1]));
      const auto plane = static_cast<std::size_t>(y_shape.dim[2] * y_shape.dim[3]);
      for (std::size_t turn = 0; turn < grad.size(); ++turn) {
        const auto i =
            static_cast<std::size_t>(in_order(static_cast<std::int64_t>(turn), static_cast<std::int64_t>(grad.size())));
        sums[i / plane % sums.size()] += grad[i];
      }
      blend(bias_shape, bias_data, sums, scale, old);
    };
    if (y_shape.type == CUDNN_DATA_DOUBLE) sum(0.0);
    else sum(0.0f);
    return std::string();
  });
}

}  // extern "C"
