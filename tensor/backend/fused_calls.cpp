#include <minnow/tensor/backend/fused_calls.h>

#include <utility>

namespace minnow::detail {
namespace {

constexpr std::size_t kMaxCalls = 12;  // a buffer for each on the stack of a thread

bool is_single(const View& view) {
  for (int d = 0; d < view.dim(); ++d)
    if (view.shape()[d] != 1 && view.strides()[d] != 0) return false;
  return true;
}

/// Grows by one call after the other, for as long as they can be made block by block.
class ChainBuilder {
 public:
  explicit ChainBuilder(const CaptureMemory& memory) : memory_(memory) {}

  std::size_t size() const { return chain_.calls.size(); }
  FusedChain take() { return std::exchange(chain_, {}); }

  /// False if the call cannot be the next one.
  bool add(const ElementwiseCall& call) {
    const View& out = *call.out;
    if (out.numel() < 2 || !is_dense(out.shape(), out.strides()) || !can_be_fused(call)) return false;
    if (chain_.calls.empty()) chain_.n = out.numel();
    if (chain_.calls.size() == kMaxCalls || out.numel() != chain_.n) return false;
    const std::size_t before = chain_.operands.size();
    FusedCall fused{call, {-1, -1, -1}, -1};
    bool fits = true;
    for (std::size_t k = 0; fits && k < call.inputs.size() && call.inputs[k]; ++k)
      fits = (fused.inputs[k] = operand(*call.inputs[k], out)) >= 0;
    fits = fits && (fused.out = operand(out, out)) >= 0 && !conflicts(fused);
    if (fits) chain_.calls.push_back(fused);
    else chain_.operands.resize(before);
    return fits;
  }

 private:
  /// The number of an operand, added if it is new; -1 if it is neither a single element nor in the order of all others.
  int operand(const View& view, const View& out) {
    const bool single = is_single(view);
    if (!single && !same_order(view, out)) return -1;
    for (std::size_t i = 0; i < chain_.operands.size(); ++i) {
      const View& other = *chain_.operands[i].view;
      if (other.storage() == view.storage() && other.storage_offset() == view.storage_offset() &&
          other.dtype() == view.dtype() && chain_.operands[i].single == single)
        return static_cast<int>(i);
    }
    chain_.operands.push_back({&view, single, false});
    return static_cast<int>(chain_.operands.size()) - 1;
  }

  /// Whether element i of the view and of all others in the chain, in memory, belong together.
  bool same_order(const View& view, const View& out) const {
    const View& first = chain_.calls.empty() ? out : *chain_.calls[0].call.out;
    if (view.is_contiguous() && first.is_contiguous()) return view.numel() == chain_.n;
    return view.shape() == first.shape() && view.strides() == first.strides();
  }

  /// Whether a call of the chain writes some of the memory of another operand, so that the order of blocks would count.
  bool conflicts(const FusedCall& last) const {
    const auto written = [&](const FusedOperand& to, const FusedOperand& other) {
      return &to != &other && overlaps(to, other);
    };
    for (const FusedOperand& other : chain_.operands) {
      if (written(chain_.operands[static_cast<std::size_t>(last.out)], other)) return true;
      for (const FusedCall& call : chain_.calls)
        if (written(chain_.operands[static_cast<std::size_t>(call.out)], other)) return true;
    }
    return false;
  }

  bool overlaps(const FusedOperand& a, const FusedOperand& b) const {
    const bool same = a.view->storage() == b.view->storage();
    if (!same && (!is_from_outside(*a.view) || !is_from_outside(*b.view))) return false;
    const auto begin = [](const FusedOperand& o) { return static_cast<const char*>(o.view->raw_data()); };
    const auto end = [&](const FusedOperand& o) {
      return begin(o) + (o.single ? 1 : chain_.n) * static_cast<std::int64_t>(o.view->itemsize());
    };
    return begin(a) < end(b) && begin(b) < end(a);
  }

  bool is_from_outside(const View& view) const { return memory_.place_of(view).kind == CaptureMemory::Kind::outside; }

  const CaptureMemory& memory_;
  FusedChain chain_;
};

/// Marks the operands that nothing outside of calls [begin, end) uses.
void find_locals(FusedChain& chain, std::size_t begin, std::size_t end, CaptureMemory& memory) {
  for (FusedOperand& operand : chain.operands) {
    int views = 0;
    for (const FusedOperand& other : chain.operands) views += other.view->storage() == operand.view->storage() ? 1 : 0;
    if (views == 1 && !operand.single && memory.is_used_within(*operand.view, begin, end)) {
      operand.local = true;
      memory.needs_no_memory(*operand.view);
    }
  }
}

}  // namespace

std::vector<FusedPart> fuse_chains(const std::vector<std::optional<ElementwiseCall>>& calls, CaptureMemory& memory) {
  std::vector<FusedPart> parts;
  ChainBuilder builder(memory);
  const auto finish = [&](std::size_t end) {
    FusedChain chain = builder.take();
    const std::size_t begin = end - chain.calls.size();
    if (chain.calls.size() < 2) return;
    find_locals(chain, begin, end, memory);
    memory.join_calls(begin, end);
    parts.push_back({begin, end, fuse(chain)});
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] && builder.add(*calls[i])) continue;
    finish(i);
    if (calls[i]) static_cast<void>(builder.add(*calls[i]));
  }
  finish(calls.size());
  return parts;
}

}  // namespace minnow::detail
