#include <minnow/tensor/cuda/libraries/conv_plan.h>

#include <array>
#include <exception>
#include <memory>
#include <minnow/tensor/cuda/runtime/capture_exemption.h>
#include <minnow/tensor/cuda/runtime/per_device.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda::cudnn {
namespace {

constexpr std::size_t kPlans = 1024;
/// The maximum workspace of an algorithm.
constexpr std::size_t kWorkspace = std::size_t{1} << 30;
/// The workspace for measuring algorithms.
constexpr std::size_t kTimedWorkspace = std::size_t{256} << 20;

/// The state of one device, made at its first convolution and never destroyed.  The mutex is held while the handle is
/// used, because cuDNN's handles are not thread-safe.
struct DeviceState {
  std::mutex mutex;
  cudnnHandle_t handle{};
  PlanCache<ConvKey, ConvPlan> plans{kPlans};
};

DeviceState& state_of(const Call& call) {
  static auto& states = *new PerDevice<DeviceState>();
  return states.of(call, [](DeviceState& state) { check(functions().create(&state.handle), "cudnnCreate"); });
}

/// The functions of one direction, which take its two inputs and its output in this order.
template <class First, class Second, class Output, class Performance> struct Family {
  using Conv = cudnnConvolutionDescriptor_t;
  using Algorithm = decltype(Performance::algo);

  cudnnStatus_t (*get)(cudnnHandle_t, First, Second, Conv, Output, int, int*, Performance*);
  cudnnStatus_t (*find)(cudnnHandle_t, First, const void*, Second, const void*, Conv, Output, void*, int, int*,
                        Performance*, void*, std::size_t);
  cudnnStatus_t (*workspace)(cudnnHandle_t, First, Second, Conv, Output, Algorithm, std::size_t*);
  cudnnStatus_t (*run)(cudnnHandle_t, const void*, First, const void*, Second, const void*, Conv, Algorithm, void*,
                       std::size_t, const void*, Output, void*);
  const char* name;
  First first;
  Second second;
  Output output;
  const void *first_data, *second_data;
  void* output_data;
};

template <class F> using Forward = Family<cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, F>;
template <class F>
using BackwardInput = Family<cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, F>;
template <class F>
using BackwardWeight = Family<cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, F>;

/// Calls use(family) with the family of a direction.
template <class Use> auto with_family(const ConvKey& key, const Descriptors& d, const ConvOperands& o, Use&& use) {
  const Functions& f = functions();
  void* out = o.output(key.direction);
  const auto x = d.x.get(), y = d.y.get();
  const auto w = d.w.get();
  switch (key.direction) {
    case ConvDirection::backward_input:
      return use(BackwardInput<cudnnConvolutionBwdDataAlgoPerf_t>{f.input_get, f.input_find, f.input_workspace, f.input,
                                                                  "cudnnConvolutionBackwardData", w, y, x, o.w, o.y,
                                                                  out});
    case ConvDirection::backward_weight:
      return use(BackwardWeight<cudnnConvolutionBwdFilterAlgoPerf_t>{f.weight_get, f.weight_find, f.weight_workspace,
                                                                     f.weight, "cudnnConvolutionBackwardFilter", x, y,
                                                                     w, o.x, o.y, out});
    case ConvDirection::forward: break;
  }
  return use(Forward<cudnnConvolutionFwdAlgoPerf_t>{f.forward_get, f.forward_find, f.forward_workspace, f.forward,
                                                    "cudnnConvolutionForward", x, w, y, o.x, o.w, out});
}

/// The math type that cuDNN may use; float32 without TF32 must be requested.
cudnnMathType_t math_of(const ConvKey& key) {
  if (is_half(key.dtype)) return CUDNN_TENSOR_OP_MATH;
  return key.dtype == DType::float32 && !key.tf32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

void set_math(const Descriptors& d, cudnnMathType_t math) {
  check(functions().conv_set_math(d.conv.get(), math), "cudnnSetConvolutionMathType");
}

/// Whether a status means "not supported".  Clears the CUDA error that the attempt may have left, which the next launch
/// would report.
bool refused(cudnnStatus_t status) {
  if (!unsupported(status)) return false;
  cudaGetLastError();
  return true;
}

bool capturing(const Call& call) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda::check(cudaStreamIsCapturing(call.stream(), &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

/// Whether another algorithm can be tried after this status: the algorithm is not supported, or failed without the
/// device. Throws if the device failed.
bool another_may(const Call& call, cudnnStatus_t status) {
  if (refused(status)) return true;
  const auto category = CUDNN_STATUS_CATEGORY(status);
  if (category != CUDNN_STATUS_INTERNAL_ERROR && category != CUDNN_STATUS_EXECUTION_FAILED) return false;
  cudaGetLastError();
  capturing(call);  // if the device failed, every call fails
  return true;
}

template <class Performance> using Results = std::array<Performance, 16>;

/// Measures the algorithms; returns their number, 0 if there is not enough memory.
template <class First, class Second, class Output, class Performance>
int find_timed(const Call& call, cudnnHandle_t handle, const Descriptors& d,
               const Family<First, Second, Output, Performance>& f, Results<Performance>& results) {
  int found = 0;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  try {
    const Scratch space(call, kTimedWorkspace);
    status = f.find(handle, f.first, f.first_data, f.second, f.second_data, d.conv.get(), f.output, f.output_data,
                    static_cast<int>(results.size()), &found, results.data(), space.as<void>(), kTimedWorkspace);
  } catch (const OutOfMemoryError&) { return 0; }
  cudaGetLastError();  // clears errors of algorithms that could not be launched
  return status == CUDNN_STATUS_SUCCESS ? found : 0;
}

/// The algorithms for a convolution, measured if the key says so, otherwise by cuDNN's heuristic, which is always used
/// while a graph is captured.
template <class First, class Second, class Output, class Performance>
std::vector<Choice> choices_of(const Call& call, cudnnHandle_t handle, const ConvKey& key, const Descriptors& d,
                               const Family<First, Second, Output, Performance>& f) {
  Results<Performance> results{};
  set_math(d, math_of(key));
  int found = key.benchmark && !capturing(call) ? find_timed(call, handle, d, f, results) : 0;
  if (found == 0) {
    const int most = static_cast<int>(results.size());
    const cudnnStatus_t status = f.get(handle, f.first, f.second, d.conv.get(), f.output, most, &found, results.data());
    if (refused(status)) return {};
    check(status, f.name);
  }
  std::vector<Choice> out;
  for (int i = 0; i < found; ++i) {
    const Performance& result = results[static_cast<std::size_t>(i)];
    if (result.status != CUDNN_STATUS_SUCCESS) continue;
    if (key.deterministic && result.determinism != CUDNN_DETERMINISTIC) continue;
    Choice choice{static_cast<int>(result.algo), math_of(key), 0};
    if (choice.math != CUDNN_FMA_MATH) choice.math = result.mathType;
    set_math(d, choice.math);  // the workspace depends on it
    const cudnnStatus_t status =
        f.workspace(handle, f.first, f.second, d.conv.get(), f.output, result.algo, &choice.workspace);
    if (status == CUDNN_STATUS_SUCCESS && choice.workspace <= kWorkspace) out.push_back(choice);
  }
  return out;
}

/// A factor for cuDNN: a double for float64, otherwise a float.
struct Scale {
  Scale(DType dtype, double value) : wide(value), single(static_cast<float>(value)), is_wide(dtype == DType::float64) {}
  const void* get() const { return is_wide ? static_cast<const void*>(&wide) : &single; }
  double wide;
  float single;
  bool is_wide;
};

/// Runs the forward convolution and its bias in one kernel, if cuDNN has one for this algorithm.
bool run_fused(const Call& call, cudnnHandle_t handle, const ConvKey& key, ConvPlan& plan, const ConvOperands& o) {
  const Choice& choice = plan.choices.front();
  if (!o.bias || !plan.fuses_bias || key.dtype == DType::float64 ||
      choice.algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
    return false;
  const Descriptors& d = plan.descriptors;
  const Scale one(key.dtype, 1), zero(key.dtype, 0);
  void* out = o.output(key.direction);
  set_math(d, choice.math);
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  try {
    const Scratch space(call, choice.workspace);
    status =
        functions().forward_bias(handle, one.get(), d.x.get(), o.x, d.w.get(), o.w, d.conv.get(),
                                 CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, space.as<void>(), choice.workspace,
                                 zero.get(), d.y.get(), out, d.bias.get(), o.bias, d.identity.get(), d.y.get(), out);
  } catch (const OutOfMemoryError&) { return false; }
  if (status != CUDNN_STATUS_SUCCESS && another_may(call, status)) {
    if (unsupported(status) && !capturing(call)) plan.fuses_bias = false;
    return false;
  }
  check(status, "cudnnConvolutionBiasActivationForward");
  call.launched();
  return true;
}

/// Runs the best algorithm that works; returns false if there is none.  Throws the error of the last one tried.  After
/// a failed one it does not try others if beta is not 0, since the old values may be overwritten.
template <class F>
bool run_best(const Call& call, cudnnHandle_t handle, const ConvKey& key, ConvPlan& plan, const F& f, double beta) {
  const Scale one(key.dtype, 1), old(key.dtype, beta);
  std::exception_ptr no_memory;
  for (std::size_t i = 0; i < plan.choices.size();) {
    const Choice& choice = plan.choices[i];
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    try {
      const Scratch space(call, choice.workspace);
      set_math(plan.descriptors, choice.math);
      status = f.run(handle, one.get(), f.first, f.first_data, f.second, f.second_data, plan.descriptors.conv.get(),
                     static_cast<typename F::Algorithm>(choice.algorithm), space.template as<void>(), choice.workspace,
                     old.get(), f.output, f.output_data);
    } catch (const OutOfMemoryError&) {
      no_memory = std::current_exception();  // another time there may be enough memory
      ++i;
      continue;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
      call.launched();
      return true;
    }
    const bool others = i + 1 < plan.choices.size() && beta == 0;
    if (!another_may(call, status) || (!unsupported(status) && !others)) check(status, f.name);
    // Struck out is what never works, but not in a capture, which may be the reason.
    if (unsupported(status) && !capturing(call))
      plan.choices.erase(plan.choices.begin() + static_cast<std::ptrdiff_t>(i));
    else ++i;
  }
  if (no_memory) std::rethrow_exception(no_memory);
  return false;
}

}  // namespace

ConvResult run(const Call& call, const ConvKey& key, const ConvOperands& operands) {
  DeviceState& state = state_of(call);
  const std::lock_guard lock(state.mutex);
  const LibraryScope scope;
  check(functions().set_stream(state.handle, call.stream()), "cudnnSetStream");
  const auto choose = [&](ConvPlan& plan) {
    plan.is_to_be_measured = key.benchmark && capturing(call);
    plan.choices = with_family(key, plan.descriptors, operands, [&](const auto& family) {
      return choices_of(call, state.handle, key, plan.descriptors, family);
    });
  };
  const auto plan = state.plans.get(key, [&] {
    auto made = std::make_shared<ConvPlan>(key);
    choose(*made);
    return made;
  });
  if (plan->is_to_be_measured && !capturing(call)) choose(*plan);
  if (plan->choices.empty()) return ConvResult::refused;
  if (run_fused(call, state.handle, key, *plan, operands)) return ConvResult::done_with_bias;
  const bool done = with_family(key, plan->descriptors, operands, [&](const auto& family) {
    return run_best(call, state.handle, key, *plan, family, operands.beta);
  });
  return done ? ConvResult::done : ConvResult::refused;
}

}  // namespace minnow::cuda::cudnn
