#pragma once
#pragma GCC system_header  // for include_next

#include <cmath>
#include <cstdint>
#include <emulator/perturb.h>
#include <limits>

// Found before the header of this name, which it includes.  Functions that CUDA has in a library of its own can be
// perturbed in kernels; what is rounded correctly on a GPU (sqrt, fmod, mul_add) is left as it is.
#define math exact_math
#include_next <minnow/tensor/kernels/math.h>
#undef math

namespace minnow::detail::kernels::math {

using namespace exact_math;

MINNOW_HD float exp(float x) { return emulator::perturbed(exact_math::exp(x)); }
MINNOW_HD double exp(double x) { return emulator::perturbed(exact_math::exp(x)); }
MINNOW_HD float exp2(float x) { return emulator::perturbed(exact_math::exp2(x)); }
MINNOW_HD double exp2(double x) { return emulator::perturbed(exact_math::exp2(x)); }
MINNOW_HD float expm1(float x) { return emulator::perturbed(exact_math::expm1(x)); }
MINNOW_HD double expm1(double x) { return emulator::perturbed(exact_math::expm1(x)); }
MINNOW_HD float log(float x) { return emulator::perturbed(exact_math::log(x)); }
MINNOW_HD double log(double x) { return emulator::perturbed(exact_math::log(x)); }
MINNOW_HD float log2(float x) { return emulator::perturbed(exact_math::log2(x)); }
MINNOW_HD double log2(double x) { return emulator::perturbed(exact_math::log2(x)); }
MINNOW_HD float log10(float x) { return emulator::perturbed(exact_math::log10(x)); }
MINNOW_HD double log10(double x) { return emulator::perturbed(exact_math::log10(x)); }
MINNOW_HD float log1p(float x) { return emulator::perturbed(exact_math::log1p(x)); }
MINNOW_HD double log1p(double x) { return emulator::perturbed(exact_math::log1p(x)); }
MINNOW_HD float sin(float x) { return emulator::perturbed(exact_math::sin(x)); }
MINNOW_HD double sin(double x) { return emulator::perturbed(exact_math::sin(x)); }
MINNOW_HD Far sin(Far x) { return exact_math::sin(x); }
MINNOW_HD float cos(float x) { return emulator::perturbed(exact_math::cos(x)); }
MINNOW_HD double cos(double x) { return emulator::perturbed(exact_math::cos(x)); }
MINNOW_HD Far cos(Far x) { return exact_math::cos(x); }
MINNOW_HD float tan(float x) { return emulator::perturbed(exact_math::tan(x)); }
MINNOW_HD double tan(double x) { return emulator::perturbed(exact_math::tan(x)); }
MINNOW_HD Far tan(Far x) { return exact_math::tan(x); }
MINNOW_HD float asin(float x) { return emulator::perturbed(exact_math::asin(x)); }
MINNOW_HD double asin(double x) { return emulator::perturbed(exact_math::asin(x)); }
MINNOW_HD float acos(float x) { return emulator::perturbed(exact_math::acos(x)); }
MINNOW_HD double acos(double x) { return emulator::perturbed(exact_math::acos(x)); }
MINNOW_HD float atan(float x) { return emulator::perturbed(exact_math::atan(x)); }
MINNOW_HD double atan(double x) { return emulator::perturbed(exact_math::atan(x)); }
MINNOW_HD float sinh(float x) { return emulator::perturbed(exact_math::sinh(x)); }
MINNOW_HD double sinh(double x) { return emulator::perturbed(exact_math::sinh(x)); }
MINNOW_HD float cosh(float x) { return emulator::perturbed(exact_math::cosh(x)); }
MINNOW_HD double cosh(double x) { return emulator::perturbed(exact_math::cosh(x)); }
MINNOW_HD float tanh(float x) { return emulator::perturbed(exact_math::tanh(x)); }
MINNOW_HD double tanh(double x) { return emulator::perturbed(exact_math::tanh(x)); }
MINNOW_HD float asinh(float x) { return emulator::perturbed(exact_math::asinh(x)); }
MINNOW_HD double asinh(double x) { return emulator::perturbed(exact_math::asinh(x)); }
MINNOW_HD float acosh(float x) { return emulator::perturbed(exact_math::acosh(x)); }
MINNOW_HD double acosh(double x) { return emulator::perturbed(exact_math::acosh(x)); }
MINNOW_HD float atanh(float x) { return emulator::perturbed(exact_math::atanh(x)); }
MINNOW_HD double atanh(double x) { return emulator::perturbed(exact_math::atanh(x)); }
MINNOW_HD float erf(float x) { return emulator::perturbed(exact_math::erf(x)); }
MINNOW_HD double erf(double x) { return emulator::perturbed(exact_math::erf(x)); }
MINNOW_HD float erfc(float x) { return emulator::perturbed(exact_math::erfc(x)); }
MINNOW_HD double erfc(double x) { return emulator::perturbed(exact_math::erfc(x)); }
MINNOW_HD float lgamma(float x) { return emulator::perturbed(exact_math::lgamma(x)); }
MINNOW_HD double lgamma(double x) { return emulator::perturbed(exact_math::lgamma(x)); }
MINNOW_HD float erfinv(float x) { return emulator::perturbed(exact_math::erfinv(x)); }
MINNOW_HD double erfinv(double x) { return emulator::perturbed(exact_math::erfinv(x)); }
MINNOW_HD float digamma(float x) { return emulator::perturbed(exact_math::digamma(x)); }
MINNOW_HD double digamma(double x) { return emulator::perturbed(exact_math::digamma(x)); }
MINNOW_HD float trigamma(float x) { return emulator::perturbed(exact_math::trigamma(x)); }
MINNOW_HD double trigamma(double x) { return emulator::perturbed(exact_math::trigamma(x)); }
MINNOW_HD float polygamma(int n, float x) { return emulator::perturbed(exact_math::polygamma(n, x)); }
MINNOW_HD double polygamma(int n, double x) { return emulator::perturbed(exact_math::polygamma(n, x)); }
MINNOW_HD float atan2(float y, float x) { return emulator::perturbed(exact_math::atan2(y, x)); }
MINNOW_HD double atan2(double y, double x) { return emulator::perturbed(exact_math::atan2(y, x)); }
MINNOW_HD float pow(float x, float y) { return emulator::perturbed(exact_math::pow(x, y)); }
MINNOW_HD double pow(double x, double y) { return emulator::perturbed(exact_math::pow(x, y)); }
MINNOW_HD float hypot(float x, float y) { return emulator::perturbed(exact_math::hypot(x, y)); }
MINNOW_HD double hypot(double x, double y) { return emulator::perturbed(exact_math::hypot(x, y)); }
template <class T> MINNOW_HD T sigmoid(T x) { return emulator::perturbed(exact_math::sigmoid(x)); }
template <class T> MINNOW_HD T softplus(T x) { return emulator::perturbed(exact_math::softplus(x)); }

}  // namespace minnow::detail::kernels::math
