#include <bit>
#include <cmath>
#include <numbers>
#include <vector>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/per_thread.h>
#include <minnow/tensor/cpu/scratch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

struct Complex {
  double re = 0, im = 0;
};
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
Complex conj(Complex a) { return {a.re, -a.im}; }

/// e^(-2 pi i k / n).
Complex root(std::int64_t k, std::int64_t n) {
  const double angle = 2 * std::numbers::pi * (static_cast<double>(k) / static_cast<double>(n));
  return {std::cos(angle), -std::sin(angle)};
}

/// The transform of n numbers, in double precision: a pass for each prime factor (Stockham's order, in which the results
/// are sorted), and with a large prime factor a convolution (Bluestein 1970).
class Transform {
 public:
  Transform() = default;
  explicit Transform(std::int64_t n) : n_(n) {
    std::int64_t rest = n;
    for (; rest % 4 == 0; rest /= 4) factors_.push_back(4);
    for (std::int64_t p = 2; p <= kLargest; ++p)
      for (; rest % p == 0; rest /= p) factors_.push_back(p);
    if (rest != 1) {
      convolve();
      return;
    }
    roots_.resize(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) roots_[static_cast<std::size_t>(k)] = root(k, n);
  }

  std::int64_t size() const { return n_; }
  /// The numbers of memory that run() needs.
  std::int64_t memory() const { return inner_.empty() ? 2 * n_ : 3 * inner_[0].n_; }

  /// In the first n numbers of `data`; the others are used.
  [[gnu::noinline]] void run(Complex* data) const {
    if (!inner_.empty()) return run_convolution(data);
    Complex *from = data, *to = data + n_;
    std::int64_t done = 1;
    for (const std::int64_t p : factors_) {
      if (p == 2) pass_of_2(from, to, done);
      else if (p == 4) pass_of_4(from, to, done);
      else pass(from, to, done, p);
      done *= p;
      std::swap(from, to);
    }
    if (from != data) std::copy_n(from, n_, data);
  }

 private:
  static constexpr std::int64_t kLargest = 13;

  const Complex& at(std::int64_t k) const { return roots_[static_cast<std::size_t>(k)]; }

  // A pass joins p transforms of `done` numbers to one.
  void pass_of_2(const Complex* x, Complex* y, std::int64_t done) const {
    const std::int64_t m = n_ / (done * 2);
    for (std::int64_t k = 0; k < m; ++k, x += done, y += 2 * done)
      for (std::int64_t j = 0; j < done; ++j) {
        const Complex a = x[j], b = x[m * done + j] * at(j * m);
        y[j] = a + b;
        y[done + j] = a - b;
      }
  }
  void pass_of_4(const Complex* x, Complex* y, std::int64_t done) const {
    const std::int64_t m = n_ / (done * 4), step = m * done;
    for (std::int64_t k = 0; k < m; ++k, x += done, y += 4 * done)
      for (std::int64_t j = 0; j < done; ++j) {
        const Complex a = x[j], b = x[step + j] * at(j * m), c = x[2 * step + j] * at(2 * j * m),
                      d = x[3 * step + j] * at(3 * j * m);
        const Complex even = a + c, odd = a - c, sum = b + d, turned{b.im - d.im, d.re - b.re};  // -i (b - d)
        y[j] = even + sum;
        y[done + j] = odd + turned;
        y[2 * done + j] = even - sum;
        y[3 * done + j] = odd - turned;
      }
  }
  void pass(const Complex* x, Complex* y, std::int64_t done, std::int64_t p) const {
    const std::int64_t m = n_ / (done * p), step = m * done, turn = n_ / p;
    for (std::int64_t k = 0; k < m; ++k, x += done, y += p * done)
      for (std::int64_t j = 0; j < done; ++j) {
        Complex terms[kLargest];
        for (std::int64_t r = 0; r < p; ++r) terms[r] = x[r * step + j] * at(r * j * m);
        for (std::int64_t q = 0; q < p; ++q) {
          Complex sum = terms[0];
          for (std::int64_t r = 1; r < p; ++r) sum = sum + terms[r] * at(r * q % p * turn);
          y[q * done + j] = sum;
        }
      }
  }

  /// f k = (f^2 + k^2 - (f - k)^2) / 2: a convolution with e^(pi i k^2 / n), by transforms of a power of 2.
  void convolve() {
    factors_.clear();
    const std::int64_t m = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n_ - 1)));
    inner_.emplace_back(m);
    chirp_.resize(static_cast<std::size_t>(n_));
    spectrum_.resize(static_cast<std::size_t>(2 * m));
    for (std::int64_t k = 0, square = 0; k < n_; square = (square + 2 * k + 1) % (2 * n_), ++k) {
      chirp_[static_cast<std::size_t>(k)] = root(square, 2 * n_);
      spectrum_[static_cast<std::size_t>(k)] = spectrum_[static_cast<std::size_t>((m - k) % m)] =
          conj(chirp_[static_cast<std::size_t>(k)]);
    }
    inner_[0].run(spectrum_.data());
  }
  void run_convolution(Complex* data) const {
    const std::int64_t m = inner_[0].n_;
    for (std::int64_t k = 0; k < n_; ++k) data[k] = data[k] * chirp_[static_cast<std::size_t>(k)];
    std::fill(data + n_, data + m, Complex());
    inner_[0].run(data);
    for (std::int64_t k = 0; k < m; ++k) data[k] = conj(data[k] * spectrum_[static_cast<std::size_t>(k)]);
    inner_[0].run(data);  // the inverse, of conjugate numbers
    const double scale = 1 / static_cast<double>(m);
    for (std::int64_t k = 0; k < n_; ++k) {
      const Complex product = conj(data[k]) * chirp_[static_cast<std::size_t>(k)];
      data[k] = {product.re * scale, product.im * scale};
    }
  }

  std::int64_t n_ = 0;
  std::vector<std::int64_t> factors_;
  std::vector<Complex> roots_;
  std::vector<Transform> inner_;  // of the convolution: none or one
  std::vector<Complex> chirp_, spectrum_;
};

/// A thread keeps its last transform, so that a steady state computes no roots.
const Transform& transform_of(std::int64_t n) {
  Transform& last = per_thread<Transform>();
  if (last.size() != n) last = Transform(n);
  return last;
}

/// Lines of a tensor along a dimension.
template <class T> struct Lines {
  T* data;
  Shape sizes;  ///< without the dimension, and that of the two parts of complex numbers
  Strides strides;
  std::int64_t step;  ///< along a line
  std::int64_t part;  ///< from a real to an imaginary part; 0: real numbers

  Lines(const View& t, int dim, bool complex)
      : data(static_cast<T*>(t.raw_data())),
        sizes(t.shape()),
        strides(t.strides()),
        step(t.strides()[dim]),
        part(complex ? t.strides()[t.dim() - 1] : 0) {
    for (const int d : {complex ? t.dim() - 1 : -1, dim})
      if (d >= 0) sizes.erase(d), strides.erase(d);
  }
  T* at(std::int64_t line) const {
    T* first = data;
    for (int d = sizes.rank() - 1; d >= 0; line /= sizes[d], --d) first += line % sizes[d] * strides[d];
    return first;
  }
};

template <class T> void run(const calls::Fft& args) {
  const bool real_x = args.x.dim()<args.y.dim(), real_y = args.x.dim()> args.y.dim();
  const std::int64_t n = (real_x ? args.x : args.y).shape()[args.dim], half = n / 2 + 1;
  const Lines<T> from(args.x, args.dim, !real_x), to(args.y, args.dim, !real_y);
  const Transform& transform = transform_of(n);
  const ThreadScratch memory(static_cast<std::size_t>(transform.memory()) * sizeof(Complex));
  const double sign = args.inverse ? -1 : 1, scale = args.scale;
  const auto factor = [&](std::int64_t k) { return k == 0 || 2 * k == n ? 1.0 : args.middle; };
  parallel_for(to.sizes.numel(), 8 * args.y.nbytes(), [&](std::int64_t line) {
    auto* const data = static_cast<Complex*>(memory.mine());
    const T* x = from.at(line);
    const std::int64_t given = real_y ? half : n;
    for (std::int64_t k = 0; k < given; ++k, x += from.step) {
      const double c = real_y ? factor(k) : 1;
      data[k] = {c * static_cast<double>(x[0]), real_x ? 0 : c * sign * static_cast<double>(x[from.part])};
    }
    std::fill(data + given, data + n, Complex());
    transform.run(data);
    T* y = to.at(line);
    const std::int64_t wanted = real_x ? half : n;
    for (std::int64_t f = 0; f < wanted; ++f, y += to.step) {
      const double c = real_x ? scale * factor(f) : scale;
      y[0] = static_cast<T>(c * data[f].re);
      if (!real_y) y[to.part] = static_cast<T>(c * sign * data[f].im);
    }
  });
}

}  // namespace

template <> void execute(const calls::Fft& args) {
  if (args.y.numel() == 0) return;
  if (args.x.dtype() == DType::float32) run<float>(args);
  else run<double>(args);
}

}  // namespace minnow::cpu
