#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/system.h>

// LAPACK is loaded when it is first needed, so that a program without linalg needs none: OpenBLAS, or any other.  Its
// matrices are column-major, which ours are if read as transposes: only QR and eigenvectors are copied.

namespace minnow::cpu {
namespace {

#ifdef _WIN32
// As MSYS2, as vcpkg and conda name OpenBLAS; MKL.
constexpr const char* kFiles[] = {"libopenblas.dll", "openblas.dll", "mkl_rt.2.dll", "liblapack.dll"};
constexpr const char* kAdvice =
    "put libopenblas.dll of OpenBLAS, or MKL, on the PATH, or set MINNOW_LAPACK to its file";
#else
constexpr const char* kFiles[] = {"libopenblas.so.0", "liblapack.so.3", "liblapack.so"};
constexpr const char* kAdvice =
    "install it (apt install libopenblas0-pthread, or liblapack3), or set MINNOW_LAPACK to the file liblapack.so";
#endif

struct Library {
  void* handle = nullptr;
  std::string reason;         ///< why there is none
  bool takes_threads = true;  ///< whether several may call it at once
};

const Library& library() {
  static const Library loaded = [] {
    const std::string named = minnow::detail::environment("MINNOW_LAPACK");
    Library l;
    for (const char* file : kFiles)
      if ((l.handle = open_library(named.empty() ? file : named.c_str(), &l.reason)) || !named.empty()) break;
    if (!l.handle) return l;
    // OpenBLAS and MKL would divide a matrix among threads of their own, beside ours.
    if (auto* const set_layer = reinterpret_cast<int (*)(int)>(function_of(l.handle, "MKL_Set_Threading_Layer")))
      set_layer(1);  // MKL_THREADING_SEQUENTIAL
    if (auto* const set_threads = reinterpret_cast<void (*)(int)>(function_of(l.handle, "openblas_set_num_threads")))
      set_threads(1);
    // Built without threads it has no locks either.
    if (auto* const parallel = reinterpret_cast<int (*)()>(function_of(l.handle, "openblas_get_parallel")))
      l.takes_threads = parallel() != 0;
    return l;
  }();
  if (!loaded.handle)
    throw BackendError(std::string(CallSite::op_or("linalg")) + " needs LAPACK, which could not be loaded\n  " +
                       loaded.reason + "\n" + kAdvice);
  return loaded;
}

/// A function of Fortran: arguments by address, then the lengths of those that are text.
template <class... Args> class Fortran {
 public:
  void load(const std::string& name) {
    call_ = reinterpret_cast<decltype(call_)>(function_of(library().handle, name.c_str()));
    if (!call_) throw BackendError("the LAPACK that was found has no function " + name + "\ninstall another version");
  }
  void operator()(Args... args) const { call_(address(args)..., 1, 1, 1, 1); }

 private:
  template <class T> static auto address(T& arg) {
    if constexpr (std::is_pointer_v<T>) return arg;
    else return &arg;
  }
  template <class T> using Address = decltype(address(std::declval<T&>()));
  void (*call_)(Address<Args>..., std::size_t, std::size_t, std::size_t, std::size_t) = nullptr;
};

/// Those for one dtype.
template <class T> struct Functions {
  Fortran<char, int, T*, int, int*> potrf;
  Fortran<int, int, T*, int, int*, int*> getrf;
  Fortran<char, char, char, char, int, int, T, const T*, int, T*, int> trsm;
  Fortran<int, int, T*, int, T*, T*, int, int*> geqrf;
  Fortran<int, int, int, T*, int, const T*, T*, int, int*> orgqr;
  Fortran<char, char, int, T*, int, T*, T*, int, int*, int, int*> syevd;
  Fortran<char, int, int, T*, int, T*, T*, int, T*, int, T*, int, int*, int*> gesdd;

  static const Functions& get() {
    static const Functions loaded = [] {
      const std::string prefix = sizeof(T) == 8 ? "d" : "s";
      Functions f;
      f.potrf.load(prefix + "potrf_");
      f.getrf.load(prefix + "getrf_");
      f.trsm.load(prefix + "trsm_");
      f.geqrf.load(prefix + "geqrf_");
      f.orgqr.load(prefix + "orgqr_");
      f.syevd.load(prefix + "syevd_");
      f.gesdd.load(prefix + "gesdd_");
      return f;
    }();
    return loaded;
  }
};

int rows(const View& a) { return static_cast<int>(a.shape()[1]); }
int columns(const View& a) { return static_cast<int>(a.shape()[2]); }

/// The memory that a routine needs for a matrix: elements, of which `work` are LAPACK's, and integers.
struct Needs {
  int work = 0;
  std::int64_t elements = 0;
  int integers = 0;
};

constexpr int kColumns = 64;               // of the right side that a thread takes at a time
constexpr int kSmall = 8, kSmallQr = 256;  // rows, and bytes of one, up to which plain loops are faster than calls

/// The routines for one matrix: pointers to operands of the batch, and memory of the thread.
template <class T> struct Matrix {
  const calls::Lapack& args;
  const Functions<T>& f;
  T *a, *b, *c, *d;
  int* pivots;
  Needs needs;
  T* work;  ///< needs.work elements, and behind them the others
  int* integers;

  int cholesky() const {
    const int n = rows(args.a);
    int info = 0;
    if (n <= kSmall) info = small_cholesky(n);
    else f.potrf('U', n, a, n, &info);
    for (int i = 0; i < n; ++i) {
      T* const row = a + std::int64_t{i} * n;
      if (info == 0 && !(row[i] > 0)) info = i + 1;  // NaN, which OpenBLAS takes
      std::fill(row + i + 1, row + n, T(0));
    }
    return info;
  }
  /// What potrf does, for sizes where calling it costs more.
  int small_cholesky(int n) const {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) {
        T rest = a[i * n + j];
        for (int k = 0; k < j; ++k) rest -= a[i * n + k] * a[j * n + k];
        if (i == j && !(rest > 0)) return i + 1;
        a[i * n + j] = i == j ? std::sqrt(rest) : rest / a[j * n + j];
      }
    return 0;
  }
  int lu() const {
    const int n = rows(args.a);
    int info = 0;
    if (n <= kSmall) info = small_lu(n);
    else f.getrf(n, n, a, n, pivots, &info);
    return info > 0 && !args.flag ? 0 : info;
  }
  /// What getrf does, for sizes where calling it costs more.
  int small_lu(int n) const {
    int info = 0;
    for (int k = 0; k < n; ++k) {
      T* const column = a + k * n;
      const auto less = [](T x, T y) { return std::abs(x) < std::abs(y); };
      const int pivot = static_cast<int>(std::max_element(column + k, column + n, less) - column);
      pivots[k] = pivot + 1;
      if (column[pivot] == 0) {
        if (info == 0) info = k + 1;
        continue;
      }
      for (int j = 0; pivot != k && j < n; ++j) std::swap(a[j * n + k], a[j * n + pivot]);
      for (int i = k + 1; i < n; ++i) column[i] /= column[k];
      for (int j = k + 1; j < n; ++j)
        for (int i = k + 1; i < n; ++i) a[j * n + i] -= column[i] * a[j * n + k];
    }
    return info;
  }
  /// X in place with t X = c, c: [n, k], where t is a triangle of a, or of its transpose.
  void solve_triangle(int n, int k, bool lower, bool transposed, bool unit) const {
    if (n > kSmall) {
      const char side = lower != transposed ? 'U' : 'L', form = transposed ? 'T' : 'N', diagonal = unit ? 'U' : 'N';
      const std::int64_t cost = std::int64_t{n} * n * k * std::int64_t{sizeof(T)};
      const bool divides = library().takes_threads && cost >= 16 * kParallelBytes;
      const int parts = divides ? (k + kColumns - 1) / kColumns : 1;
      return for_each_part(parts, 0, [&](std::int64_t part, void*) {
        const auto i = static_cast<int>(part), first = k / parts * i + std::min(i, k % parts);
        f.trsm('R', side, form, diagonal, k / parts + (i < k % parts ? 1 : 0), n, T(1), a, n, c + first, k);
      });
    }
    for (int step = 0; step < n; ++step) {
      const int i = lower ? step : n - 1 - step;
      T* const x = c + std::int64_t{i} * k;
      for (int j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) {
        const T factor = transposed ? a[j * n + i] : a[i * n + j];
        for (int l = 0; l < k; ++l) x[l] -= factor * c[std::int64_t{j} * k + l];
      }
      for (int l = 0; l < k && !unit; ++l) x[l] /= a[i * n + i];
    }
  }
  /// With Aᵀ = P L U:  Xᵀ = Cᵀ U⁻¹ L⁻¹ Pᵀ, or of the transpose Xᵀ = Cᵀ P L⁻ᵀ U⁻ᵀ.
  void lu_solve(int n, int k, bool transposed) const {
    const auto swap = [&](int i) {
      const int j = pivots[i] - 1;
      if (i != j) std::swap_ranges(c + std::int64_t{i} * k, c + std::int64_t{i + 1} * k, c + std::int64_t{j} * k);
    };
    for (int i = 0; i < n && transposed; ++i) swap(i);
    solve_triangle(n, k, true, transposed, transposed);
    solve_triangle(n, k, false, transposed, !transposed);
    for (int i = n; i-- > 0 && !transposed;) swap(i);
  }
  int lu_solve() const {
    if (!args.c.defined()) return inverse();
    lu_solve(rows(args.a), columns(args.c), args.flag);
    return 0;
  }
  /// By a solution for the unit matrix, as in PyTorch.
  int inverse() const {
    const int n = rows(args.a);
    T* const out = work;
    std::fill_n(out, std::int64_t{n} * n, T(0));
    bool singular = false;
    for (std::int64_t i = 0; i < n; ++i) {
      out[i * (n + 1)] = 1;
      singular = singular || a[i * (n + 1)] == 0;
    }
    Matrix beside = *this;
    beside.c = out;
    if (!singular) beside.lu_solve(n, n, false);
    else std::fill_n(out, std::int64_t{n} * n, std::numeric_limits<T>::infinity());
    std::copy_n(out, std::int64_t{n} * n, a);
    return 0;
  }
  int triangular() const {
    const int n = rows(args.a), k = columns(args.c);
    for (int i = 0; i < n; ++i)
      if (a[i * (std::int64_t{n} + 1)] == 0) return i + 1;
    solve_triangle(n, k, !args.flag, false, false);
    return 0;
  }
  /// A = Q R of the transpose of a, whose columns are rows here: QR of tall matrices takes a third of the time of LQ.
  /// The first rows of a become those of Qᵀ.
  int qr() const {
    const int m = columns(args.a), n = rows(args.a), k = std::min(m, n);
    const bool small = std::max(m, n) * int{sizeof(T)} <= kSmallQr;
    T* const factors = work + needs.work;
    int info = 0;
    if (small) small_qr(m, n, k, factors);
    else f.geqrf(m, n, a, m, factors, work, needs.work, &info);
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < n; ++j) c[std::int64_t{i} * n + j] = j < i ? T(0) : a[std::int64_t{j} * m + i];
    if (small) small_q(m, k, factors);
    else if (info == 0) f.orgqr(m, k, k, a, m, factors, work, needs.work, &info);
    return info;
  }
  /// x -= factor (v x) v of `count` rows x behind v.
  static void reflect(T* v, T factor, int size, int stride, int count) {
    for (T* x = v + stride; count > 0; --count, x += stride) {
      T sum = 0;
      for (int i = 0; i < size; ++i) sum += v[i] * x[i];
      for (int i = 0; i < size; ++i) x[i] -= factor * sum * v[i];
    }
  }
  /// What geqrf does, for sizes where calling it costs more.
  void small_qr(int m, int n, int k, T* factors) const {
    for (int i = 0; i < k; ++i) {
      T *const v = a + i * (m + 1), first = v[0];
      T most = 0, sum = 0;
      for (int j = 1; j < m - i; ++j) most = std::max(most, std::abs(v[j]));
      if (factors[i] = 0; most == 0) continue;
      most = std::max(most, std::abs(first));
      for (int j = 0; j < m - i; ++j) sum += v[j] / most * (v[j] / most);
      const T diagonal = -std::copysign(most * std::sqrt(sum), first);
      factors[i] = (diagonal - first) / diagonal;
      for (int j = 1; j < m - i; ++j) v[j] /= first - diagonal;
      v[0] = 1;
      reflect(v, factors[i], m - i, m, n - i - 1);
      v[0] = diagonal;
    }
  }
  /// What orgqr does.
  void small_q(int m, int k, const T* factors) const {
    for (int i = k; i-- > 0;) {
      T* const v = a + i * (m + 1);
      v[0] = 1;
      reflect(v, factors[i], m - i, m, k - i - 1);
      std::fill(v - i, v, T(0));
      std::transform(v, v + m - i, v, [&](T x) { return -factors[i] * x; });
      v[0] += 1;
    }
  }
  int eigh() const {
    const int n = rows(args.a);
    int info = 0;
    f.syevd(args.c.defined() ? 'V' : 'N', 'U', n, a, n, b, work, needs.work, integers, needs.integers, &info);
    for (int i = 0; i < n && c; ++i)
      for (int j = 0; j < n; ++j) c[std::int64_t{i} * n + j] = a[std::int64_t{j} * n + i];
    return info;
  }
  /// Aᵀ = V S Uᵀ.
  int svd() const {
    const int m = rows(args.a), n = columns(args.a), k = std::min(m, n);
    int info = 0;
    const char job = !args.b.defined() ? 'N' : args.flag ? 'A' : 'S';
    f.gesdd(job, n, m, a, n, c, d, n, b, args.flag ? m : k, work, needs.work, integers, &info);
    return info;
  }

  int run() const {
    switch (args.routine) {
      case LapackRoutine::cholesky: return cholesky();
      case LapackRoutine::lu: return lu();
      case LapackRoutine::lu_solve: return lu_solve();
      case LapackRoutine::triangular: return triangular();
      case LapackRoutine::qr: return qr();
      case LapackRoutine::eigh: return eigh();
      case LapackRoutine::svd: return svd();
    }
    return 0;
  }

  /// Some algorithms may not end with NaN or infinity.
  bool takes() const {
    if (args.routine < LapackRoutine::qr) return true;
    return std::none_of(a, a + std::int64_t{rows(args.a)} * columns(args.a), [](T x) { return !std::isfinite(x); });
  }
};

template <class T> Needs needs_of(const calls::Lapack& args, const Functions<T>& f) {
  const int m = rows(args.a), k = std::min(m, columns(args.a));
  // A work of -1 asks for the best size.
  T answer[2] = {};
  int integers = 0;
  const auto query = [&](const auto& routine) {
    const Matrix<T> asked{args, f, nullptr, nullptr, nullptr, nullptr, nullptr, {-1, 0, -1}, answer, &integers};
    (asked.*routine)();
    const T more = std::nextafter(answer[0], std::numeric_limits<T>::max());  // float32 may have rounded it
    return static_cast<int>(std::min<double>(static_cast<double>(more) + 1, std::numeric_limits<int>::max()));
  };
  switch (args.routine) {
    case LapackRoutine::lu_solve: return {0, args.c.defined() ? 0 : std::int64_t{m} * m, 0};
    case LapackRoutine::qr: return {32 * m, k, 0};  // for blocks of 32 columns
    case LapackRoutine::eigh: return {query(&Matrix<T>::eigh), 0, integers};
    case LapackRoutine::svd: return {query(&Matrix<T>::svd), 0, 8 * k};
    default: return {};
  }
}

/// The elements of matrix i of a batch.
template <class T> T* matrix(const View& batch, std::int64_t i) {
  return batch.defined() ? static_cast<T*>(batch.raw_data()) + i * batch.strides()[0] : nullptr;
}

template <class T> Outcome run(const calls::Lapack& args) {
  const Functions<T>& f = Functions<T>::get();
  const bool has_pivots = args.routine == LapackRoutine::lu || args.routine == LapackRoutine::lu_solve;
  const std::int64_t batch = args.a.shape()[0];
  std::vector<int> infos(static_cast<std::size_t>(batch));
  const Needs needs = needs_of<T>(args, f);
  const auto elements = static_cast<std::size_t>(needs.work + needs.elements);
  const auto one = [&](std::int64_t i, char* own) {
    T* const work = reinterpret_cast<T*>(own);
    const Matrix<T> m{args,
                      f,
                      matrix<T>(args.a, i),
                      has_pivots ? nullptr : matrix<T>(args.b, i),
                      matrix<T>(args.c, i),
                      matrix<T>(args.d, i),
                      has_pivots ? matrix<int>(args.b, i) : nullptr,
                      needs,
                      work,
                      reinterpret_cast<int*>(work + elements)};
    infos[static_cast<std::size_t>(i)] = m.takes() ? m.run() : -1;
  };
  const std::size_t bytes = elements * sizeof(T) + static_cast<std::size_t>(needs.integers) * sizeof(int);
  // The work of a matrix is that of its cube.
  if (batch > 1 && library().takes_threads &&
      args.a.nbytes() * std::max<std::int64_t>(1, columns(args.a)) >= kParallelBytes) {
    for_each_part(batch, bytes, one);
  } else {
    const Buffer memory(bytes);
    for (std::int64_t i = 0; i < batch; ++i) one(i, static_cast<char*>(memory.data()));
  }
  return std::all_of(infos.begin(), infos.end(), [](int info) { return info == 0; }) ? Outcome::ok
                                                                                     : Outcome::no_solution;
}

}  // namespace

template <> Outcome execute(const calls::Lapack& args) {
  return args.a.dtype() == DType::float64 ? run<double>(args) : run<float>(args);
}

}  // namespace minnow::cpu
