#include <minnow/tensor/backend/fused_calls.h>

#include <algorithm>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>

namespace minnow::cpu {
namespace {

using Kind = ElementwiseCall::Kind;

constexpr std::int64_t kBlock = 1024;           // elements that a call takes at a time
constexpr std::int64_t kThreadElements = 8192;  // that a thread takes at a time
constexpr std::size_t kBlockBytes = kBlock * 8;
constexpr int kMaxBuffers = 12;
constexpr std::int64_t kCached = 4 << 20;  // bytes of operands that stay in the cache from one run to the next

/// Which unary functions change to double for a whole block if one element needs it: their bits depend on the block.
struct Reaches {
  bool is_limited[kernels::UnaryOps::kSize];
  bool predicate[kernels::UnaryOps::kSize];
  constexpr Reaches() : is_limited{}, predicate{} {
    kernels::for_each(kernels::UnaryOps{}, [this]<class Op, int I>() {
      is_limited[I] = requires { Op::kReach; };
      predicate[I] = Op::kKind == kernels::Kind::kPredicate;
    });
  }
};
constexpr Reaches kUnary;
struct Predicates {
  bool predicate[kernels::BinaryOps::kSize];
  constexpr Predicates() : predicate{} {
    kernels::for_each(kernels::BinaryOps{},
                      [this]<class Op, int I>() { predicate[I] = Op::kKind == kernels::Kind::kPredicate; });
  }
};
constexpr Predicates kBinary;

bool is_predicate(const ElementwiseCall& call) {
  return (call.kind == Kind::unary && kUnary.predicate[call.op]) ||
         (call.kind == Kind::binary && kBinary.predicate[call.op]);
}

bool has_loop(const ElementwiseCall& call) {
  const int compute = static_cast<int>(compute_of(call.compute));
  switch (call.kind) {
    case Kind::unary: return loops().unary[compute][call.op] != nullptr;
    case Kind::slope: return loops().slope[compute][call.op] != nullptr;
    case Kind::curve: return loops().curve[compute][call.op] != nullptr;
    case Kind::binary: return loops().binary[compute][call.op] != nullptr;
    case Kind::ternary: return loops().ternary[compute][call.op] != nullptr;
  }
  return false;
}

std::int64_t size_in(const FusedOperand& o) { return static_cast<std::int64_t>(o.view->itemsize()); }

void load(const FusedOperand& o, const void* from, DType compute, void* to, std::int64_t n) {
  loops().load[static_cast<int>(o.view->dtype())][static_cast<int>(compute_of(compute))](from, to, n);
}

/// A call on n elements in its compute type.
void run_loop(const ElementwiseCall& call, void* const* in, void* out, std::int64_t n) {
  const Kernels& k = loops();
  const int compute = static_cast<int>(compute_of(call.compute));
  switch (call.kind) {
    case Kind::unary: return k.unary[compute][call.op](in[0], out, n, call.p0, call.p1);
    case Kind::slope: return k.slope[compute][call.op](in[0], in[1], out, n, call.p0, call.p1);
    case Kind::curve: return k.curve[compute][call.op](in[0], in[1], out, n, call.p0, call.p1);
    case Kind::binary: return static_cast<void>(k.binary[compute][call.op](in[0], in[1], out, n));
    case Kind::ternary: return k.ternary[compute][call.op](in[0], in[1], in[2], out, n, call.p0);
  }
}

class Fused final : public FusedCalls {
 public:
  explicit Fused(const FusedChain& chain) : chain_(chain), buffers_(chain.operands.size(), -1) {
    assign_buffers();
    for (const FusedCall& call : chain_.calls)
      for (const View* view : {call.call.inputs[0], call.call.inputs[1], call.call.inputs[2], call.call.out})
        if (view) bytes_ += chain_.n * static_cast<std::int64_t>(view->itemsize());
    std::int64_t in_memory = 0;
    for (const FusedOperand& o : chain_.operands)
      if (!o.local && !o.single) in_memory += chain_.n * size_in(o);
    prefetches_ = in_memory > kCached;
  }

  void run() const override {
    for (const FusedOperand& o : chain_.operands)
      if (!o.local) o.view->storage()->wait_ready();
    parallel_blocks(chain_.n, kThreadElements, bytes_, [this](std::int64_t begin, std::int64_t end) {
      Buffers buffers;
      for (; begin < end; begin += kBlock) run_block(begin, std::min(kBlock, end - begin), buffers);
    });
  }

 private:
  struct Buffers {
    alignas(64) char local[kMaxBuffers][kBlockBytes];
    alignas(64) char converted[4][kBlockBytes];
  };

  /// Gives each local operand a buffer from the call that writes it to the last that reads it.
  void assign_buffers() {
    std::vector<std::size_t> last(chain_.operands.size());
    for (std::size_t i = 0; i < chain_.calls.size(); ++i) {
      for (const int in : chain_.calls[i].inputs)
        if (in >= 0) last[static_cast<std::size_t>(in)] = i;
      last[static_cast<std::size_t>(chain_.calls[i].out)] = i;
    }
    std::array<std::size_t, kMaxBuffers> free_from{};  // the first call that may write it
    for (std::size_t i = 0; i < chain_.calls.size(); ++i) {
      const auto out = static_cast<std::size_t>(chain_.calls[i].out);
      if (!chain_.operands[out].local || buffers_[out] >= 0) continue;
      const auto buffer = std::find_if(free_from.begin(), free_from.end(), [&](std::size_t from) { return from <= i; });
      buffers_[out] = static_cast<int>(buffer - free_from.begin());
      *buffer = last[out] + 1;
    }
  }

  void* place(int operand, std::int64_t at, Buffers& buffers) const {
    const auto i = static_cast<std::size_t>(operand);
    const FusedOperand& o = chain_.operands[i];
    if (o.local) return buffers.local[buffers_[i]];
    return static_cast<char*>(o.view->raw_data()) + (o.single ? 0 : at * size_in(o));
  }

  /// Begins to load a part of the operands' next block, one for each call: the processor does not look beyond a page, which a
  /// block often is, and all parts at once would wait for each other.  Always inline: gcc drops calls of a function that only
  /// prefetches.
  [[gnu::always_inline]] void prefetch(std::size_t part, std::int64_t next) const {
    constexpr std::int64_t kLine = 64;
    const auto parts = static_cast<std::int64_t>(chain_.calls.size()), i = static_cast<std::int64_t>(part);
    const std::int64_t n = std::min(kBlock, chain_.n - next);
    for (const FusedOperand& o : chain_.operands) {
      if (o.local || o.single) continue;
      const std::int64_t lines = n * size_in(o) / kLine;
      const char* const block = static_cast<const char*>(o.view->raw_data()) + next * size_in(o);
      for (std::int64_t k = lines * i / parts; k < lines * (i + 1) / parts; ++k)
        __builtin_prefetch(block + k * kLine, 0, 2);
    }
  }

  void run_block(std::int64_t at, std::int64_t n, Buffers& buffers) const {
    for (std::size_t i = 0; i < chain_.calls.size(); ++i) {
      const FusedCall& fused = chain_.calls[i];
      const ElementwiseCall& call = fused.call;
      if (prefetches_ && at + n < chain_.n) prefetch(i, at + n);
      void* in[3] = {};
      const BinaryLoop one = loop_with_one(fused);
      for (std::size_t k = 0; k < 3 && fused.inputs[k] >= 0; ++k) {
        const FusedOperand& o = chain_.operands[static_cast<std::size_t>(fused.inputs[k])];
        in[k] = place(fused.inputs[k], at, buffers);
        if (o.view->dtype() == call.compute && (!o.single || one != nullptr)) continue;
        load(o, in[k], call.compute, buffers.converted[k], o.single ? 1 : n);
        in[k] = buffers.converted[k];
        if (o.single) repeat(in[k], call.compute, n);
      }
      void* const out = place(fused.out, at, buffers);
      const FusedOperand& result = chain_.operands[static_cast<std::size_t>(fused.out)];
      const bool converts = !is_predicate(call) && result.view->dtype() != call.compute;
      void* const computed = converts ? buffers.converted[3] : out;
      if (one) static_cast<void>(one(in[0], in[1], computed, n));
      else run_loop(call, in, computed, n);
      if (converts)
        loops().store[static_cast<int>(compute_of(call.compute))][static_cast<int>(result.view->dtype())](computed, out,
                                                                                                          n);
    }
  }

  /// The loop for a call of which one operand is a single element in the compute type; nullptr if it has none.
  BinaryLoop loop_with_one(const FusedCall& fused) const {
    if (fused.call.kind != Kind::binary || fused.call.compute != DType::float32) return nullptr;
    bool single[2];
    for (std::size_t k = 0; k < 2; ++k) {
      const FusedOperand& o = chain_.operands[static_cast<std::size_t>(fused.inputs[k])];
      single[k] = o.single && o.view->dtype() == DType::float32;
      if (o.single && !single[k]) return nullptr;
    }
    if (single[0] == single[1]) return nullptr;
    return loops().binary_one[single[0] ? 0 : 1][fused.call.op];
  }

  static void repeat(void* values, DType compute, std::int64_t n) {
    if (compute == DType::float32) return loops().fill(values, values, n);
    std::fill_n(static_cast<double*>(values), n, *static_cast<double*>(values));
  }

  const FusedChain chain_;
  std::vector<int> buffers_;  // of the local operands
  std::int64_t bytes_ = 0;
  bool prefetches_ = false;
};

}  // namespace
}  // namespace minnow::cpu

namespace minnow::detail {

bool can_be_fused(const ElementwiseCall& call) {
  if (cpu::compute_of(call.compute) == cpu::Compute::kInt64) return false;
  if (call.compute != cpu::dtype_of(cpu::compute_of(call.compute))) return false;
  if (call.kind <= ElementwiseCall::Kind::curve && cpu::kUnary.is_limited[call.op]) return false;
  if (cpu::is_predicate(call) && call.out->dtype() != DType::bool_) return false;
  return cpu::has_loop(call);
}

std::unique_ptr<FusedCalls> fuse(const FusedChain& chain) { return std::make_unique<cpu::Fused>(chain); }

}  // namespace minnow::detail
