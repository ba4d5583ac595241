#include <minnow/tensor/cuda/elementwise/elementwise.h>

#include <string>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/ternary.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::cuda {
namespace {

using kernels::BinaryOps;

bool divides(int op) {
  bool yes = false;
  kernels::visit(BinaryOps{}, op, [&]<class Op>() { yes = Op::kDivides; });
  return yes;
}

/// The kernels of an operation, from one table for each compute type.
template <int N>
Loops<N> find(const char* family, int op, Compute compute, const Loops<N>* of_float, const Loops<N>* of_double,
              const Loops<N>* of_int64) {
  const Loops<N>* table = compute == Compute::kFloat ? of_float : compute == Compute::kDouble ? of_double : of_int64;
  if (table == nullptr || table[op].dense == nullptr)
    throw BackendError(std::string(family) + ": operation " + std::to_string(op) + " has no kernel for this dtype" +
                       "\nthis is an error in minnow: the dtype should have been refused before");
  return table[op];
}

}  // namespace

template <> void execute(const calls::Unary& args) {
  const View &x = args.x, &out = args.out;
  const Call call(args);
  const Compute compute = compute_of(args.compute);
  const Loops<1> loops =
      find("unary", args.op, compute, unary_table<float>(), unary_table<double>(), unary_table<std::int64_t>());
  Run<1>{loops, compute, args.p0, args.p1}(call, out.shape(), Elements(out), {Elements(x)});
}

template <> void execute(const calls::UnarySlope& args) {
  const View &grad = args.grad, &saved = args.saved, &out = args.out;
  const int op = args.op;
  const Call call(args);
  const Compute compute = compute_of(out.dtype());
  const Loops<2> loops = find<2>("unary_slope", op, compute, slope_table<float>(), slope_table<double>(), nullptr);
  Run<2>{loops, compute, args.p0, args.p1}(call, out.shape(), Elements(out), {Elements(grad), Elements(saved)});
}

template <> Outcome execute(const calls::Binary& args) {
  const View &a = args.a, &b = args.b, &out = args.out;
  const int op = args.op;
  const Call call(args);
  const Compute compute = compute_of(args.compute);
  const Loops<2> loops =
      find("binary", op, compute, binary_table<float>(), binary_table<double>(), binary_table<std::int64_t>());
  Run<2> run{loops, compute};
  if (compute == Compute::kInt64 && divides(op)) run.fault = call.fault_flag(Fault::division_by_zero);
  run(call, out.shape(), Elements(out), {Elements(a), Elements(b)});
  return Outcome::ok;
}

template <> void execute(const calls::Ternary& args) {
  const View &a = args.a, &b = args.b, &c = args.c, &out = args.out;
  const int op = args.op;
  const Call call(args);
  const Compute compute = compute_of(args.compute);
  const Loops<3> loops =
      find("ternary", op, compute, ternary_table<float>(), ternary_table<double>(), ternary_table<std::int64_t>());
  Run<3>{loops, compute, args.p}(call, out.shape(), Elements(out), {Elements(a), Elements(b), Elements(c)});
}

}  // namespace minnow::cuda
