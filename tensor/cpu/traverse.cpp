#include <minnow/tensor/cpu/traverse.h>

#include <algorithm>
#include <cstring>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kBlock = 8192;  // elements that one thread takes at a time
constexpr std::int64_t kLongRow = 64;  // rows from here on are worth a call each
constexpr std::size_t kBufferBytes = kChunk * 8;

/// Rows of a strided operand, from and to a dense buffer.
template <class T> void gather_row(const char* from, std::int64_t stride, char* to, std::int64_t n) {
  T* out = reinterpret_cast<T*>(to);
  if (stride == 0) {
    const T value = *reinterpret_cast<const T*>(from);
    for (std::int64_t i = 0; i < n; ++i) out[i] = value;
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = *reinterpret_cast<const T*>(from + i * stride);
  }
}
template <class T> void scatter_row(const char* from, char* to, std::int64_t stride, std::int64_t n) {
  const T* in = reinterpret_cast<const T*>(from);
  for (std::int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = in[i];
}

void move_row(bool gather, char* data, std::int64_t stride, char* buffer, std::int64_t n, std::size_t size) {
  switch (size) {
    case 1:
      return gather ? gather_row<std::uint8_t>(data, stride, buffer, n)
                    : scatter_row<std::uint8_t>(buffer, data, stride, n);
    case 2:
      return gather ? gather_row<std::uint16_t>(data, stride, buffer, n)
                    : scatter_row<std::uint16_t>(buffer, data, stride, n);
    case 4:
      return gather ? gather_row<std::uint32_t>(data, stride, buffer, n)
                    : scatter_row<std::uint32_t>(buffer, data, stride, n);
    default:
      return gather ? gather_row<std::uint64_t>(data, stride, buffer, n)
                    : scatter_row<std::uint64_t>(buffer, data, stride, n);
  }
}

/// Elements after which a broadcast operand may begin again to be repeated in a buffer.
constexpr std::int64_t kPeriod = 1024;
constexpr int kMostPeriodic = 3;  // operands that have such a buffer: it is on the stack

/// How an operand lies in the merged dimensions.  Flat: one after the other.  Periodic: the same elements over and over.
/// Rows: each row is flat.  Constant: each row is one element.
enum class Layout { kFlat, kPeriodic, kRows, kConstant, kStrided };

struct Plan {
  std::int64_t sizes[kMaxRank] = {};
  int rank = 0;
  std::int64_t numel = 1;
  bool by_rows = false;   // pieces end where rows end
  bool by_place = false;  // an operand is found by its place, not by the number of elements before it
  Layout layout[kMaxOperands] = {};
  bool one[kMaxOperands] = {};  // the body gets a single element of it
  std::int64_t period[kMaxOperands] = {};
  const char* repeated[kMaxOperands] = {};  // the elements of a periodic operand, as the body sees them

  bool all_of(Layout a, Layout b, std::size_t operands) const {
    return std::all_of(layout, layout + operands, [&](Layout l) { return l == a || l == b; });
  }
};

/// Orders dimensions by the first operand's strides, drops those of size 1 and merges neighbours that every
/// operand walks as one.
void merge_dimensions(const Shape& shape, std::span<Operand> operands, Plan& plan) {
  int order[kMaxRank];
  int rank = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    plan.numel *= shape[d];
    if (shape[d] == 1) continue;
    int at = rank++;
    for (; at > 0 && operands[0].strides[order[at - 1]] < operands[0].strides[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  for (Operand& o : operands) {
    std::int64_t sorted[kMaxRank];
    for (int i = 0; i < rank; ++i) sorted[i] = o.strides[order[i]];
    std::copy(sorted, sorted + rank, o.strides);
  }
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = shape[order[i]];
    bool merges = plan.rank > 0;
    for (const Operand& o : operands) merges = merges && o.strides[plan.rank - 1] == o.strides[i] * size;
    const int to = merges ? plan.rank - 1 : plan.rank++;
    plan.sizes[to] = merges ? plan.sizes[to] * size : size;
    for (Operand& o : operands) o.strides[to] = o.strides[i];
  }
  if (plan.rank == 0) {
    plan.rank = 1;
    plan.sizes[0] = 1;
    for (Operand& o : operands) o.strides[0] = static_cast<std::int64_t>(size_of(o.dtype));
  }
}

/// After how many elements an input begins again; 0: it does not, or too late to be repeated in a buffer.
std::int64_t period_of(const Plan& plan, const Operand& o) {
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

Plan make_plan(const Shape& shape, std::span<Operand> operands) {
  Plan plan;
  merge_dimensions(shape, operands, plan);
  const int last = plan.rank - 1;
  int periodic = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Operand& o = operands[k];
    std::int64_t dense = static_cast<std::int64_t>(size_of(o.dtype));
    bool flat = true;
    for (int d = last; d >= 0; --d) {
      flat = flat && o.strides[d] == dense;
      dense *= plan.sizes[d];
    }
    plan.period[k] = flat || periodic == kMostPeriodic ? 0 : period_of(plan, o);
    periodic += plan.period[k] > 0 ? 1 : 0;
    plan.layout[k] = flat ? Layout::kFlat : plan.period[k] > 0 ? Layout::kPeriodic : Layout::kStrided;
  }
  plan.by_place = !plan.all_of(Layout::kFlat, Layout::kPeriodic, operands.size());
  plan.by_rows = plan.by_place && (plan.rank == 1 || plan.sizes[last] >= kLongRow);
  for (std::size_t k = 0; plan.by_rows && k < operands.size(); ++k) {
    const Operand& o = operands[k];
    if (plan.layout[k] != Layout::kStrided) continue;
    if (o.strides[last] == static_cast<std::int64_t>(size_of(o.dtype))) plan.layout[k] = Layout::kRows;
    else if (o.strides[last] == 0 && !o.store) plan.layout[k] = Layout::kConstant;
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].one == nullptr || (plan.period[k] != 1 && plan.layout[k] != Layout::kConstant)) continue;
    *operands[k].one = plan.one[k] = true;
    break;
  }
  return plan;
}

/// A place in the merged dimensions, and the byte offset of an operand there.
struct Place {
  std::int64_t index[kMaxRank];

  Place(const Plan& plan, std::int64_t at) {
    for (int d = plan.rank - 1; d > 0; --d) {
      index[d] = at % plan.sizes[d];
      at /= plan.sizes[d];
    }
    index[0] = at;
  }
  /// Goes n elements on, at most to the end of a row.
  void advance(const Plan& plan, std::int64_t n) {
    int d = plan.rank - 1;
    index[d] += n;
    for (; d > 0 && index[d] == plan.sizes[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
  std::int64_t offset(const Plan& plan, const Operand& o) const {
    std::int64_t sum = 0;
    for (int d = 0; d < plan.rank; ++d) sum += index[d] * o.strides[d];
    return sum;
  }
};

/// Moves n elements from a place on between a strided operand and a dense buffer, across rows.
void move_strided(bool gather, const Plan& plan, const Operand& o, Place place, char* buffer, std::int64_t n) {
  const int last = plan.rank - 1;
  const std::size_t size = size_of(o.dtype);
  char* at = o.data + place.offset(plan, o);
  while (n > 0) {
    const std::int64_t m = std::min(n, plan.sizes[last] - place.index[last]);
    move_row(gather, at, o.strides[last], buffer, m, size);
    buffer += static_cast<std::size_t>(m) * size;
    n -= m;
    if (n == 0) return;
    at -= place.index[last] * o.strides[last];
    place.index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      at += o.strides[d];
      if (++place.index[d] < plan.sizes[d]) break;
      at -= plan.sizes[d] * o.strides[d];
      place.index[d] = 0;
    }
  }
}

void load_converted(const Operand& o, const void* from, void* to, std::int64_t n) {
  loops().load[static_cast<int>(o.dtype)][static_cast<int>(compute_of(o.chunk))](from, to, n);
}
void store_converted(const Operand& o, const void* from, void* to, std::int64_t n) {
  if (o.chunk == DType::bool_) {
    alignas(64) std::int64_t whole[kChunk];
    loops().load[static_cast<int>(DType::bool_)][static_cast<int>(Compute::kInt64)](from, whole, n);
    loops().store[static_cast<int>(Compute::kInt64)][static_cast<int>(o.dtype)](whole, to, n);
    return;
  }
  loops().store[static_cast<int>(compute_of(o.chunk))][static_cast<int>(o.dtype)](from, to, n);
}

/// n times the element at `from`, as the body sees it.
void fill_chunk(const Operand& o, const char* from, char* chunk, std::int64_t n) {
  if (o.dtype == o.chunk) move_row(true, const_cast<char*>(from), 0, chunk, 1, size_of(o.dtype));
  else load_converted(o, from, chunk, 1);
  switch (size_of(o.chunk)) {
    case 4: return loops().fill(chunk, chunk, n);
    case 8: return move_row(true, chunk, 0, chunk, n, 8);
    default: return move_row(true, chunk, 0, chunk, n, size_of(o.chunk));
  }
}

/// The elements of periodic operands, from any of the first `period` on for a whole chunk.
class Repeated {
 public:
  Repeated(Plan& plan, std::span<const Operand> operands) {
    char(*data)[(kChunk + kPeriod) * 8] = data_;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (plan.layout[k] != Layout::kPeriodic) continue;
      fill(plan, operands[k], plan.period[k], plan.one[k], *data);
      plan.repeated[k] = *data++;
    }
  }

 private:
  static void fill(const Plan& plan, const Operand& o, std::int64_t period, bool one, char* data) {
    const std::int64_t wanted = std::min(kChunk, plan.numel) + period - 1;
    if (period == 1) return fill_chunk(o, o.data, data, one ? 1 : wanted);
    alignas(64) char raw[kPeriod * 8];
    char* first = o.dtype == o.chunk ? data : raw;
    move_strided(true, plan, o, Place(plan, 0), first, period);
    if (first == raw) load_converted(o, raw, data, period);
    const std::size_t size = size_of(o.chunk);
    for (std::int64_t n = period; n < wanted; n *= 2)
      std::memcpy(data + static_cast<std::size_t>(n) * size, data,
                  static_cast<std::size_t>(std::min(n, wanted - n)) * size);
  }

  alignas(64) char data_[kMostPeriodic][(kChunk + kPeriod) * 8];
};

/// One thread's buffers, and the pieces that pass through them.
class Walker {
 public:
  Walker(const Plan& plan, std::span<const Operand> operands) : plan_(plan), operands_(operands) {}

  void walk(std::int64_t begin, std::int64_t end, Body body, const void* context) {
    const int last = plan_.rank - 1;
    const bool direct = all_direct();
    Place place(plan_, plan_.by_place ? begin : 0);
    for (std::int64_t at = begin; at < end;) {
      std::int64_t n = end - at;
      if (plan_.by_rows && plan_.rank > 1) n = std::min(n, plan_.sizes[last] - place.index[last]);
      if (!direct) n = std::min(n, kChunk);
      void* chunks[kMaxOperands];
      for (std::size_t k = 0; k < operands_.size(); ++k) chunks[k] = open(k, place, at, n);
      body(context, chunks, n);
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        if (operands_[k].store) close(k, place, at, n, chunks[k]);
      }
      at += n;
      if (plan_.by_rows) place.advance(plan_, n);
      else if (plan_.by_place && at < end) place = Place(plan_, at);
    }
  }

 private:
  bool all_direct() const {
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const Layout l = plan_.layout[k];
      if (plan_.one[k]) continue;
      if (operands_[k].dtype != operands_[k].chunk || (l != Layout::kFlat && l != Layout::kRows)) return false;
    }
    return true;
  }
  char* direct(std::size_t k, const Place& place, std::int64_t at) const {
    const Operand& o = operands_[k];
    if (plan_.layout[k] == Layout::kFlat) return o.data + at * static_cast<std::int64_t>(size_of(o.dtype));
    return plan_.layout[k] == Layout::kRows ? o.data + place.offset(plan_, o) : nullptr;
  }

  void* open(std::size_t k, const Place& place, std::int64_t at, std::int64_t n) {
    const Operand& o = operands_[k];
    const bool converts = o.dtype != o.chunk;
    if (plan_.layout[k] == Layout::kPeriodic) {
      const std::int64_t phase = plan_.period[k] == 1 ? 0 : at % plan_.period[k];
      return const_cast<char*>(plan_.repeated[k]) + static_cast<std::size_t>(phase) * size_of(o.chunk);
    }
    if (plan_.layout[k] == Layout::kConstant) return constant(k, o.data + place.offset(plan_, o), n);
    char* from = direct(k, place, at);
    if (from != nullptr && !converts) return from;
    if (o.load) {
      if (from == nullptr) {
        move_strided(true, plan_, o, place, raw_[k], n);
        from = raw_[k];
      }
      if (converts) load_converted(o, from, chunk_[k], n);
    }
    return converts ? chunk_[k] : raw_[k];
  }
  /// n times one element; a long row's pieces share what the first one filled.
  void* constant(std::size_t k, const char* from, std::int64_t n) {
    if (plan_.one[k]) {
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

  void close(std::size_t k, const Place& place, std::int64_t at, std::int64_t n, void* chunk) {
    const Operand& o = operands_[k];
    char* to = direct(k, place, at);
    if (to == chunk) return;
    char* dense = to != nullptr ? to : raw_[k];
    if (o.dtype != o.chunk) store_converted(o, chunk, dense, n);
    if (to == nullptr) move_strided(false, plan_, o, place, raw_[k], n);
  }

  const Plan& plan_;
  std::span<const Operand> operands_;
  const char* source_[kMaxOperands] = {};
  std::int64_t filled_[kMaxOperands] = {};
  alignas(64) char raw_[kMaxOperands][kBufferBytes];
  alignas(64) char chunk_[kMaxOperands][kBufferBytes];
};

Operand make(const View& tensor, DType chunk, bool load, bool store) {
  Operand o;
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

Operand Operand::input(const View& tensor, DType chunk) { return make(tensor, chunk, true, false); }
Operand Operand::output(const View& tensor, DType chunk) { return make(tensor, chunk, false, true); }
Operand Operand::in_out(const View& tensor, DType chunk) { return make(tensor, chunk, true, true); }

void traverse(const Shape& shape, std::span<Operand> operands, Body body, const void* context) {
  Plan plan = make_plan(shape, operands);
  if (plan.numel == 0) return;
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (plan.layout[k] != Layout::kPeriodic)
      bytes += plan.numel * static_cast<std::int64_t>(size_of(operands[k].dtype));
  }
  // Whole rows where there are some: no piece is shorter than it must be.
  const std::int64_t row = plan.sizes[plan.rank - 1];
  const std::int64_t block = plan.by_rows && row < kBlock ? kBlock / row * row : kBlock;
  const auto run = [&] {
    parallel_blocks(plan.numel, block, bytes, [&](std::int64_t begin, std::int64_t end) {
      Walker(plan, operands).walk(begin, end, body, context);
    });
  };
  if (plan.all_of(Layout::kFlat, Layout::kFlat, operands.size())) return run();
  const Repeated repeated(plan, operands);
  run();
}

bool same_dense_layout(const View& a, const View& b) {
  if (a.is_contiguous() && b.is_contiguous()) return true;
  return a.strides() == b.strides() && is_dense(a.shape(), a.strides());
}

}  // namespace minnow::cpu
