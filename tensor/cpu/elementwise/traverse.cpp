#include <minnow/tensor/cpu/elementwise/traverse.h>

#include <algorithm>
#include <cstring>
#include <minnow/tensor/cpu/elementwise/rows.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kThreadElements = 8192;  // that a thread takes at a time
constexpr std::int64_t kLongRow = 64;           // rows of this length are worth a call each
constexpr std::int64_t kLongDirect = 16;        // the same where the body gets the operands' own
constexpr std::size_t kBufferBytes = kChunk * 8;

template <class T> void scatter_row(const char* from, char* to, std::int64_t stride, std::int64_t n) {
  const T* in = reinterpret_cast<const T*>(from);
  for (std::int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = in[i];
}

/// The longest period of a broadcast operand that is repeated in a buffer.
constexpr std::int64_t kPeriod = 2048;
constexpr int kMaxPeriodic = 3;  // operands with such a buffer, which is on the stack

/// The pattern of an operand in the merged dimensions.  Flat: all elements are dense.  Periodic: the same elements
/// repeat. Rows: each row is dense.  Constant: each row is a single element.
enum class Pattern { kFlat, kPeriodic, kRows, kConstant, kStrided };

struct Traversal {
  std::int64_t sizes[kMaxRank] = {};
  int rank = 0;
  std::int64_t numel = 1;
  bool by_rows = false;      // chunks end where rows end
  bool by_position = false;  // some operand needs a Position, not only the number of elements before
  Pattern pattern[kMaxOperands] = {};
  bool single[kMaxOperands] = {};  // the body gets it as a single element
  std::int64_t period[kMaxOperands] = {};
  const char* repeated[kMaxOperands] = {};  // the elements of a periodic operand, in the dtype of the body

  bool all_of(Pattern a, Pattern b, std::size_t operands) const {
    return std::all_of(pattern, pattern + operands, [&](Pattern l) { return l == a || l == b; });
  }
};

/// Orders dimensions by the first operand's strides, drops those of size 1, and merges neighbors that are one
/// dimension in every operand.
void merge_dimensions(const Shape& shape, std::span<TraverseOperand> operands, Traversal& plan) {
  int order[kMaxRank];
  int rank = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    plan.numel *= shape[d];
    if (shape[d] == 1) continue;
    int at = rank++;
    for (; at > 0 && operands[0].strides[order[at - 1]] < operands[0].strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  for (TraverseOperand& o : operands) {
    std::int64_t sorted[kMaxRank];
    for (int i = 0; i < rank; ++i) sorted[i] = o.strides[order[i]];
    std::copy(sorted, sorted + rank, o.strides);
  }
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = shape[order[i]];
    bool merges = plan.rank > 0;
    for (const TraverseOperand& o : operands) merges = merges && o.strides[plan.rank - 1] == o.strides[i] * size;
    const int to = merges ? plan.rank - 1 : plan.rank++;
    plan.sizes[to] = merges ? plan.sizes[to] * size : size;
    for (TraverseOperand& o : operands) o.strides[to] = o.strides[i];
  }
  if (plan.rank == 0) {
    plan.rank = 1;
    plan.sizes[0] = 1;
    for (TraverseOperand& o : operands) o.strides[0] = static_cast<std::int64_t>(size_of(o.dtype));
  }
}

/// The number of elements after which an input repeats; 0 if it does not, or the period is too long for a buffer.
std::int64_t period_of(const Traversal& plan, const TraverseOperand& o) {
  if (o.store || o.strides[0] != 0) return 0;
  int d = 0;
  while (d < plan.rank && o.strides[d] == 0) ++d;
  std::int64_t period = 1;
  for (; d < plan.rank; ++d) {
    if (plan.sizes[d] > kPeriod / period) return 0;
    period *= plan.sizes[d];
  }
  return period;
}

Traversal plan_traversal(const Shape& shape, std::span<TraverseOperand> operands) {
  Traversal plan;
  merge_dimensions(shape, operands, plan);
  const int last = plan.rank - 1;
  int periodic = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const TraverseOperand& o = operands[k];
    std::int64_t dense = static_cast<std::int64_t>(size_of(o.dtype));
    bool flat = true;
    for (int d = last; d >= 0; --d) {
      flat = flat && o.strides[d] == dense;
      dense *= plan.sizes[d];
    }
    plan.period[k] = flat || periodic == kMaxPeriodic ? 0 : period_of(plan, o);
    periodic += plan.period[k] > 0 ? 1 : 0;
    plan.pattern[k] = flat ? Pattern::kFlat : plan.period[k] > 0 ? Pattern::kPeriodic : Pattern::kStrided;
  }
  plan.by_position = !plan.all_of(Pattern::kFlat, Pattern::kPeriodic, operands.size());
  const bool direct = std::all_of(operands.begin(), operands.end(), [&](const TraverseOperand& o) {
    return o.dtype == o.chunk && o.strides[last] == static_cast<std::int64_t>(size_of(o.dtype));
  });
  plan.by_rows = plan.by_position && (plan.rank == 1 || plan.sizes[last] >= (direct ? kLongDirect : kLongRow));
  for (std::size_t k = 0; plan.by_rows && k < operands.size(); ++k) {
    const TraverseOperand& o = operands[k];
    if (plan.pattern[k] != Pattern::kStrided) continue;
    if (o.strides[last] == static_cast<std::int64_t>(size_of(o.dtype))) plan.pattern[k] = Pattern::kRows;
    else if (o.strides[last] == 0 && !o.store) plan.pattern[k] = Pattern::kConstant;
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].single == nullptr || (plan.period[k] != 1 && plan.pattern[k] != Pattern::kConstant)) continue;
    *operands[k].single = plan.single[k] = true;
    break;
  }
  return plan;
}

/// A position in the merged dimensions, and the byte offset of an operand there.
struct Position {
  std::int64_t index[kMaxRank];

  Position(const Traversal& plan, std::int64_t at) {
    for (int d = plan.rank - 1; d > 0; --d) {
      index[d] = at % plan.sizes[d];
      at /= plan.sizes[d];
    }
    index[0] = at;
  }
  /// Advances by n elements, at most to the end of a row.
  void advance(const Traversal& plan, std::int64_t n) {
    int d = plan.rank - 1;
    index[d] += n;
    for (; d > 0 && index[d] == plan.sizes[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
  std::int64_t offset(const Traversal& plan, const TraverseOperand& o) const {
    std::int64_t sum = 0;
    for (int d = 0; d < plan.rank; ++d) sum += index[d] * o.strides[d];
    return sum;
  }
};

/// Copies n elements from a position on between a strided operand and a dense buffer, across rows.
template <class T>
void copy_strided(bool gather, const Traversal& plan, const TraverseOperand& o, Position position, char* buffer,
                  std::int64_t n) {
  const int last = plan.rank - 1;
  char* at = o.data + position.offset(plan, o);
  while (n > 0) {
    const std::int64_t m = std::min(n, plan.sizes[last] - position.index[last]);
    if (gather) gather_row<T>(at, o.strides[last], buffer, m);
    else scatter_row<T>(buffer, at, o.strides[last], m);
    buffer += static_cast<std::size_t>(m) * sizeof(T);
    n -= m;
    if (n == 0) return;
    at -= position.index[last] * o.strides[last];
    position.index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      at += o.strides[d];
      if (++position.index[d] < plan.sizes[d]) break;
      at -= plan.sizes[d] * o.strides[d];
      position.index[d] = 0;
    }
  }
}
void copy_strided(bool gather, const Traversal& plan, const TraverseOperand& o, const Position& position, char* buffer,
                  std::int64_t n) {
  size_switch(size_of(o.dtype), [&]<class T>() { copy_strided<T>(gather, plan, o, position, buffer, n); });
}
void load_converted(const TraverseOperand& o, const void* from, void* to, std::int64_t n) {
  loops().load[static_cast<int>(o.dtype)][static_cast<int>(compute_of(o.chunk))](from, to, n);
}
void store_converted(const TraverseOperand& o, const void* from, void* to, std::int64_t n) {
  if (o.chunk == DType::bool_) {
    alignas(64) std::int64_t whole[kChunk];
    loops().load[static_cast<int>(DType::bool_)][static_cast<int>(Compute::kInt64)](from, whole, n);
    loops().store[static_cast<int>(Compute::kInt64)][static_cast<int>(o.dtype)](whole, to, n);
    return;
  }
  loops().store[static_cast<int>(compute_of(o.chunk))][static_cast<int>(o.dtype)](from, to, n);
}

/// Fills a chunk with n copies of the element at `from`, in the dtype of the body.
void fill_chunk(const TraverseOperand& o, const char* from, char* chunk, std::int64_t n) {
  if (o.dtype != o.chunk) load_converted(o, from, chunk, 1);
  loops().fill(o.dtype == o.chunk ? from : chunk, size_of(o.chunk), chunk, n);
}

/// Buffers with the elements of periodic operands, long enough for a whole chunk from any element of the first period
/// on.
class RepeatedBuffers {
 public:
  RepeatedBuffers(Traversal& plan, std::span<const TraverseOperand> operands) {
    char(*data)[(kChunk + kPeriod) * 8] = data_;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (plan.pattern[k] != Pattern::kPeriodic) continue;
      fill(plan, operands[k], plan.period[k], plan.single[k], *data);
      plan.repeated[k] = *data++;
    }
  }

 private:
  static void fill(const Traversal& plan, const TraverseOperand& o, std::int64_t period, bool single, char* data) {
    const std::int64_t wanted = std::min(kChunk, plan.numel) + period - 1;
    if (period == 1) return fill_chunk(o, o.data, data, single ? 1 : wanted);
    alignas(64) char raw[kPeriod * 8];
    char* first = o.dtype == o.chunk ? data : raw;
    copy_strided(true, plan, o, Position(plan, 0), first, period);
    if (first == raw) load_converted(o, raw, data, period);
    const std::size_t size = size_of(o.chunk);
    for (std::int64_t n = period; n < wanted; n *= 2)
      std::memcpy(data + static_cast<std::size_t>(n) * size, data,
                  static_cast<std::size_t>(std::min(n, wanted - n)) * size);
  }

  alignas(64) char data_[kMaxPeriodic][(kChunk + kPeriod) * 8];
};

/// The buffers of one thread, and the chunks that pass through them.
class ChunkWalker {
 public:
  ChunkWalker(const Traversal& plan, std::span<const TraverseOperand> operands) : plan_(plan), operands_(operands) {}

  void walk(std::int64_t begin, std::int64_t end, Body body, const void* context) {
    const int last = plan_.rank - 1;
    const bool direct = all_direct();
    if (direct && plan_.by_rows && plan_.rank > 1) return walk_rows(begin, end, body, context);
    Position position(plan_, plan_.by_position ? begin : 0);
    for (std::int64_t at = begin; at < end;) {
      std::int64_t n = end - at;
      if (plan_.by_rows && plan_.rank > 1) n = std::min(n, plan_.sizes[last] - position.index[last]);
      if (!direct) n = std::min(n, kChunk);
      void* chunks[kMaxOperands];
      for (std::size_t k = 0; k < operands_.size(); ++k) chunks[k] = open(k, position, at, n);
      body(context, chunks, n);
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        if (operands_[k].store) close(k, position, at, n, chunks[k]);
      }
      at += n;
      if (plan_.by_rows) position.advance(plan_, n);
      else if (plan_.by_position && at < end) position = Position(plan_, at);
    }
  }

 private:
  bool all_direct() const {
    const bool fits = plan_.by_rows && plan_.sizes[plan_.rank - 1] <= kChunk;  // a row fits in a buffer
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const Pattern l = plan_.pattern[k];
      if (plan_.single[k] || (fits && (l == Pattern::kPeriodic || l == Pattern::kConstant))) continue;
      if (operands_[k].dtype != operands_[k].chunk || (l != Pattern::kFlat && l != Pattern::kRows)) return false;
    }
    return true;
  }

  /// The same where the body gets the operands' own rows, or elements that repeat: addresses move with the position.
  void walk_rows(std::int64_t begin, std::int64_t end, Body body, const void* context) {
    const int last = plan_.rank - 1;
    Position position(plan_, begin);
    const std::size_t count = operands_.size();
    char* rows[kMaxOperands];
    for (std::size_t k = 0; k < count; ++k) rows[k] = operands_[k].data + position.offset(plan_, operands_[k]);
    std::int64_t jump[kMaxRank][kMaxOperands];  // from a row to the next, where dimension d moves on
    for (std::size_t k = 0; k < count; ++k) {
      std::int64_t back = 0;
      for (int d = last - 1; d >= 0; --d) {
        jump[d][k] = operands_[k].strides[d] - back;
        back += (plan_.sizes[d] - 1) * operands_[k].strides[d];
      }
    }
    std::int64_t at = begin, n = std::min(end - begin, plan_.sizes[last] - position.index[last]);
    for (;;) {
      void* chunks[kMaxOperands];
      for (std::size_t k = 0; k < count; ++k) {
        const Pattern l = plan_.pattern[k];
        chunks[k] = l == Pattern::kPeriodic   ? repeated(k, at)
                    : l == Pattern::kConstant ? constant(k, rows[k], n)
                                              : static_cast<void*>(rows[k]);
      }
      body(context, chunks, n);
      at += n;
      if (at >= end) return;
      if (position.index[last] != 0) {
        for (std::size_t k = 0; k < count; ++k) rows[k] -= position.index[last] * operands_[k].strides[last];
        position.index[last] = 0;
      }
      int d = last - 1;
      for (; d > 0 && ++position.index[d] == plan_.sizes[d]; --d) position.index[d] = 0;
      for (std::size_t k = 0; k < count; ++k) rows[k] += jump[d][k];
      n = std::min(end - at, plan_.sizes[last]);
    }
  }

  char* direct(std::size_t k, const Position& position, std::int64_t at) const {
    const TraverseOperand& o = operands_[k];
    if (plan_.pattern[k] == Pattern::kFlat) return o.data + at * static_cast<std::int64_t>(size_of(o.dtype));
    return plan_.pattern[k] == Pattern::kRows ? o.data + position.offset(plan_, o) : nullptr;
  }

  void* repeated(std::size_t k, std::int64_t at) const {
    const std::int64_t phase = plan_.period[k] == 1 ? 0 : at % plan_.period[k];
    return const_cast<char*>(plan_.repeated[k]) + static_cast<std::size_t>(phase) * size_of(operands_[k].chunk);
  }
  void* open(std::size_t k, const Position& position, std::int64_t at, std::int64_t n) {
    const TraverseOperand& o = operands_[k];
    const bool converts = o.dtype != o.chunk;
    if (plan_.pattern[k] == Pattern::kPeriodic) return repeated(k, at);
    if (plan_.pattern[k] == Pattern::kConstant) return constant(k, o.data + position.offset(plan_, o), n);
    char* from = direct(k, position, at);
    if (from != nullptr && !converts) return from;
    if (o.load) {
      if (from == nullptr) {
        copy_strided(true, plan_, o, position, raw_[k], n);
        from = raw_[k];
      }
      if (converts) load_converted(o, from, chunk_[k], n);
    }
    return converts ? chunk_[k] : raw_[k];
  }
  /// A chunk of n copies of one element; the chunks of a long row share one buffer.
  void* constant(std::size_t k, const char* from, std::int64_t n) {
    if (plan_.single[k]) {
      if (operands_[k].dtype == operands_[k].chunk) return const_cast<char*>(from);
      n = 1;
    }
    if (source_[k] != from || filled_[k] < n) {
      fill_chunk(operands_[k], from, chunk_[k], n);
      source_[k] = from;
      filled_[k] = n;
    }
    return chunk_[k];
  }

  void close(std::size_t k, const Position& position, std::int64_t at, std::int64_t n, void* chunk) {
    const TraverseOperand& o = operands_[k];
    char* to = direct(k, position, at);
    if (to == chunk) return;
    char* dense = to != nullptr ? to : raw_[k];
    if (o.dtype != o.chunk) store_converted(o, chunk, dense, n);
    if (to == nullptr) copy_strided(false, plan_, o, position, raw_[k], n);
  }

  const Traversal& plan_;
  std::span<const TraverseOperand> operands_;
  const char* source_[kMaxOperands] = {};
  std::int64_t filled_[kMaxOperands] = {};
  alignas(64) char raw_[kMaxOperands][kBufferBytes];
  alignas(64) char chunk_[kMaxOperands][kBufferBytes];
};

/// Whether an operand of short rows repeats within each index of the outermost dimension, but not from one to the next.
bool repeats_in_parts(const Traversal& plan, std::span<const TraverseOperand> operands) {
  // Elements that are worth a traversal; where rows would do, also several threads.
  const std::int64_t part = plan.by_rows ? 1 << 14 : 1 << 12;
  if (!plan.by_position || plan.sizes[plan.rank - 1] >= kLongRow || plan.rank < 3 || plan.numel / plan.sizes[0] < part)
    return false;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if ((plan.pattern[k] == Pattern::kStrided || plan.pattern[k] == Pattern::kRows) && !operands[k].store &&
        operands[k].strides[1] == 0)
      return true;
  return false;
}
void traverse_parts(const Traversal& plan, std::span<const TraverseOperand> operands, Body body, const void* context) {
  Shape rest;
  for (int d = 1; d < plan.rank; ++d) rest.push_back(plan.sizes[d]);
  for (std::int64_t i = 0; i < plan.sizes[0]; ++i) {
    TraverseOperand part[kMaxOperands];
    for (std::size_t k = 0; k < operands.size(); ++k) {
      part[k] = operands[k];
      part[k].data += i * operands[k].strides[0];
      std::copy(operands[k].strides + 1, operands[k].strides + plan.rank, part[k].strides);
    }
    traverse(rest, {part, operands.size()}, body, context);
  }
}

TraverseOperand make(const View& tensor, DType chunk, bool load, bool store) {
  TraverseOperand o;
  o.data = static_cast<char*>(tensor.raw_data());
  o.dtype = tensor.dtype();
  o.chunk = chunk;
  o.load = load;
  o.store = store;
  const std::int64_t size = static_cast<std::int64_t>(tensor.itemsize());
  const Strides& strides = tensor.strides();
  for (int d = 0; d < strides.rank(); ++d) o.strides[d] = strides[d] * size;
  return o;
}

}  // namespace

TraverseOperand TraverseOperand::input(const View& tensor, DType chunk) { return make(tensor, chunk, true, false); }
TraverseOperand TraverseOperand::output(const View& tensor, DType chunk) { return make(tensor, chunk, false, true); }
TraverseOperand TraverseOperand::in_out(const View& tensor, DType chunk) { return make(tensor, chunk, true, true); }

void traverse(const Shape& shape, std::span<TraverseOperand> operands, Body body, const void* context) {
  Traversal plan = plan_traversal(shape, operands);
  if (plan.numel == 0) return;
  if (repeats_in_parts(plan, operands)) return traverse_parts(plan, operands, body, context);
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (plan.pattern[k] != Pattern::kPeriodic)
      bytes += plan.numel * static_cast<std::int64_t>(size_of(operands[k].dtype));
  }
  // Blocks of whole rows if possible, so that no chunk is cut short.
  const std::int64_t row = plan.sizes[plan.rank - 1];
  const std::int64_t block = plan.by_rows && row < kThreadElements ? kThreadElements / row * row : kThreadElements;
  const auto run = [&] {
    parallel_blocks(plan.numel, block, bytes, [&](std::int64_t begin, std::int64_t end) {
      ChunkWalker(plan, operands).walk(begin, end, body, context);
    });
  };
  if (plan.all_of(Pattern::kFlat, Pattern::kFlat, operands.size())) return run();
  const RepeatedBuffers repeated(plan, operands);
  run();
}

bool same_dense_layout(const View& a, const View& b) {
  return detail::same_dense_layout(a.shape(), a.strides(), b.strides());
}

}  // namespace minnow::cpu
