#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow::cpu {
namespace {

template <class T> using KeyOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <class T> inline constexpr int kKeyBits = static_cast<int>(8 * sizeof(T));

/// The key of NaN.
template <class T>
inline constexpr KeyOf<T> kLargestKey = static_cast<KeyOf<T>>(~KeyOf<T>{0}) >> (8 * sizeof(KeyOf<T>) - kKeyBits<T>);

/// A number that is ordered as x is: equal elements have equal keys, and NaN the largest.
template <class T> KeyOf<T> key_of(T x) {
  using Key = KeyOf<T>;
  constexpr Key kSign = Key{1} << (kKeyBits<T> - 1), kAll = kLargestKey<T>;
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) return (static_cast<Key>(x) & kAll) ^ kSign;
    else return static_cast<Key>(x);
  } else {
    Key bits = 0;
    if constexpr (sizeof(T) == 2) bits = x.bits;
    else bits = std::bit_cast<Key>(x);
    constexpr Key kInfinity = std::is_same_v<T, double>      ? static_cast<Key>(0x7ff0000000000000u)
                              : std::is_same_v<T, float>     ? Key{0x7f800000u}
                              : std::is_same_v<T, float16_t> ? Key{0x7c00u}
                                                             : Key{0x7f80u};
    const Key magnitude = bits & ~kSign;
    const Key ordered = (bits & kSign) != 0 ? ~bits & kAll : bits | kSign;
    return magnitude > kInfinity ? kAll : magnitude == 0 ? kSign : ordered;
  }
}

/// The keys of a row; of a descending order their complements.
template <class T> struct Row {
  using Key = KeyOf<T>;
  const T* x;
  std::int64_t n;
  Key flip;

  Key key(std::int64_t i) const { return key_of(x[i]) ^ flip; }
  /// How many elements are not NaN.
  std::int64_t numbers() const {
    if constexpr (std::is_integral_v<T>) return n;
    if constexpr (std::is_floating_point_v<T>) {  // by vectors, which is seldom not enough
      int some = 0;
      for (std::int64_t i = 0; i < n; ++i) some |= static_cast<int>(x[i] != x[i]);
      if (some == 0) return n;
    }
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) count += static_cast<std::int64_t>(key_of(x[i]) != kLargestKey<T>);
    return count;
  }
  /// Whether one of `count` elements from i on may have a key below that of element `other`: false is certain.
  bool may_be_below(std::int64_t i, std::int64_t count, std::int64_t other) const {
    int some = 0;
    if constexpr (std::is_floating_point_v<T>) {  // comparing numbers is faster than making their keys
      const T limit = x[other];
      if (limit != limit) return true;
      if (flip == 0) {
        for (std::int64_t j = 0; j < count; ++j) some |= static_cast<int>(x[i + j] < limit);
      } else {
        for (std::int64_t j = 0; j < count; ++j) some |= static_cast<int>(!(x[i + j] <= limit));
      }
    } else {
      const Key limit = key(other);
      for (std::int64_t j = 0; j < count; ++j) some |= static_cast<int>(key(i + j) < limit);
    }
    return some != 0;
  }
};

/// An element by its key and its place, which decides between equal keys.
template <class Key> struct Entry;
template <> struct Entry<std::uint32_t> {
  std::uint64_t both;
  Entry() = default;
  Entry(std::uint32_t key, std::uint32_t at) : both(std::uint64_t{key} << 32 | at) {}
  std::uint32_t key() const { return static_cast<std::uint32_t>(both >> 32); }
  std::uint32_t at() const { return static_cast<std::uint32_t>(both); }
  bool operator<(const Entry& other) const { return both < other.both; }
};
template <> struct Entry<std::uint64_t> {
  std::uint64_t key_;
  std::uint32_t at_;
  Entry() = default;
  Entry(std::uint64_t key, std::uint32_t at) : key_(key), at_(at) {}
  std::uint64_t key() const { return key_; }
  std::uint32_t at() const { return at_; }
  bool operator<(const Entry& other) const { return key_ != other.key_ ? key_ < other.key_ : at_ < other.at_; }
};

constexpr int kDigitBits = 11, kDigits = 1 << kDigitBits;
constexpr int kShortDigitBits = 8;
constexpr std::int64_t kComparedRow = 160;  // up to this length comparing is faster than counting many digits
constexpr std::int64_t kCountedDigit = 32;  // the same for each of few digits
constexpr std::int64_t kShortRow = 4096;    // up to this length fewer counters pay
constexpr std::int64_t kFew = 8;            // up to this part of a short row a heap is faster
constexpr std::int64_t kLongRow = 1 << 16;  // from this length on a row alone is worth several threads

/// The least key of the entries, and how many bits their distances from it have; where that is not worth it, all.
template <class T, class E> std::pair<KeyOf<T>, int> range_of(const E* entries, std::int64_t n) {
  if (!std::is_integral_v<T> || sizeof(T) < 4 || n <= kCountedDigit) return {KeyOf<T>{0}, kKeyBits<T>};
  KeyOf<T> low = entries[0].key(), high = low;
  for (std::int64_t i = 1; i < n; ++i) low = std::min(low, entries[i].key()), high = std::max(high, entries[i].key());
  return {low, static_cast<int>(std::bit_width(high - low))};
}

/// Sorts entries by their keys' bits [first, last), a digit of `bits` bits at a time from the lowest; `other` has the
/// same size.  Returns the array with the result.
template <int bits, class Key, class E> E* radix_sort(E* from, E* other, std::int64_t n, Key low, int first, int last) {
  constexpr std::size_t kSize = std::size_t{1} << bits;
  for (int shift = first; shift < last; shift += bits) {
    std::uint32_t counts[kSize] = {};
    const auto digit = [=](const E& e) { return static_cast<std::size_t>((e.key() - low) >> shift) & (kSize - 1); };
    for (std::int64_t i = 0; i < n; ++i) ++counts[digit(from[i])];
    if (counts[digit(from[0])] == static_cast<std::uint32_t>(n)) continue;  // the digit is the same in all
    std::uint32_t sum = 0;
    for (std::uint32_t& c : counts) sum += std::exchange(c, sum);
    for (std::int64_t i = 0; i < n; ++i) other[counts[digit(from[i])]++] = from[i];
    std::swap(from, other);
  }
  return from;
}

/// The same of keys of 64 bits by their upper halves, which are seldom equal, and where they are, by the lower ones.
template <int bits, class E> E* sort_by_halves(E* from, E* other, std::int64_t n) {
  constexpr int kHalf = bits == kShortDigitBits ? 32 : 31;  // whole digits are above it
  constexpr std::uint64_t kZero = 0;
  E* const sorted = radix_sort<bits>(from, other, n, kZero, kHalf, 64);
  const auto continues = [&](std::int64_t i) { return sorted[i].key() >> kHalf == sorted[i - 1].key() >> kHalf; };
  std::int64_t equal = 0;
  for (std::int64_t i = 1; i < n; ++i) equal += continues(i) ? 1 : 0;
  if (equal > n / 8) return radix_sort<bits>(sorted, sorted == from ? other : from, n, kZero, 0, 64);
  for (std::int64_t begin = 0, end = 1; begin < n && equal > 0; begin = end++) {
    while (end < n && continues(end)) ++end;
    if (end - begin > 1) std::sort(sorted + begin, sorted + end), equal -= end - begin - 1;
  }
  return sorted;
}

template <class T, class E> E* sort_entries(E* entries, E* other, std::int64_t n) {
  const auto range = range_of<T>(entries, n);
  const KeyOf<T> low = range.first;
  const int bits = range.second;
  if (n <= kComparedRow && n <= kCountedDigit * ((bits + kShortDigitBits - 1) / kShortDigitBits)) {
    std::sort(entries, entries + n);
    return entries;
  }
  const auto sort = [&]<int digit>(std::integral_constant<int, digit>) {
    if constexpr (std::is_same_v<T, double>) return sort_by_halves<digit>(entries, other, n);
    else return radix_sort<digit>(entries, other, n, low, 0, bits);
  };
  if (n <= kShortRow) return sort(std::integral_constant<int, kShortDigitBits>());
  return sort(std::integral_constant<int, kDigitBits>());
}

/// The same for a long row, by several threads: each counts and moves the entries of its part of the row.
template <class E> E* sort_in_parts(E* from, E* other, std::int64_t n, int key_bits) {
  const int parts = num_threads();
  const Buffer room(sizeof(std::uint32_t) * kDigits * static_cast<std::size_t>(parts));
  auto* const counts = static_cast<std::uint32_t*>(room.data());
  for (int shift = 0; shift < key_bits; shift += kDigitBits) {
    const auto digit = [shift](const E& e) { return static_cast<std::size_t>(e.key() >> shift) & (kDigits - 1); };
    const auto each_part = [&](const auto& f) {
      parallel_loop(parts, parts, [&](std::int64_t p) { f(counts + p * kDigits, n * p / parts, n * (p + 1) / parts); });
    };
    each_part([&](std::uint32_t* count, std::int64_t begin, std::int64_t end) {
      std::fill_n(count, kDigits, 0u);
      for (std::int64_t i = begin; i < end; ++i) ++count[digit(from[i])];
    });
    std::uint32_t sum = 0;
    bool same = false;
    for (int d = 0; d < kDigits; ++d) {
      const std::uint32_t before = sum;
      for (int p = 0; p < parts; ++p) sum += std::exchange(counts[p * kDigits + d], sum);
      same = same || sum - before == static_cast<std::uint32_t>(n);
    }
    if (same) continue;
    each_part([&](std::uint32_t* to, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) other[to[digit(from[i])]++] = from[i];
    });
    std::swap(from, other);
  }
  return from;
}

/// Puts the `k` smallest of the entries [begin, end) of a row to `to`, which has room for several times k, and returns
/// how many there are.  What is larger than the k-th so far is passed over.
template <class T, class E>
std::int64_t select(const Row<T>& row, std::int64_t begin, std::int64_t end, std::int64_t k, std::int64_t capacity,
                    E* to) {
  constexpr std::int64_t kStretch = sizeof(T) < 4 ? 16 : 8, kInserted = 16;
  std::int64_t count = 0;
  KeyOf<T> limit{};
  std::int64_t limit_at = -1;  // from 0 on there are k entries up to this one
  const auto put = [&](std::int64_t i) {
    const KeyOf<T> key = row.key(i);
    const E entry(key, static_cast<std::uint32_t>(i));
    if (k <= kInserted) {  // few are kept in order
      if (limit_at >= 0 && key >= limit) return;
      std::int64_t at = count < k ? count++ : k - 1;
      for (; at > 0 && entry < to[at - 1]; --at) to[at] = to[at - 1];
      to[at] = entry;
      if (count == k) limit = to[k - 1].key(), limit_at = to[k - 1].at();
      return;
    }
    to[count] = entry;  // without a branch
    count += static_cast<std::int64_t>((limit_at < 0) | (key < limit));
    if (count < capacity) return;
    std::nth_element(to, to + k - 1, to + count);
    limit = to[k - 1].key(), limit_at = to[k - 1].at(), count = k;
  };
  std::int64_t i = begin;
  for (; i + kStretch <= end; i += kStretch) {
    if (limit_at >= 0 && !row.may_be_below(i, kStretch, limit_at)) continue;
    for (std::int64_t j = 0; j < kStretch; ++j) put(i + j);
  }
  for (; i < end; ++i) put(i);
  if (count <= k) return count;
  std::nth_element(to, to + k - 1, to + count);
  return k;
}

/// The k-th entry of a long row: it is among those that share the upper digit of its key.  `to` has room for twice the
/// row.
template <class T, class E> const E* kth_entry(const Row<T>& row, std::int64_t k, E* to) {
  constexpr int kShift = std::max(0, kKeyBits<T> - kDigitBits);
  auto* const keys = reinterpret_cast<KeyOf<T>*>(to + row.n);
  auto* const places = reinterpret_cast<std::uint32_t*>(keys + row.n);
  for (std::int64_t i = 0; i < row.n; ++i) keys[i] = row.key(i);  // by vectors
  std::uint32_t counts[2][kDigits] = {};  // of neighbors apart: an equal digit would wait for the last
  for (std::int64_t i = 0; i < row.n; ++i) ++counts[i % 2][keys[i] >> kShift];
  std::size_t d = 0;
  std::int64_t left = k, count = 0;
  for (; left > counts[0][d] + counts[1][d]; ++d) left -= counts[0][d] + counts[1][d];
  for (std::int64_t i = 0; i < row.n; ++i) {
    places[count] = static_cast<std::uint32_t>(i);
    count += keys[i] >> kShift == d ? 1 : 0;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = E(keys[places[i]], places[i]);
  std::nth_element(to, to + left - 1, to + count);
  return to + left - 1;
}

/// Room for the candidates of select().
std::int64_t capacity_for(std::int64_t k) { return std::max<std::int64_t>(4 * k, 24); }
/// Whether to select the first k of n, and not to sort all.
bool selects(std::int64_t n, std::int64_t k) { return n > kComparedRow && capacity_for(k) <= n / 4; }

/// Where the one element that is picked is among all in order, whose keys are key(i): for a mode alone.  0 to take the
/// first.
template <class T, class F> std::int64_t place(const calls::Sort& args, const Row<T>& row, const F& key) {
  if (args.pick == SortPick::first || args.pick == SortPick::kth) return args.pick == SortPick::first ? 0 : args.k - 1;
  const std::int64_t numbers = row.numbers();
  if (args.pick == SortPick::median && numbers < row.n) return numbers;
  if (args.pick != SortPick::mode) return (numbers - 1) / 2;
  std::int64_t begin = 0, longest = 0, last = 0;
  for (std::int64_t i = 1; i < numbers; ++i) {
    if (key(i) != key(begin)) begin = i;
    if (i - begin > longest) longest = i - begin, last = i;
  }
  return last;
}

template <class T, class E>
void write(const calls::Sort& args, const Row<T>& row, const E* entries, std::int64_t r, std::int64_t begin,
           std::int64_t end) {
  const std::int64_t k = args.values.shape()[1];
  T* const values = static_cast<T*>(args.values.raw_data()) + r * k;
  auto* const indices = static_cast<std::int64_t*>(args.indices.raw_data()) + r * k;
  for (std::int64_t i = begin; i < end; ++i) {
    indices[i] = entries[i].at();
    values[i] = row.x[entries[i].at()];
  }
}

/// Compiled once: `less` compares two elements of a row.
void sort_stably(std::int64_t* at, std::int64_t n, const void* row,
                 bool (*less)(const void*, std::int64_t, std::int64_t)) {
  std::iota(at, at + n, std::int64_t{0});
  std::stable_sort(at, at + n, [=](std::int64_t a, std::int64_t b) { return less(row, a, b); });
}

/// Rows of 2^32 elements and more.
template <class T> void sort_indices(const calls::Sort& args, const Row<T>& row, std::int64_t r) {
  const Buffer room(sizeof(std::int64_t) * static_cast<std::size_t>(row.n));
  auto* const at = static_cast<std::int64_t*>(room.data());
  sort_stably(at, row.n, &row, [](const void* of, std::int64_t a, std::int64_t b) {
    return static_cast<const Row<T>*>(of)->key(a) < static_cast<const Row<T>*>(of)->key(b);
  });
  const std::int64_t k = args.values.shape()[1],
                     first = place(args, row, [&](std::int64_t i) { return row.key(at[i]); });
  for (std::int64_t i = 0; i < k; ++i) {
    static_cast<std::int64_t*>(args.indices.raw_data())[r * k + i] = at[first + i];
    static_cast<T*>(args.values.raw_data())[r * k + i] = row.x[at[first + i]];
  }
}

/// The entries of a long row that the first k are among, by the upper digit of their keys.
template <class T> struct Leading {
  static constexpr int kShift = std::max(0, kKeyBits<T> - kDigitBits);
  const Row<T>& row;
  int parts;
  Buffer starts;               // of each part
  std::size_t last = kDigits;  // the last digit among them
  std::int64_t count = 0;

  Leading(const Row<T>& of, std::int64_t k, int threads)
      : row(of), parts(threads), starts(sizeof(std::int64_t) * static_cast<std::size_t>(threads)) {
    auto* const start = static_cast<std::int64_t*>(starts.data());
    for (int p = 0; p < parts; ++p) start[p] = begin(p);
    count = row.n;
    if (k == row.n) return;
    const Buffer room(sizeof(std::uint32_t) * kDigits * static_cast<std::size_t>(parts));
    auto* const counts = static_cast<std::uint32_t*>(room.data());
    parallel_loop(parts, parts, [&](std::int64_t p) {
      std::uint32_t* const own = counts + p * kDigits;
      std::fill_n(own, kDigits, 0u);
      for (std::int64_t i = begin(p); i < begin(p + 1); ++i) ++own[digit(row.key(i))];
    });
    std::fill_n(start, parts, std::int64_t{0});
    for (count = 0, last = 0; last < kDigits; ++last) {
      for (int p = 0; p < parts; ++p) {
        const std::int64_t some = counts[static_cast<std::size_t>(p) * kDigits + last];
        start[p] += some, count += some;
      }
      if (count >= k) break;
    }
    std::int64_t sum = 0;
    for (int p = 0; p < parts; ++p) sum += std::exchange(start[p], sum);
  }

  /// Writes them in the order of the row.
  void put(Entry<KeyOf<T>>* to) const {
    parallel_loop(parts, parts, [&](std::int64_t p) {
      std::int64_t at = static_cast<std::int64_t*>(starts.data())[p];
      for (std::int64_t i = begin(p); i < begin(p + 1); ++i) {
        const KeyOf<T> key = row.key(i);
        if (digit(key) <= last) to[at++] = Entry<KeyOf<T>>(key, static_cast<std::uint32_t>(i));
      }
    });
  }

 private:
  std::int64_t begin(std::int64_t part) const { return row.n * part / parts; }
  static std::size_t digit(KeyOf<T> key) { return static_cast<std::size_t>(key >> kShift); }
};

/// A row by all threads.
template <class T> void sort_long_row(const calls::Sort& args, const Row<T>& row, std::int64_t r) {
  using E = Entry<KeyOf<T>>;
  const std::int64_t k = args.k, n = row.n, taken = args.values.shape()[1];
  const int threads = num_threads();
  const ThreadLimit limit(threads);
  if (selects(n, k * threads)) {
    const std::int64_t capacity = capacity_for(k);
    const Buffer room(sizeof(E) * static_cast<std::size_t>(capacity * threads + k * threads));
    E* const all = static_cast<E*>(room.data());
    const Buffer counts(sizeof(std::int64_t) * static_cast<std::size_t>(threads));
    parallel_loop(threads, threads, [&](std::int64_t t) {
      static_cast<std::int64_t*>(counts.data())[t] =
          select(row, n * t / threads, n * (t + 1) / threads, k, capacity, all + t * capacity);
    });
    std::int64_t found = 0;
    for (int t = 0; t < threads; ++t) {
      const std::int64_t count = static_cast<std::int64_t*>(counts.data())[t];
      std::memmove(static_cast<void*>(all + found), all + t * capacity, sizeof(E) * static_cast<std::size_t>(count));
      found += count;
    }
    std::sort(all, all + found);  // not in the order of the row: digits would not be enough
    return write(args, row, all, r, 0, k);
  }
  const Leading<T> leading(row, k, threads);
  const Buffer room(2 * sizeof(E) * static_cast<std::size_t>(leading.count));
  E* const entries = static_cast<E*>(room.data());
  leading.put(entries);
  const E* const sorted = sort_in_parts(entries, entries + leading.count, leading.count, kKeyBits<T>);
  const E* const first = sorted + place(args, row, [&](std::int64_t i) { return sorted[i].key(); });
  parallel_blocks(taken, 8192, taken * 16,
                  [&](std::int64_t begin, std::int64_t end) { write(args, row, first, r, begin, end); });
}

template <class T> void run(const calls::Sort& args) {
  using E = Entry<KeyOf<T>>;
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1];
  const bool all = args.pick == SortPick::first || args.pick == SortPick::mode;
  const KeyOf<T> flip = !args.descending    ? KeyOf<T>{0}
                        : kKeyBits<T> >= 32 ? static_cast<KeyOf<T>>(~KeyOf<T>{0})
                                            : static_cast<KeyOf<T>>((KeyOf<T>{1} << (kKeyBits<T> % 32)) - 1);
  const auto row = [&](std::int64_t r) { return Row<T>{static_cast<const T*>(args.x.raw_data()) + r * n, n, flip}; };
  const int threads = in_parallel() ? 1 : num_threads();
  if (n > std::int64_t{0xffffffff}) {
    for (std::int64_t r = 0; r < rows; ++r) sort_indices(args, row(r), r);
    return;
  }
  if (threads > 1 && n >= kLongRow && all && rows < 2 * threads) {
    for (std::int64_t r = 0; r < rows; ++r) sort_long_row(args, row(r), r);
    return;
  }
  const bool some = selects(n, args.k);
  const std::int64_t capacity = some ? capacity_for(args.k) : n;
  const Buffer room(2 * sizeof(E) * static_cast<std::size_t>(capacity * threads));
  const ThreadLimit limit(threads);
  parallel_for(rows, 8 * args.x.nbytes(), [&](std::int64_t r) {
    E* const entries = static_cast<E*>(room.data()) + 2 * capacity * (threads == 1 ? 0 : thread_number());
    const Row<T> from = row(r);
    const std::int64_t k = all ? args.k : place(args, from, [](std::int64_t) { return 0; }) + 1;
    if (!all && !some && n >= kDigits) return write(args, from, kth_entry(from, k, entries), r, 0, 1);
    std::int64_t count = n;
    if (some) count = select(from, 0, n, k, capacity, entries);
    else
      for (std::int64_t i = 0; i < n; ++i) entries[i] = E(from.key(i), static_cast<std::uint32_t>(i));
    if (!all) {
      std::nth_element(entries, entries + k - 1, entries + count);
      return write(args, from, entries + k - 1, r, 0, 1);
    }
    if (kFew * k <= count && n <= kShortRow) {
      std::partial_sort(entries, entries + k, entries + count);
      return write(args, from, entries, r, 0, k);
    }
    if (some || (k < count && n <= kComparedRow)) {  // no longer in the order of the row: digits would not be enough
      std::nth_element(entries, entries + k - 1, entries + count);
      std::sort(entries, entries + k);
      return write(args, from, entries, r, 0, k);
    }
    const E* const sorted = sort_entries<T>(entries, entries + capacity, count);
    write(args, from, sorted + place(args, from, [&](std::int64_t i) { return sorted[i].key(); }), r, 0,
          args.values.shape()[1]);
  });
}

template <class T> void search(const calls::SearchSorted& args) {
  const View &sorted = args.sorted, &values = args.values;
  const std::int64_t n = sorted.shape()[1], m = values.shape()[1], stride = sorted.shape()[0] == 1 ? 0 : n;
  const auto* const from = static_cast<const T*>(sorted.raw_data());
  const auto* const x = static_cast<const T*>(values.raw_data());
  const bool right = args.right;
  auto* const out = static_cast<std::int64_t*>(args.indices.raw_data());
  parallel_blocks(values.numel(), 1024, 8 * values.nbytes(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T value = x[i];
      const T* row = stride ? from + i / m * stride : from;
      const T* at = row;
      for (std::int64_t left = n; left > 0;) {  // all elements before `at` are less; without a branch
        const std::int64_t half = left / 2;
        const bool less = right ? !(at[half] > value) : !(at[half] >= value);
        const std::int64_t all = -static_cast<std::int64_t>(less);
        at += (half + 1) & all;
        left = half + ((left - half - 1 - half) & all);
      }
      out[i] = at - row;
    }
  });
}

}  // namespace

template <> void execute(const calls::Sort& args) {
  dtype_switch(args.x.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) run<std::uint8_t>(args);
    else run<T>(args);
  });
}

template <> void execute(const calls::SearchSorted& args) {
  switch (args.values.dtype()) {
    case DType::float32: return search<float>(args);
    case DType::float64: return search<double>(args);
    default: return search<std::int64_t>(args);
  }
}

}  // namespace minnow::cpu
