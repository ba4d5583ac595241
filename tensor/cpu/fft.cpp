#include <minnow/tensor/cpu/fft.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/per_thread.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

template <class T> using Numbers = std::vector<FftNumber<T>>;

/// e^(-2 pi i k / n) for k in [0, n); exact where it is 1, -i, -1 or i.
template <class T> FftNumber<T> root(std::int64_t k, std::int64_t n) {
  constexpr int kQuarters[] = {1, 0, -1, 0, 1};
  const std::int64_t quarter = 4 * k / n;
  if (4 * k % n == 0) return {static_cast<T>(kQuarters[quarter]), static_cast<T>(-kQuarters[(quarter + 3) % 4])};
  const double angle = 2 * std::numbers::pi * (static_cast<double>(k) / static_cast<double>(n));
  return {static_cast<T>(std::cos(angle)), static_cast<T>(-std::sin(angle))};
}

constexpr int kRadices[] = {8, 4, 2, 3, 5, 7, 11, 13};

/// Without the factors of kRadices.
std::int64_t rest_of(std::int64_t n) {
  for (const int p : kRadices)
    for (; n % p == 0;) n /= p;
  return n;
}

/// The steps of n numbers, and what they refer to: with a large prime factor a convolution (Bluestein 1970), else a
/// matrix if the line is to be transformed alone, else a pass for each factor.
template <class T> class FftPlan {
 public:
  FftPlan(std::int64_t n, bool alone) : alone_(alone) {
    steps_.n = n;
    if (rest_of(n) != 1) convolve();
    else if (alone) divide();
    else factorize();
  }
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;

  const FftSteps<T>& steps() const { return steps_; }
  bool is_of(std::int64_t n, bool alone) const { return steps_.n == n && alone_ == alone; }

  /// Bytes that the loops need.
  std::size_t memory(std::int64_t lanes) const {
    const std::int64_t room = (steps_.room() + 16) / 16 * 16;
    std::int64_t count = 2 * room * (alone_ ? 1 : lanes);
    const FftSteps<T>& last = steps_.inner ? *steps_.inner : steps_;
    if (alone_) count += 2 * std::max(last.columns->n, last.rows->n) * lanes;
    return static_cast<std::size_t>(count) * sizeof(FftNumber<T>);
  }

 private:
  void factorize() {
    std::int64_t done = 1;
    std::vector<std::size_t> begins;
    for (const int p : kRadices)
      for (; steps_.n / done % p == 0; done *= p) {
        begins.push_back(roots_.size());
        steps_.pass[steps_.passes++].radix = p;
        for (std::int64_t j = 0; j < done; ++j)
          for (std::int64_t r = 1; r < p; ++r) roots_.push_back(root<T>(r * j, p * done));
        for (std::int64_t k = 0; k < p; ++k) roots_.push_back(root<T>(k, p));
      }
    for (std::size_t i = 0; i < begins.size(); ++i) steps_.pass[i].roots = roots_.data() + begins[i];
  }

  /// As square as possible.
  void divide() {
    auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(steps_.n)));
    while (steps_.n % rows != 0) --rows;
    const std::int64_t cols = steps_.n / rows;
    columns_ = std::make_unique<FftPlan>(rows, false);
    rows_ = std::make_unique<FftPlan>(cols, false);
    steps_.columns = &columns_->steps_, steps_.rows = &rows_->steps_;
    for (std::int64_t f = 0; f < rows; ++f)
      for (std::int64_t k = 0; k < cols; ++k) roots_.push_back(root<T>(f * k, steps_.n));
    for (const FftNumber<T>& r : roots_) between_.push_back(r.re);
    for (const FftNumber<T>& r : roots_) between_.push_back(r.im);
    roots_ = {};
    steps_.between = between_.data();
  }

  /// f k = (f^2 + k^2 - (f - k)^2) / 2: a convolution with e^(pi i k^2 / n), by transforms of a size that has small
  /// factors.
  void convolve() {
    const std::int64_t n = steps_.n;
    std::int64_t m = 2 * n - 1;
    while (rest_of(m) != 1 || m % 4 != 0) ++m;
    columns_ = std::make_unique<FftPlan>(m, alone_);
    const auto size = static_cast<std::size_t>(n);
    Numbers<double> chirp(size), wave(static_cast<std::size_t>(m));
    for (std::int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k) {
      chirp[static_cast<std::size_t>(k)] = root<double>(square, 2 * n);
      const FftNumber<double> c{chirp[static_cast<std::size_t>(k)].re / static_cast<double>(m),
                                -chirp[static_cast<std::size_t>(k)].im / static_cast<double>(m)};
      wave[static_cast<std::size_t>(k)] = wave[static_cast<std::size_t>((m - k) % m)] = c;
    }
    const FftPlan<double> plan(m, true);
    std::vector<std::byte> memory(plan.memory(kFftLanes) + 64);
    void* at = memory.data();
    std::size_t space = memory.size();
    const FftLines<double> line{{&wave[0].re}, 2, 1, false};
    void* const place = std::align(64, 64, at, space);
    const FftJob<double> job{plan.steps(), FftKind::complex, line, line, 1, m, false, 1, 1, nullptr, place};
    fft_loops().alone[1](&job);
    for (const auto& c : chirp) roots_.push_back({static_cast<T>(c.re), static_cast<T>(c.im)});
    for (const auto& c : wave) roots_.push_back({static_cast<T>(c.re), static_cast<T>(c.im)});
    steps_.inner = &columns_->steps_;
    steps_.chirp = roots_.data(), steps_.spectrum = roots_.data() + n;
  }

  bool alone_;
  FftSteps<T> steps_;
  Numbers<T> roots_;
  std::vector<T> between_;
  std::unique_ptr<FftPlan> columns_, rows_;
};

/// A thread keeps its last few, so that a steady state computes no roots.
template <class Made, class... Key> const Made& kept(const Key&... key) {
  constexpr std::size_t kKept = 4;
  auto& all = per_thread<std::vector<std::unique_ptr<const Made>>>();
  for (const auto& made : all)
    if (made->is_of(key...)) return *made;
  if (all.size() == kKept) all.erase(all.begin());
  return *all.emplace_back(std::make_unique<const Made>(key...));
}

/// e^(-2 pi i k / n), k to n / 2.
template <class T> struct Halves {
  Numbers<T> roots;

  explicit Halves(std::int64_t n) {
    for (std::int64_t k = 0; k <= n / 2; ++k) roots.push_back(root<T>(k, n));
  }
  bool is_of(std::int64_t n) const { return static_cast<std::int64_t>(roots.size()) == n / 2 + 1; }
};

/// Lines of a tensor along a dimension.
template <class T> struct Lines {
  T* data;
  Shape sizes;  ///< without the dimension, and that of the two parts of complex numbers
  Strides strides;
  std::int64_t step;  ///< along a line
  std::int64_t part;  ///< from a real to an imaginary part
  bool real;

  Lines(const View& t, int dim, bool complex)
      : data(static_cast<T*>(t.raw_data())),
        sizes(t.shape()),
        strides(t.strides()),
        step(t.strides()[dim]),
        part(complex ? t.strides()[t.dim() - 1] : 0),
        real(!complex) {
    for (const int d : {complex ? t.dim() - 1 : -1, dim})
      if (d >= 0) sizes.erase(d), strides.erase(d);
  }
  T* at(std::int64_t line) const {
    T* first = data;
    for (int d = sizes.rank() - 1; d >= 0; line /= sizes[d], --d) first += line % sizes[d] * strides[d];
    return first;
  }
  /// Lines [first, end), and the last one again up to `lanes`.
  FftLines<T> some(std::int64_t first, std::int64_t end, std::int64_t lanes) const {
    FftLines<T> result;
    result.step = step, result.part = part, result.real = real;
    const int last = std::max(0, sizes.rank() - 1);
    T* line = at(first);
    std::int64_t rest = first + 1 < end ? sizes[last] - first % sizes[last] : 1;  // of the last dimension
    for (int l = 0; l < lanes; ++l) {
      result.line[l] = line;
      if (++first >= end) continue;
      line = --rest > 0 ? line + strides[last] : at(first);
      if (rest == 0) rest = sizes[last];
    }
    return result;
  }
};

template <class T> void run(const calls::Fft& args) {
  const bool real_x = args.x.dim()<args.y.dim(), real_y = args.x.dim()> args.y.dim();
  const std::int64_t n = (real_x ? args.x : args.y).shape()[args.dim];
  const bool halved = (real_x || real_y) && n % 2 == 0;
  const Lines<T> from(args.x, args.dim, !real_x), to(args.y, args.dim, !real_y);
  const FftLoops& loops = fft_loops();
  const std::int64_t lines = to.sizes.numel(), lanes = loops.bytes / std::int64_t{sizeof(T)}, m = halved ? n / 2 : n;
  // Long lines would not stay in the cache, and few would leave lanes empty.
  const bool alone = m > 1024 || (m > 64 && 2 * lines < lanes);
  const FftPlan<T>& plan = kept<FftPlan<T>>(m, alone);
  const FftNumber<T>* const halves = halved ? kept<Halves<T>>(n).roots.data() : nullptr;
  const ThreadScratch memory(plan.memory(lanes) + 64);
  const int of_type = sizeof(T) == sizeof(float) ? 0 : 1;
  const FftKind kind = real_x ? FftKind::from_real : real_y ? FftKind::to_real : FftKind::complex;
  // Lanes are adjacent lines where the last dimension is not the transformed one and has enough.
  const std::int64_t last = to.sizes.rank() == 0 ? 1 : to.sizes[to.sizes.rank() - 1];
  const std::int64_t run = from.strides.rank() != 0 && args.dim < to.sizes.rank() && last >= lanes ? last : lines;
  const std::int64_t together = alone ? 1 : lanes, parts = (run + together - 1) / together;
  parallel_for(lines / run * parts, 8 * args.y.nbytes(), [&](std::int64_t block) {
    const std::int64_t begin = block / parts * run, first = begin + block % parts * together,
                       end = std::min(begin + run, first + together);
    const auto place = (reinterpret_cast<std::uintptr_t>(memory.mine()) + 63) / 64 * 64;
    const FftJob<T> job{plan.steps(),
                        kind,
                        from.some(first, end, together),
                        to.some(first, end, together),
                        static_cast<int>(end - first),
                        n,
                        args.inverse,
                        static_cast<T>(args.scale),
                        static_cast<T>(args.middle),
                        halves,
                        reinterpret_cast<void*>(place)};
    (alone ? loops.alone : loops.lines)[of_type](&job);
  });
}

}  // namespace

template <> void execute(const calls::Fft& args) {
  if (args.y.numel() == 0) return;
  if (args.x.dtype() == DType::float32) run<float>(args);
  else run<double>(args);
}

}  // namespace minnow::cpu
