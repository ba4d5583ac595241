#include <minnow/tensor/cpu/onednn/onednn.h>

#include <algorithm>
#include <omp.h>
#include <string>
#include <sys/mman.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/profile.h>

namespace minnow::cpu::onednn {
namespace {

template <class F> auto guarded(std::string_view op, const F& f) {
  require_address_space(op);
  try {
    return f();
  } catch (const dnnl::error& error) { fail(op, error); }
}

memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

memory::dims pair(const std::int64_t (&values)[2]) { return {values[0], values[1]}; }

/// oneDNN adds padding to them in 32 bits; those that are longer than any image have the same effect.
memory::dims strides_of(const Conv2dParams& params) {
  constexpr std::int64_t kMost = 1 << 30;
  return {std::min(params.stride[0], kMost), std::min(params.stride[1], kMost)};
}

/// The padding after the last row and column.
memory::dims end_padding(const Conv2dParams& params, const ConvDescs& d) {
  return {d.bottom == ConvDescs::kAsTop ? params.padding[0] : d.bottom, params.padding[1]};
}

/// oneDNN counts dilation from 0.
memory::dims dilation_of(const Conv2dParams& params) { return {params.dilation[0] - 1, params.dilation[1] - 1}; }

dnnl::primitive_attr attributes(const Epilogue& epilogue) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops post;
  const auto alpha = static_cast<float>(epilogue.alpha), beta = static_cast<float>(epilogue.beta);
  if (alpha != 1.0f) {
#if DNNL_VERSION_MAJOR >= 3
    post.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0.0f);
#else
    post.append_eltwise(1.0f, dnnl::algorithm::eltwise_linear, alpha, 0.0f);
#endif
  }
  if (beta != 0.0f) post.append_sum(beta);
  if (post.len() > 0) attr.set_post_ops(post);
  return attr;
}

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr auto kTraining = dnnl::prop_kind::forward_training;

[[noreturn]] void out_of_memory(std::string_view op) {
  throw OutOfMemoryError(std::string(op) +
                             ": no memory on cpu for a oneDNN primitive\nuse smaller batches or a smaller "
                             "model, or lift the limit of memory (ulimit -v)",
                         CallSite::where());
}

/// Makes the plan of an operation: from its arguments in 3.x, from a descriptor made of them in 2.x.
template <class Operation, class... Hint, class... Args>
auto make_plan(const dnnl::primitive_attr& attr, const std::tuple<Hint...>& hint, const Args&... args) {
  constexpr bool kAllowEmpty = true;
#if DNNL_VERSION_MAJOR >= 3
  return std::apply(
      [&](const auto&... h) { return typename Operation::primitive_desc(engine(), args..., h..., attr, kAllowEmpty); },
      hint);
#else
  return std::apply(
      [&](const auto&... h) {
        return typename Operation::primitive_desc(typename Operation::desc(args...), attr, engine(), h..., kAllowEmpty);
      },
      hint);
#endif
}

/// Whether oneDNN would run the plain loops that its kernels are tested against: they take hundreds of times as long,
/// so that another division, layout or algorithm is always better.
template <class Plan> bool is_reference(const Plan& plan) {
  return plan && std::string_view(plan.impl_info_str()).find("ref") != std::string_view::npos;
}
template <class Plan> Plan unless_reference(const Plan& plan) { return is_reference(plan) ? Plan() : plan; }

dnnl::convolution_forward::primitive_desc any_conv_plan(const Conv2dParams& params, const ConvDescs& d,
                                                        Epilogue epilogue) {
  return make_plan<dnnl::convolution_forward>(attributes(epilogue), std::tuple<>(), kTraining, kDirect, d.x, d.w,
                                              d.bias, d.y, strides_of(params), dilation_of(params),
                                              pair(params.padding), end_padding(params, d));
}

}  // namespace

void fail(std::string_view op, const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) out_of_memory(op);
  throw BackendError(std::string(op) + ": oneDNN failed with status " + std::to_string(error.status) + ": " +
                         error.what() + "\nthis is an error in oneDNN or in minnow: report it with the shapes",
                     CallSite::where());
}

const dnnl::engine& engine() {
  static const auto* cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // never destroyed
  return *cpu;
}

void require_address_space(std::string_view op) {
  constexpr std::size_t kRoom = 32 << 20;  // several times the code and tables of a primitive
  void* probe = ::mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) out_of_memory(op);
  ::munmap(probe, kRoom);
}

OneThread::OneThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

memory::data_type type_of(DType dtype) {
  switch (dtype) {
    case DType::bfloat16: return memory::data_type::bf16;
    case DType::float16: return memory::data_type::f16;
    case DType::uint8: return memory::data_type::u8;
    case DType::int8: return memory::data_type::s8;
    case DType::int32: return memory::data_type::s32;
    default: return memory::data_type::f32;
  }
}

memory::desc desc_of(const Shape& shape, const Strides& strides, DType dtype) {
  return memory::desc(dims_of(shape), type_of(dtype), dims_of(strides));
}

memory::desc desc_of(const View& tensor) { return desc_of(tensor.shape(), tensor.strides(), tensor.dtype()); }

memory::desc any_layout(const Shape& shape, DType dtype) {
  return memory::desc(dims_of(shape), type_of(dtype), memory::format_tag::any);
}

memory::desc nothing() { return {}; }

dnnl::matmul::primitive_desc matmul_plan(std::string_view op, const memory::desc& a, const memory::desc& b,
                                         const memory::desc& bias, const memory::desc& out, Epilogue epilogue,
                                         WithoutKernel otherwise) {
  return guarded(op, [&] {
    auto plan = make_plan<dnnl::matmul>(attributes(epilogue), std::tuple<>(), a, b, bias, out);
    if (!is_reference(plan)) return plan;
    if (otherwise == WithoutKernel::nothing) return dnnl::matmul::primitive_desc();
    profile::detail::note_slow_path(op, "oneDNN has plain loops only for these operands on this processor");
    return plan;
  });
}

dnnl::convolution_forward::primitive_desc conv_plan(std::string_view op, const Conv2dParams& params, const ConvDescs& d,
                                                    Epilogue epilogue) {
  return guarded(op, [&] { return unless_reference(any_conv_plan(params, d, epilogue)); });
}

dnnl::convolution_backward_data::primitive_desc conv_input_plan(std::string_view op, const Conv2dParams& params,
                                                                const ConvDescs& d) {
  const memory::dims padding = pair(params.padding), end = end_padding(params, d);
  return guarded(op, [&] {
    const auto forward = any_conv_plan(params, d, {});
    if (!forward) return dnnl::convolution_backward_data::primitive_desc();
    return unless_reference(make_plan<dnnl::convolution_backward_data>(attributes({}), std::tie(forward), kDirect, d.x,
                                                                       d.w, d.y, strides_of(params),
                                                                       dilation_of(params), padding, end));
  });
}

dnnl::convolution_backward_weights::primitive_desc conv_weight_plan(std::string_view op, const Conv2dParams& params,
                                                                    const ConvDescs& d, const memory::desc& w) {
  const memory::dims padding = pair(params.padding), end = end_padding(params, d);
  return guarded(op, [&] {
    ConvDescs taken = d;
    taken.w = w;
    const auto forward = any_conv_plan(params, taken, {});
    if (!forward) return dnnl::convolution_backward_weights::primitive_desc();
    return unless_reference(make_plan<dnnl::convolution_backward_weights>(attributes({}), std::tie(forward), kDirect,
                                                                          d.x, d.w, d.bias, d.y, strides_of(params),
                                                                          dilation_of(params), padding, end));
  });
}

void sgemm(std::string_view op, const Gemm& g) {
  const dnnl_status_t status =
      dnnl_sgemm(g.transpose_a ? 'T' : 'N', g.transpose_b ? 'T' : 'N', g.m, g.n, g.k, static_cast<float>(g.alpha), g.a,
                 g.lda, g.b, g.ldb, static_cast<float>(g.beta), g.c, g.ldc);
  if (status != dnnl_success) fail(op, dnnl::error(status, "could not multiply matrices"));
}

}  // namespace minnow::cpu::onednn
