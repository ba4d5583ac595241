#pragma once

#include <minnow/tensor/kernels/unary_activation.h>
#include <minnow/tensor/kernels/unary_math.h>

namespace minnow::detail::kernels {

/// All unary operations.  An operation's index in this list is its number.
using UnaryOps =
    List<Neg, Abs, Sign, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sqrt, Rsqrt, Square, Reciprocal, Sin, Cos, Tan,
         Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Erfc, Erfinv, Lgamma, Digamma, Polygamma, Logit,
         Floor, Ceil, Round, Trunc, Frac, Clamp, PowScalar, NanToNum, IsNan, IsInf, IsFinite, LogicalNot, BitwiseNot,
         Sigmoid, LogSigmoid, Softplus, Relu, Relu6, LeakyRelu, Elu, Selu, Celu, Gelu, GeluTanh, Silu, Mish, Hardtanh,
         Hardswish, Hardsigmoid, Softsign, Softshrink, Hardshrink, Tanhshrink, SmoothL1, Threshold>;

}  // namespace minnow::detail::kernels
