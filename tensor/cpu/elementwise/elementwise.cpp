#include <array>
#include <atomic>
#include <cmath>
#include <string>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/elementwise/traverse.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kThreadElements = 8192;

/// Which functors give bool, by number.
template <class Ops> struct Traits {
  bool predicate[Ops::kSize];
  constexpr Traits() : predicate{} {
    kernels::for_each(Ops{}, [this]<class Op, int I>() { predicate[I] = Op::kKind == kernels::Kind::kPredicate; });
  }
};
constexpr Traits<kernels::UnaryOps> kUnary;
constexpr Traits<kernels::BinaryOps> kBinary;

[[noreturn]] void throw_missing(const char* family, int op, DType dtype) {
  throw BackendError(std::string(family) + ": operation " + std::to_string(op) + " has no loop for " +
                     std::string(name_of(dtype)) +
                     "\nthis is an error in minnow: the dtype should have been refused before");
}

std::int64_t bytes_of(const View& t, std::int64_t numel) { return numel * static_cast<std::int64_t>(t.itemsize()); }

char* at(const View& t, std::int64_t i) {
  return static_cast<char*>(t.raw_data()) + i * static_cast<std::int64_t>(t.itemsize());
}

struct UnaryJob {
  UnaryLoop loop;
  double p0, p1;
};
struct SlopeJob {
  SlopeLoop loop;
  double p0, p1;
};
struct BinaryJob {
  BinaryLoop loop;
  BinaryLoop with_single[2] = {};  // where a or b is a single element
  bool single[2] = {};
  mutable std::atomic<bool> no_zero_divisor{true};

  void run(const void* a, const void* b, void* out, std::int64_t n) const {
    const BinaryLoop chosen = single[0] ? with_single[0] : single[1] ? with_single[1] : loop;
    if (!chosen(a, b, out, n)) no_zero_divisor.store(false, std::memory_order_relaxed);
  }
};
struct TernaryJob {
  TernaryLoop loop;
  double p;
  bool one_c = false;
};

/// The dtype in which operands of a dtype are computed: their own where a table has such a loop.
template <class Loop, std::size_t N>
DType chunk_of(const Loop (&table)[kOwnTypes][N], int op, DType compute, bool all_own, DType own) {
  const bool may = all_own && (compute == DType::int64 || is_half(own));
  return may && table[own_loop_type(own)][op] != nullptr ? own : compute;
}

Outcome outcome_of(bool no_zero_divisor) { return no_zero_divisor ? Outcome::ok : Outcome::zero_divisor; }

/// grad where y > 0, else 0, of halves in the same dense layout.
void relu_slope_of_halves(const View& grad, const View& y, const View& out) {
  // The bits of positive numbers, as integers, are positive; those of NaN, without the sign, are above infinity's.
  const std::int16_t infinity = y.dtype() == DType::float16 ? 0x7c00 : 0x7f80;
  const std::int64_t n = out.numel();
  parallel_blocks(n, kThreadElements, 3 * bytes_of(out, n), [&](std::int64_t begin, std::int64_t end) {
    const auto* g = reinterpret_cast<const std::int16_t*>(at(grad, begin));
    const auto* s = reinterpret_cast<const std::int16_t*>(at(y, begin));
    auto* to = reinterpret_cast<std::int16_t*>(at(out, begin));
    const std::int16_t largest = infinity;
    const std::int64_t count = end - begin;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int16_t value = g[i];
      const bool keeps = (s[i] > 0) | ((s[i] & 0x7fff) > largest);
      to[i] = keeps ? value : std::int16_t{0};
    }
  });
}

void derivative(const SlopeJob& job, DType compute, const View& grad, const View& saved, const View& out) {
  const std::int64_t n = out.numel();
  if (grad.dtype() == compute && saved.dtype() == compute && out.dtype() == compute && same_dense_layout(grad, out) &&
      same_dense_layout(saved, out)) {
    parallel_blocks(n, kThreadElements, 3 * bytes_of(out, n), [&](std::int64_t b, std::int64_t e) {
      job.loop(at(grad, b), at(saved, b), at(out, b), e - b, job.p0, job.p1);
    });
    return;
  }
  std::array operands{TraverseOperand::output(out, compute), TraverseOperand::input(grad, compute),
                      TraverseOperand::input(saved, compute)};
  traverse(
      out.shape(), operands,
      [](const void* context, void* const* c, std::int64_t m) {
        const auto* j = static_cast<const SlopeJob*>(context);
        j->loop(c[1], c[2], c[0], m, j->p0, j->p1);
      },
      &job);
}

bool repeats_one_element(const View& x) {
  for (int d = 0; d < x.dim(); ++d)
    if (x.strides()[d] != 0 && x.shape()[d] != 1) return false;
  return true;
}

/// Whether operands are laid out as the result, one of them possibly a single element, as job.single then says.
bool is_dense(BinaryJob& job, const View& a, const View& b, const View& out) {
  const bool dense[] = {same_dense_layout(a, out), same_dense_layout(b, out)};
  if (dense[0] == dense[1]) return dense[0];
  const int side = dense[0] ? 1 : 0;
  return job.single[side] = job.with_single[side] != nullptr && repeats_one_element(side == 1 ? b : a);
}

Outcome run_dense(const BinaryJob& job, const View& a, const View& b, const View& out) {
  const std::int64_t n = out.numel();
  if (n <= kThreadElements) {
    job.run(a.raw_data(), b.raw_data(), out.raw_data(), n);
  } else {
    const std::int64_t operands = job.single[0] || job.single[1] ? 1 : 2;
    parallel_blocks(n, kThreadElements, operands * bytes_of(a, n) + bytes_of(out, n),
                    [&](std::int64_t i, std::int64_t e) {
                      job.run(at(a, job.single[0] ? 0 : i), at(b, job.single[1] ? 0 : i), at(out, i), e - i);
                    });
  }
  return outcome_of(job.no_zero_divisor);
}

}  // namespace

template <> void execute(const calls::Unary& args) {
  const View &x = args.x, &out = args.out;
  const int op = args.op;
  const auto& table = loops().unary;
  // Rows of floats take less time for other powers than those that are products, quotients or roots.
  const bool converts = op == kernels::kIndexOf<kernels::UnaryOps, kernels::PowScalar> &&
                        (std::abs(args.p0) > 3 || std::rint(2 * args.p0) != 2 * args.p0);
  const bool own = kUnary.predicate[op] || (x.dtype() == out.dtype() && !converts);
  const DType chunk = chunk_of(table, op, args.compute, own, x.dtype());
  const DType result = kUnary.predicate[op] ? DType::bool_ : chunk;
  const UnaryJob job{table[own_loop_type(chunk)][op], args.p0, args.p1};
  if (job.loop == nullptr) throw_missing("unary", op, chunk);
  const std::int64_t n = out.numel();
  if (x.dtype() == chunk && out.dtype() == result && same_dense_layout(x, out)) {
    parallel_blocks(n, kThreadElements, bytes_of(x, n) + bytes_of(out, n),
                    [&](std::int64_t b, std::int64_t e) { job.loop(at(x, b), at(out, b), e - b, job.p0, job.p1); });
    return;
  }
  std::array operands{TraverseOperand::output(out, result), TraverseOperand::input(x, chunk)};
  traverse(
      out.shape(), operands,
      [](const void* context, void* const* c, std::int64_t m) {
        const auto* j = static_cast<const UnaryJob*>(context);
        j->loop(c[1], c[0], m, j->p0, j->p1);
      },
      &job);
}

template <> void execute(const calls::UnarySlope& args) {
  const View& out = args.out;
  const View grad = laid_out_as(out, args.grad), saved = laid_out_as(out, args.saved);
  const int op = args.op;
  const Compute compute = compute_of(out.dtype());
  if (compute == Compute::kInt64) throw_missing("unary_slope", op, out.dtype());
  const SlopeJob job{loops().slope[static_cast<int>(compute)][op], args.p0, args.p1};
  if (job.loop == nullptr) throw_missing("unary_slope", op, out.dtype());
  const bool same_half = is_half(out.dtype()) && grad.dtype() == out.dtype() && saved.dtype() == out.dtype();
  if (op == kernels::kIndexOf<kernels::UnaryOps, kernels::Relu> && same_half && same_dense_layout(grad, out) &&
      same_dense_layout(saved, out))
    return relu_slope_of_halves(grad, saved, out);
  derivative(job, dtype_of(compute), grad, saved, out);
}

template <> Outcome execute(const calls::Binary& args) {
  const View& out = args.out;
  const int op = args.op;
  const auto& table = loops().binary;
  const DType type = args.a.dtype();
  const bool own = args.b.dtype() == type && (kBinary.predicate[op] || args.out.dtype() == type);
  const DType compute = chunk_of(table, op, args.compute, own, type);
  const DType result = kBinary.predicate[op] ? DType::bool_ : compute;
  BinaryJob job{table[own_loop_type(compute)][op]};
  if (job.loop == nullptr) throw_missing("binary", op, compute);
  if (own_loop_type(compute) < kComputes)
    for (const int side : {0, 1}) job.with_single[side] = loops().binary_one[side][loop_type(compute)][op];
  const bool same_types = args.a.dtype() == compute && args.b.dtype() == compute && out.dtype() == result;
  if (same_types && is_dense(job, args.a, args.b, out)) return run_dense(job, args.a, args.b, out);
  const View a = laid_out_as(out, args.a), b = laid_out_as(out, args.b);
  if (same_types && is_dense(job, a, b, out)) return run_dense(job, a, b, out);
  std::array operands{TraverseOperand::output(out, result), TraverseOperand::input(a, compute),
                      TraverseOperand::input(b, compute)};
  for (const int side : {0, 1})
    if (job.with_single[side] != nullptr) operands[static_cast<std::size_t>(side) + 1].single = &job.single[side];
  traverse(
      out.shape(), operands,
      [](const void* context, void* const* c, std::int64_t m) {
        const auto* j = static_cast<const BinaryJob*>(context);
        j->run(c[1], c[2], c[0], m);
      },
      &job);
  return outcome_of(job.no_zero_divisor);
}

template <> void execute(const calls::Ternary& args) {
  const View& out = args.out;
  const View a = laid_out_as(out, args.a), b = laid_out_as(out, args.b), c = laid_out_as(out, args.c);
  const int op = args.op;
  const DType type = out.dtype();
  const bool own = is_half(type) && a.dtype() == type && b.dtype() == type && c.dtype() == type;
  const DType compute = chunk_of(loops().ternary, op, args.compute, own, type);
  TernaryJob job{loops().ternary[own_loop_type(compute)][op], args.p};
  if (job.loop == nullptr) throw_missing("ternary", op, compute);
  std::array operands{TraverseOperand::output(out, compute), TraverseOperand::input(a, compute),
                      TraverseOperand::input(b, compute), TraverseOperand::input(c, compute)};
  if (own_loop_type(compute) < kComputes) operands[3].single = &job.one_c;
  traverse(
      out.shape(), operands,
      [](const void* context, void* const* chunks, std::int64_t m) {
        const auto* j = static_cast<const TernaryJob*>(context);
        j->loop(chunks[1], chunks[2], chunks[3], chunks[0], m, j->p, j->one_c);
      },
      &job);
}

}  // namespace minnow::cpu
