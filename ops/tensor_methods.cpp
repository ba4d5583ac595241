// Written by ops/make_methods.py from the functions in ops: change those and run it.
// clang-format off
#include <minnow/tensor/methods.h>

#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/norms/cross_entropy.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/ops/random/sample.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/ops/indexing/sort.h>

namespace minnow::detail {

const Tensor& Methods::self() const { return static_cast<const Tensor&>(*this); }

Tensor Methods::add(const TensorLike& b, SourceLocation where) const { return minnow::add({self(), where}, b); }
Tensor Methods::add_(const TensorLike& other, SourceLocation where) const { return minnow::add_({self(), where}, other); }
Tensor Methods::sub(const TensorLike& b, SourceLocation where) const { return minnow::sub({self(), where}, b); }
Tensor Methods::sub_(const TensorLike& other, SourceLocation where) const { return minnow::sub_({self(), where}, other); }
Tensor Methods::mul(const TensorLike& b, SourceLocation where) const { return minnow::mul({self(), where}, b); }
Tensor Methods::mul_(const TensorLike& other, SourceLocation where) const { return minnow::mul_({self(), where}, other); }
Tensor Methods::div(const TensorLike& b, SourceLocation where) const { return minnow::div({self(), where}, b); }
Tensor Methods::div_(const TensorLike& other, SourceLocation where) const { return minnow::div_({self(), where}, other); }
Tensor Methods::div(const TensorLike& b, Rounding rounding, SourceLocation where) const { return minnow::div({self(), where}, b, rounding); }
Tensor Methods::floor_divide(const TensorLike& b, SourceLocation where) const { return minnow::floor_divide({self(), where}, b); }
Tensor Methods::floor_divide_(const TensorLike& other, SourceLocation where) const { return minnow::floor_divide_({self(), where}, other); }
Tensor Methods::fmod(const TensorLike& b, SourceLocation where) const { return minnow::fmod({self(), where}, b); }
Tensor Methods::fmod_(const TensorLike& other, SourceLocation where) const { return minnow::fmod_({self(), where}, other); }
Tensor Methods::remainder(const TensorLike& b, SourceLocation where) const { return minnow::remainder({self(), where}, b); }
Tensor Methods::remainder_(const TensorLike& other, SourceLocation where) const { return minnow::remainder_({self(), where}, other); }
Tensor Methods::pow(const TensorLike& b, SourceLocation where) const { return minnow::pow({self(), where}, b); }
Tensor Methods::pow_(const TensorLike& other, SourceLocation where) const { return minnow::pow_({self(), where}, other); }
Tensor Methods::maximum(const TensorLike& b, SourceLocation where) const { return minnow::maximum({self(), where}, b); }
Tensor Methods::maximum_(const TensorLike& other, SourceLocation where) const { return minnow::maximum_({self(), where}, other); }
Tensor Methods::minimum(const TensorLike& b, SourceLocation where) const { return minnow::minimum({self(), where}, b); }
Tensor Methods::minimum_(const TensorLike& other, SourceLocation where) const { return minnow::minimum_({self(), where}, other); }
Tensor Methods::fmax(const TensorLike& b, SourceLocation where) const { return minnow::fmax({self(), where}, b); }
Tensor Methods::fmin(const TensorLike& b, SourceLocation where) const { return minnow::fmin({self(), where}, b); }
Tensor Methods::atan2(const TensorLike& b, SourceLocation where) const { return minnow::atan2({self(), where}, b); }
Tensor Methods::hypot(const TensorLike& b, SourceLocation where) const { return minnow::hypot({self(), where}, b); }
Tensor Methods::copysign(const TensorLike& b, SourceLocation where) const { return minnow::copysign({self(), where}, b); }
Tensor Methods::logaddexp(const TensorLike& b, SourceLocation where) const { return minnow::logaddexp({self(), where}, b); }
Tensor Methods::eq(const TensorLike& b, SourceLocation where) const { return minnow::eq({self(), where}, b); }
Tensor Methods::ne(const TensorLike& b, SourceLocation where) const { return minnow::ne({self(), where}, b); }
Tensor Methods::lt(const TensorLike& b, SourceLocation where) const { return minnow::lt({self(), where}, b); }
Tensor Methods::le(const TensorLike& b, SourceLocation where) const { return minnow::le({self(), where}, b); }
Tensor Methods::gt(const TensorLike& b, SourceLocation where) const { return minnow::gt({self(), where}, b); }
Tensor Methods::ge(const TensorLike& b, SourceLocation where) const { return minnow::ge({self(), where}, b); }
bool Methods::equal(const In& b, SourceLocation where) const { return minnow::equal({self(), where}, b); }
Tensor Methods::isclose(const In& b, double rtol, double atol, bool equal_nan, SourceLocation where) const { return minnow::isclose({self(), where}, b, rtol, atol, equal_nan); }
bool Methods::allclose(const In& b, double rtol, double atol, bool equal_nan, SourceLocation where) const { return minnow::allclose({self(), where}, b, rtol, atol, equal_nan); }
Tensor Methods::logical_and(const TensorLike& b, SourceLocation where) const { return minnow::logical_and({self(), where}, b); }
Tensor Methods::logical_or(const TensorLike& b, SourceLocation where) const { return minnow::logical_or({self(), where}, b); }
Tensor Methods::logical_xor(const TensorLike& b, SourceLocation where) const { return minnow::logical_xor({self(), where}, b); }
Tensor Methods::bitwise_and(const TensorLike& b, SourceLocation where) const { return minnow::bitwise_and({self(), where}, b); }
Tensor Methods::bitwise_or(const TensorLike& b, SourceLocation where) const { return minnow::bitwise_or({self(), where}, b); }
Tensor Methods::bitwise_xor(const TensorLike& b, SourceLocation where) const { return minnow::bitwise_xor({self(), where}, b); }
Tensor Methods::left_shift(const TensorLike& b, SourceLocation where) const { return minnow::left_shift({self(), where}, b); }
Tensor Methods::right_shift(const TensorLike& b, SourceLocation where) const { return minnow::right_shift({self(), where}, b); }
Tensor Methods::clamp(const TensorLike& low, const TensorLike& high, SourceLocation where) const { return minnow::clamp({self(), where}, low, high); }
Tensor Methods::clamp_min(const In& low, SourceLocation where) const { return minnow::clamp_min({self(), where}, low); }
Tensor Methods::clamp_max(const In& high, SourceLocation where) const { return minnow::clamp_max({self(), where}, high); }
Tensor Methods::lerp(const In& b, const TensorLike& weight, SourceLocation where) const { return minnow::lerp({self(), where}, b, weight); }
Tensor Methods::add(const In& b, Scalar alpha, SourceLocation where) const { return minnow::add({self(), where}, b, alpha); }
Tensor Methods::add_(const In& other, Scalar alpha, SourceLocation where) const { return minnow::add_({self(), where}, other, alpha); }
Tensor Methods::sub(const In& b, Scalar alpha, SourceLocation where) const { return minnow::sub({self(), where}, b, alpha); }
Tensor Methods::sub_(const In& other, Scalar alpha, SourceLocation where) const { return minnow::sub_({self(), where}, other, alpha); }
Tensor Methods::addcmul(const In& b, const In& c, double value, SourceLocation where) const { return minnow::addcmul({self(), where}, b, c, value); }
Tensor Methods::addcdiv(const In& b, const In& c, double value, SourceLocation where) const { return minnow::addcdiv({self(), where}, b, c, value); }
Tensor Methods::copy_(const In& source, SourceLocation where) const { return minnow::copy_({self(), where}, source); }
Tensor Methods::fill_(Scalar value, SourceLocation where) const { return minnow::fill_({self(), where}, value); }
Tensor Methods::zero_(SourceLocation where) const { return minnow::zero_({self(), where}); }
Tensor Methods::neg(SourceLocation where) const { return minnow::neg({self(), where}); }
Tensor Methods::neg_(SourceLocation where) const { return minnow::neg_({self(), where}); }
Tensor Methods::abs(SourceLocation where) const { return minnow::abs({self(), where}); }
Tensor Methods::abs_(SourceLocation where) const { return minnow::abs_({self(), where}); }
Tensor Methods::sign(SourceLocation where) const { return minnow::sign({self(), where}); }
Tensor Methods::exp(SourceLocation where) const { return minnow::exp({self(), where}); }
Tensor Methods::exp_(SourceLocation where) const { return minnow::exp_({self(), where}); }
Tensor Methods::exp2(SourceLocation where) const { return minnow::exp2({self(), where}); }
Tensor Methods::expm1(SourceLocation where) const { return minnow::expm1({self(), where}); }
Tensor Methods::log(SourceLocation where) const { return minnow::log({self(), where}); }
Tensor Methods::log_(SourceLocation where) const { return minnow::log_({self(), where}); }
Tensor Methods::log2(SourceLocation where) const { return minnow::log2({self(), where}); }
Tensor Methods::log10(SourceLocation where) const { return minnow::log10({self(), where}); }
Tensor Methods::log1p(SourceLocation where) const { return minnow::log1p({self(), where}); }
Tensor Methods::sqrt(SourceLocation where) const { return minnow::sqrt({self(), where}); }
Tensor Methods::sqrt_(SourceLocation where) const { return minnow::sqrt_({self(), where}); }
Tensor Methods::rsqrt(SourceLocation where) const { return minnow::rsqrt({self(), where}); }
Tensor Methods::rsqrt_(SourceLocation where) const { return minnow::rsqrt_({self(), where}); }
Tensor Methods::square(SourceLocation where) const { return minnow::square({self(), where}); }
Tensor Methods::square_(SourceLocation where) const { return minnow::square_({self(), where}); }
Tensor Methods::reciprocal(SourceLocation where) const { return minnow::reciprocal({self(), where}); }
Tensor Methods::reciprocal_(SourceLocation where) const { return minnow::reciprocal_({self(), where}); }
Tensor Methods::sin(SourceLocation where) const { return minnow::sin({self(), where}); }
Tensor Methods::sin_(SourceLocation where) const { return minnow::sin_({self(), where}); }
Tensor Methods::cos(SourceLocation where) const { return minnow::cos({self(), where}); }
Tensor Methods::cos_(SourceLocation where) const { return minnow::cos_({self(), where}); }
Tensor Methods::tan(SourceLocation where) const { return minnow::tan({self(), where}); }
Tensor Methods::asin(SourceLocation where) const { return minnow::asin({self(), where}); }
Tensor Methods::acos(SourceLocation where) const { return minnow::acos({self(), where}); }
Tensor Methods::atan(SourceLocation where) const { return minnow::atan({self(), where}); }
Tensor Methods::sinh(SourceLocation where) const { return minnow::sinh({self(), where}); }
Tensor Methods::cosh(SourceLocation where) const { return minnow::cosh({self(), where}); }
Tensor Methods::tanh(SourceLocation where) const { return minnow::tanh({self(), where}); }
Tensor Methods::tanh_(SourceLocation where) const { return minnow::tanh_({self(), where}); }
Tensor Methods::asinh(SourceLocation where) const { return minnow::asinh({self(), where}); }
Tensor Methods::acosh(SourceLocation where) const { return minnow::acosh({self(), where}); }
Tensor Methods::atanh(SourceLocation where) const { return minnow::atanh({self(), where}); }
Tensor Methods::erf(SourceLocation where) const { return minnow::erf({self(), where}); }
Tensor Methods::erfc(SourceLocation where) const { return minnow::erfc({self(), where}); }
Tensor Methods::erfinv(SourceLocation where) const { return minnow::erfinv({self(), where}); }
Tensor Methods::erfinv_(SourceLocation where) const { return minnow::erfinv_({self(), where}); }
Tensor Methods::lgamma(SourceLocation where) const { return minnow::lgamma({self(), where}); }
Tensor Methods::digamma(SourceLocation where) const { return minnow::digamma({self(), where}); }
Tensor Methods::logit(SourceLocation where) const { return minnow::logit({self(), where}); }
Tensor Methods::floor(SourceLocation where) const { return minnow::floor({self(), where}); }
Tensor Methods::floor_(SourceLocation where) const { return minnow::floor_({self(), where}); }
Tensor Methods::ceil(SourceLocation where) const { return minnow::ceil({self(), where}); }
Tensor Methods::ceil_(SourceLocation where) const { return minnow::ceil_({self(), where}); }
Tensor Methods::round(SourceLocation where) const { return minnow::round({self(), where}); }
Tensor Methods::round_(SourceLocation where) const { return minnow::round_({self(), where}); }
Tensor Methods::trunc(SourceLocation where) const { return minnow::trunc({self(), where}); }
Tensor Methods::trunc_(SourceLocation where) const { return minnow::trunc_({self(), where}); }
Tensor Methods::frac(SourceLocation where) const { return minnow::frac({self(), where}); }
Tensor Methods::isnan(SourceLocation where) const { return minnow::isnan({self(), where}); }
Tensor Methods::isinf(SourceLocation where) const { return minnow::isinf({self(), where}); }
Tensor Methods::isfinite(SourceLocation where) const { return minnow::isfinite({self(), where}); }
Tensor Methods::logical_not(SourceLocation where) const { return minnow::logical_not({self(), where}); }
Tensor Methods::bitwise_not(SourceLocation where) const { return minnow::bitwise_not({self(), where}); }
Tensor Methods::sigmoid(SourceLocation where) const { return minnow::sigmoid({self(), where}); }
Tensor Methods::sigmoid_(SourceLocation where) const { return minnow::sigmoid_({self(), where}); }
Tensor Methods::log_sigmoid(SourceLocation where) const { return minnow::log_sigmoid({self(), where}); }
Tensor Methods::relu(SourceLocation where) const { return minnow::relu({self(), where}); }
Tensor Methods::relu_(SourceLocation where) const { return minnow::relu_({self(), where}); }
Tensor Methods::relu6(SourceLocation where) const { return minnow::relu6({self(), where}); }
Tensor Methods::selu(SourceLocation where) const { return minnow::selu({self(), where}); }
Tensor Methods::gelu(SourceLocation where) const { return minnow::gelu({self(), where}); }
Tensor Methods::gelu_(SourceLocation where) const { return minnow::gelu_({self(), where}); }
Tensor Methods::gelu_tanh(SourceLocation where) const { return minnow::gelu_tanh({self(), where}); }
Tensor Methods::silu(SourceLocation where) const { return minnow::silu({self(), where}); }
Tensor Methods::silu_(SourceLocation where) const { return minnow::silu_({self(), where}); }
Tensor Methods::mish(SourceLocation where) const { return minnow::mish({self(), where}); }
Tensor Methods::hardswish(SourceLocation where) const { return minnow::hardswish({self(), where}); }
Tensor Methods::hardsigmoid(SourceLocation where) const { return minnow::hardsigmoid({self(), where}); }
Tensor Methods::softsign(SourceLocation where) const { return minnow::softsign({self(), where}); }
Tensor Methods::tanhshrink(SourceLocation where) const { return minnow::tanhshrink({self(), where}); }
Tensor Methods::softplus(double beta, double threshold, SourceLocation where) const { return minnow::softplus({self(), where}, beta, threshold); }
Tensor Methods::leaky_relu(double slope, SourceLocation where) const { return minnow::leaky_relu({self(), where}, slope); }
Tensor Methods::elu(double alpha, SourceLocation where) const { return minnow::elu({self(), where}, alpha); }
Tensor Methods::celu(double alpha, SourceLocation where) const { return minnow::celu({self(), where}, alpha); }
Tensor Methods::hardtanh(double low, double high, SourceLocation where) const { return minnow::hardtanh({self(), where}, low, high); }
Tensor Methods::softshrink(double lambda, SourceLocation where) const { return minnow::softshrink({self(), where}, lambda); }
Tensor Methods::hardshrink(double lambda, SourceLocation where) const { return minnow::hardshrink({self(), where}, lambda); }
Tensor Methods::threshold(double limit, double value, SourceLocation where) const { return minnow::threshold({self(), where}, limit, value); }
Tensor Methods::clamp(double low, double high, SourceLocation where) const { return minnow::clamp({self(), where}, low, high); }
Tensor Methods::clamp_(double low, double high, SourceLocation where) const { return minnow::clamp_({self(), where}, low, high); }
Tensor Methods::nan_to_num(double nan, ::std::optional<double> posinf, ::std::optional<double> neginf, SourceLocation where) const { return minnow::nan_to_num({self(), where}, nan, posinf, neginf); }
Tensor Methods::clamp_min(double low, SourceLocation where) const { return minnow::clamp_min({self(), where}, low); }
Tensor Methods::clamp_max(double high, SourceLocation where) const { return minnow::clamp_max({self(), where}, high); }
Tensor Methods::sum(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::sum({self(), where}, dims, keepdim); }
Tensor Methods::mean(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::mean({self(), where}, dims, keepdim); }
Tensor Methods::var(const Dims& dims, double correction, bool keepdim, SourceLocation where) const { return minnow::var({self(), where}, dims, correction, keepdim); }
Tensor Methods::std(const Dims& dims, double correction, bool keepdim, SourceLocation where) const { return minnow::stddev({self(), where}, dims, correction, keepdim); }
Tensor Methods::prod(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::prod({self(), where}, dims, keepdim); }
Tensor Methods::amax(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::amax({self(), where}, dims, keepdim); }
Tensor Methods::amin(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::amin({self(), where}, dims, keepdim); }
Tensor Methods::any(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::any({self(), where}, dims, keepdim); }
Tensor Methods::norm(double p, const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::norm({self(), where}, p, dims, keepdim); }
Tensor Methods::logsumexp(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::logsumexp({self(), where}, dims, keepdim); }
Tensor Methods::cumsum(int dim, SourceLocation where) const { return minnow::cumsum({self(), where}, dim); }
MinMax Methods::max(int dim, bool keepdim, SourceLocation where) const { return minnow::max({self(), where}, dim, keepdim); }
MinMax Methods::min(int dim, bool keepdim, SourceLocation where) const { return minnow::min({self(), where}, dim, keepdim); }
Tensor Methods::max(SourceLocation where) const { return minnow::max({self(), where}); }
Tensor Methods::min(SourceLocation where) const { return minnow::min({self(), where}); }
Tensor Methods::max(const In& b, SourceLocation where) const { return minnow::max({self(), where}, b); }
Tensor Methods::min(const In& b, SourceLocation where) const { return minnow::min({self(), where}, b); }
Tensor Methods::argmax(SourceLocation where) const { return minnow::argmax({self(), where}); }
Tensor Methods::argmin(SourceLocation where) const { return minnow::argmin({self(), where}); }
Tensor Methods::argmax(int dim, bool keepdim, SourceLocation where) const { return minnow::argmax({self(), where}, dim, keepdim); }
Tensor Methods::argmin(int dim, bool keepdim, SourceLocation where) const { return minnow::argmin({self(), where}, dim, keepdim); }
Tensor Methods::matmul(const In& b, SourceLocation where) const { return minnow::matmul({self(), where}, b); }
Tensor Methods::mm(const In& b, SourceLocation where) const { return minnow::mm({self(), where}, b); }
Tensor Methods::bmm(const In& b, SourceLocation where) const { return minnow::bmm({self(), where}, b); }
Tensor Methods::mv(const In& b, SourceLocation where) const { return minnow::mv({self(), where}, b); }
Tensor Methods::dot(const In& b, SourceLocation where) const { return minnow::dot({self(), where}, b); }
Tensor Methods::outer(const In& b, SourceLocation where) const { return minnow::outer({self(), where}, b); }
Tensor Methods::tensordot(const In& b, int dims, SourceLocation where) const { return minnow::tensordot({self(), where}, b, dims); }
Tensor Methods::tensordot(const In& b, const Dims& dims_a, const Dims& dims_b, SourceLocation where) const { return minnow::tensordot({self(), where}, b, dims_a, dims_b); }
Tensor Methods::kron(const In& b, SourceLocation where) const { return minnow::kron({self(), where}, b); }
Tensor Methods::cross(const In& b, int dim, SourceLocation where) const { return minnow::cross({self(), where}, b, dim); }
Tensor Methods::trace(SourceLocation where) const { return minnow::trace({self(), where}); }
Tensor Methods::addmm(const In& a, const In& b, Scalar beta, Scalar alpha, SourceLocation where) const { return minnow::addmm({self(), where}, a, b, beta, alpha); }
Tensor Methods::baddbmm(const In& a, const In& b, Scalar beta, Scalar alpha, SourceLocation where) const { return minnow::baddbmm({self(), where}, a, b, beta, alpha); }
Tensor Methods::softmax(int dim, SourceLocation where) const { return minnow::softmax({self(), where}, dim); }
Tensor Methods::log_softmax(int dim, SourceLocation where) const { return minnow::log_softmax({self(), where}, dim); }
Tensor Methods::gather(int dim, const In& index, SourceLocation where) const { return minnow::gather({self(), where}, dim, index); }
Tensor Methods::scatter_add(int dim, const In& index, const In& source, SourceLocation where) const { return minnow::scatter_add({self(), where}, dim, index, source); }
Tensor Methods::index_select(int dim, const In& index, SourceLocation where) const { return minnow::index_select({self(), where}, dim, index); }
Tensor Methods::index_add(int dim, const In& index, const In& source, SourceLocation where) const { return minnow::index_add({self(), where}, dim, index, source); }
::std::vector<Tensor> Methods::split(::std::int64_t size, int dim, SourceLocation where) const { return minnow::split({self(), where}, size, dim); }
::std::vector<Tensor> Methods::split(const ::std::vector<::std::int64_t>& sizes, int dim, SourceLocation where) const { return minnow::split({self(), where}, sizes, dim); }
::std::vector<Tensor> Methods::split(::std::initializer_list<::std::int64_t> sizes, int dim, SourceLocation where) const { return minnow::split({self(), where}, sizes, dim); }
::std::vector<Tensor> Methods::chunk(::std::int64_t chunks, int dim, SourceLocation where) const { return minnow::chunk({self(), where}, chunks, dim); }
::std::vector<Tensor> Methods::unbind(int dim, SourceLocation where) const { return minnow::unbind({self(), where}, dim); }
Tensor Methods::repeat(const Shape& times, SourceLocation where) const { return minnow::repeat({self(), where}, times); }
Tensor Methods::flip(const Dims& dims, SourceLocation where) const { return minnow::flip({self(), where}, dims); }
Tensor Methods::nonzero(SourceLocation where) const { return minnow::nonzero({self(), where}); }
Tensor Methods::masked_fill(const In& mask, const TensorLike& value, SourceLocation where) const { return minnow::masked_fill({self(), where}, mask, value); }
Tensor Methods::masked_fill_(const In& mask, const TensorLike& value, SourceLocation where) const { return minnow::masked_fill_({self(), where}, mask, value); }
Tensor Methods::masked_select(const In& mask, SourceLocation where) const { return minnow::masked_select({self(), where}, mask); }
Tensor Methods::tril(::std::int64_t diagonal, SourceLocation where) const { return minnow::tril({self(), where}, diagonal); }
Tensor Methods::triu(::std::int64_t diagonal, SourceLocation where) const { return minnow::triu({self(), where}, diagonal); }
Tensor Methods::take_along_dim(const In& index, ::std::optional<int> dim, SourceLocation where) const { return minnow::take_along_dim({self(), where}, index, dim); }
Tensor Methods::index_fill(int dim, const In& index, const TensorLike& value, SourceLocation where) const { return minnow::index_fill({self(), where}, dim, index, value); }
Tensor Methods::index_fill_(int dim, const In& index, const TensorLike& value, SourceLocation where) const { return minnow::index_fill_({self(), where}, dim, index, value); }
Tensor Methods::masked_scatter(const In& mask, const In& source, SourceLocation where) const { return minnow::masked_scatter({self(), where}, mask, source); }
Tensor Methods::masked_scatter_(const In& mask, const In& source, SourceLocation where) const { return minnow::masked_scatter_({self(), where}, mask, source); }
Tensor Methods::diagonal(::std::int64_t offset, int dim1, int dim2, SourceLocation where) const { return minnow::diagonal({self(), where}, offset, dim1, dim2); }
Tensor Methods::diag(::std::int64_t diagonal, SourceLocation where) const { return minnow::diag({self(), where}, diagonal); }
Tensor Methods::diag_embed(::std::int64_t offset, int dim1, int dim2, SourceLocation where) const { return minnow::diag_embed({self(), where}, offset, dim1, dim2); }
Tensor Methods::unfold(int dim, ::std::int64_t size, ::std::int64_t step, SourceLocation where) const { return minnow::unfold({self(), where}, dim, size, step); }
Tensor Methods::unflatten(int dim, const Shape& sizes, SourceLocation where) const { return minnow::unflatten({self(), where}, dim, sizes); }
Tensor Methods::repeat_interleave(::std::int64_t repeats, ::std::optional<int> dim, SourceLocation where) const { return minnow::repeat_interleave({self(), where}, repeats, dim); }
Tensor Methods::repeat_interleave(const In& repeats, ::std::optional<int> dim, SourceLocation where) const { return minnow::repeat_interleave({self(), where}, repeats, dim); }
Tensor Methods::tile(const Shape& times, SourceLocation where) const { return minnow::tile({self(), where}, times); }
Tensor Methods::roll(const Shape& shifts, const Dims& dims, SourceLocation where) const { return minnow::roll({self(), where}, shifts, dims); }
Tensor Methods::nansum(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::nansum({self(), where}, dims, keepdim); }
Tensor Methods::nanmean(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::nanmean({self(), where}, dims, keepdim); }
Tensor Methods::count_nonzero(const Dims& dims, SourceLocation where) const { return minnow::count_nonzero({self(), where}, dims); }
Tensor Methods::bincount(::std::int64_t minlength, SourceLocation where) const { return minnow::bincount({self(), where}, minlength); }
Tensor Methods::bincount(const In& weights, ::std::int64_t minlength, SourceLocation where) const { return minnow::bincount({self(), where}, weights, minlength); }
Tensor Methods::bernoulli(RandomGenerator* generator, SourceLocation where) const { return minnow::bernoulli({self(), where}, generator); }
Tensor Methods::multinomial(::std::int64_t count, bool replacement, RandomGenerator* generator, SourceLocation where) const { return minnow::multinomial({self(), where}, count, replacement, generator); }
Tensor Methods::uniform_(double low, double high, RandomGenerator* generator, SourceLocation where) const { return minnow::uniform_({self(), where}, low, high, generator); }
Tensor Methods::normal_(double mean, double std, RandomGenerator* generator, SourceLocation where) const { return minnow::normal_({self(), where}, mean, std, generator); }
Tensor Methods::log_normal_(double mean, double std, RandomGenerator* generator, SourceLocation where) const { return minnow::log_normal_({self(), where}, mean, std, generator); }
Tensor Methods::exponential_(double rate, RandomGenerator* generator, SourceLocation where) const { return minnow::exponential_({self(), where}, rate, generator); }
Tensor Methods::cauchy_(double median, double scale, RandomGenerator* generator, SourceLocation where) const { return minnow::cauchy_({self(), where}, median, scale, generator); }
Tensor Methods::geometric_(double p, RandomGenerator* generator, SourceLocation where) const { return minnow::geometric_({self(), where}, p, generator); }
Tensor Methods::bernoulli_(double p, RandomGenerator* generator, SourceLocation where) const { return minnow::bernoulli_({self(), where}, p, generator); }
Tensor Methods::random_(::std::int64_t low, ::std::int64_t high, RandomGenerator* generator, SourceLocation where) const { return minnow::random_({self(), where}, low, high, generator); }
Tensor Methods::random_(RandomGenerator* generator, SourceLocation where) const { return minnow::random_({self(), where}, generator); }
Tensor Methods::cumprod(int dim, SourceLocation where) const { return minnow::cumprod({self(), where}, dim); }
Tensor Methods::logcumsumexp(int dim, SourceLocation where) const { return minnow::logcumsumexp({self(), where}, dim); }
Tensor Methods::diff(::std::int64_t n, int dim, SourceLocation where) const { return minnow::diff({self(), where}, n, dim); }
Ordered Methods::cummax(int dim, SourceLocation where) const { return minnow::cummax({self(), where}, dim); }
Ordered Methods::cummin(int dim, SourceLocation where) const { return minnow::cummin({self(), where}, dim); }
Tensor Methods::scatter(int dim, const In& index, const TensorLike& source, ::std::optional<Scatter> reduce, SourceLocation where) const { return minnow::scatter({self(), where}, dim, index, source, reduce); }
Tensor Methods::scatter_(int dim, const In& index, const TensorLike& source, ::std::optional<Scatter> reduce, SourceLocation where) const { return minnow::scatter_({self(), where}, dim, index, source, reduce); }
Tensor Methods::scatter_add_(int dim, const In& index, const In& source, SourceLocation where) const { return minnow::scatter_add_({self(), where}, dim, index, source); }
Tensor Methods::scatter_reduce(int dim, const In& index, const In& source, Scatter reduce, bool include_self, SourceLocation where) const { return minnow::scatter_reduce({self(), where}, dim, index, source, reduce, include_self); }
Tensor Methods::scatter_reduce_(int dim, const In& index, const In& source, Scatter reduce, bool include_self, SourceLocation where) const { return minnow::scatter_reduce_({self(), where}, dim, index, source, reduce, include_self); }
Tensor Methods::index_copy(int dim, const In& index, const In& source, SourceLocation where) const { return minnow::index_copy({self(), where}, dim, index, source); }
Tensor Methods::index_copy_(int dim, const In& index, const In& source, SourceLocation where) const { return minnow::index_copy_({self(), where}, dim, index, source); }
Tensor Methods::index_add_(int dim, const In& index, const In& source, SourceLocation where) const { return minnow::index_add_({self(), where}, dim, index, source); }
Tensor Methods::histc(::std::int64_t bins, double min, double max, SourceLocation where) const { return minnow::histc({self(), where}, bins, min, max); }
Unique Methods::unique(bool return_inverse, bool return_counts, ::std::optional<int> dim, SourceLocation where) const { return minnow::unique({self(), where}, return_inverse, return_counts, dim); }
Unique Methods::unique_consecutive(bool return_inverse, bool return_counts, SourceLocation where) const { return minnow::unique_consecutive({self(), where}, return_inverse, return_counts); }
Tensor Methods::isin(const In& elements, SourceLocation where) const { return minnow::isin({self(), where}, elements); }
Ordered Methods::sort(int dim, bool descending, SourceLocation where) const { return minnow::sort({self(), where}, dim, descending); }
Tensor Methods::argsort(int dim, bool descending, SourceLocation where) const { return minnow::argsort({self(), where}, dim, descending); }
Ordered Methods::topk(::std::int64_t k, int dim, bool largest, SourceLocation where) const { return minnow::topk({self(), where}, k, dim, largest); }
Ordered Methods::kthvalue(::std::int64_t k, int dim, bool keepdim, SourceLocation where) const { return minnow::kthvalue({self(), where}, k, dim, keepdim); }
Tensor Methods::median(SourceLocation where) const { return minnow::median({self(), where}); }
Ordered Methods::median(int dim, bool keepdim, SourceLocation where) const { return minnow::median({self(), where}, dim, keepdim); }
Tensor Methods::nanmedian(SourceLocation where) const { return minnow::nanmedian({self(), where}); }
Ordered Methods::nanmedian(int dim, bool keepdim, SourceLocation where) const { return minnow::nanmedian({self(), where}, dim, keepdim); }
Tensor Methods::quantile(double q, ::std::optional<int> dim, bool keepdim, Quantile interpolation, SourceLocation where) const { return minnow::quantile({self(), where}, q, dim, keepdim, interpolation); }
Tensor Methods::quantile(const In& q, ::std::optional<int> dim, bool keepdim, Quantile interpolation, SourceLocation where) const { return minnow::quantile({self(), where}, q, dim, keepdim, interpolation); }
Ordered Methods::mode(int dim, bool keepdim, SourceLocation where) const { return minnow::mode({self(), where}, dim, keepdim); }
Tensor Methods::all(const Dims& dims, bool keepdim, SourceLocation where) const { return minnow::all({self(), where}, dims, keepdim); }

}  // namespace minnow::detail
