#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr int kRowMajor = 101;    // LAPACK_ROW_MAJOR
constexpr int kNoMemory = -1010;  // LAPACK_WORK_MEMORY_ERROR, and -1011 for the transposed copy

/// The functions of LAPACKE for one dtype.  Loaded when the first is needed, so that a program without linalg needs no
/// LAPACK.
template <class T> struct Functions {
  int (*potrf)(int layout, char uplo, int n, T* a, int lda);
  int (*getrf)(int layout, int m, int n, T* a, int lda, int* pivots);
  int (*getrs)(int layout, char trans, int n, int k, const T* a, int lda, const int* pivots, T* b, int ldb);
  int (*trtrs)(int layout, char uplo, char trans, char diag, int n, int k, const T* a, int lda, T* b, int ldb);
  int (*geqrf)(int layout, int m, int n, T* a, int lda, T* tau);
  int (*orgqr)(int layout, int m, int n, int k, T* a, int lda, const T* tau);
  int (*syevd)(int layout, char job, char uplo, int n, T* a, int lda, T* w);
  int (*gesdd)(int layout, char job, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt);
};

void* library() {
  static void* const loaded = [] {
    const char* named = std::getenv("MINNOW_LAPACKE");
    void* found = nullptr;
    for (const char* file : {named && *named ? named : "liblapacke.so.3", "liblapacke.so"})
      if (!found && (found = dlopen(file, RTLD_NOW | RTLD_LOCAL))) break;
    return found;
  }();
  if (!loaded)
    throw BackendError(std::string(CallSite::is_open() ? CallSite::op() : "linalg") +
                       " needs LAPACKE, which could not be loaded\ninstall it (apt install liblapacke), or set "
                       "MINNOW_LAPACKE to the file liblapacke.so");
  return loaded;
}

template <class F> void load(F*& function, const std::string& name) {
  void* const address = dlsym(library(), name.c_str());
  if (!address) throw BackendError("the LAPACKE that was found has no function " + name + "\ninstall another version");
  function = reinterpret_cast<F*>(address);
}

/// NaN goes through where the algorithm ends with it; those that may not end refuse it.
template <class T> const Functions<T>& functions() {
  static const Functions<T> loaded = [] {
    const std::string prefix = sizeof(T) == 8 ? "LAPACKE_d" : "LAPACKE_s";
    Functions<T> f{};
    load(f.potrf, prefix + "potrf_work");
    load(f.getrf, prefix + "getrf_work");
    load(f.getrs, prefix + "getrs_work");
    load(f.trtrs, prefix + "trtrs_work");
    load(f.geqrf, prefix + "geqrf");
    load(f.orgqr, prefix + "orgqr");
    load(f.syevd, prefix + "syevd");
    load(f.gesdd, prefix + "gesdd");
    return f;
  }();
  return loaded;
}

Outcome outcome_of(int info) {
  if (info == kNoMemory || info == kNoMemory - 1)
    throw OutOfMemoryError(std::string(CallSite::is_open() ? CallSite::op() : "linalg") +
                           ": LAPACK could not allocate its workspace\nuse smaller matrices");
  return info == 0 ? Outcome::ok : Outcome::no_solution;
}

int rows(const View& a) { return static_cast<int>(a.shape()[1]); }
int columns(const View& a) { return static_cast<int>(a.shape()[2]); }

/// The routines for one matrix: pointers to operands of the batch.
template <class T> struct Matrix {
  const calls::Lapack& args;
  const Functions<T>& f;
  T *a, *b, *c, *d;
  int* pivots;

  int cholesky() const {
    const int n = rows(args.a), info = f.potrf(kRowMajor, 'L', n, a, n);
    for (int i = 0; i < n; ++i) std::fill(a + std::int64_t{i} * n + i + 1, a + std::int64_t{i + 1} * n, T(0));
    return info;
  }
  int lu() const {
    const int n = rows(args.a), info = f.getrf(kRowMajor, n, n, a, n, pivots);
    return info > 0 && !args.flag ? 0 : info;
  }
  int lu_solve() const {
    const int n = rows(args.a), k = columns(args.c);
    return f.getrs(kRowMajor, 'N', n, k, a, n, pivots, c, k);
  }
  int triangular() const {
    const int n = rows(args.a), k = columns(args.c);
    return f.trtrs(kRowMajor, args.flag ? 'U' : 'L', 'N', 'N', n, k, a, n, c, k);
  }
  int qr() const {
    const int m = rows(args.a), n = columns(args.a), k = std::min(m, n);
    std::vector<T> factors(static_cast<std::size_t>(k));
    if (const int info = f.geqrf(kRowMajor, m, n, a, n, factors.data())) return info;
    for (int i = 0; i < k; ++i) {
      const T* const row = a + std::int64_t{i} * n;
      T* const to = c + std::int64_t{i} * n;
      std::fill(to, to + i, T(0));
      std::copy(row + i, row + n, to + i);
    }
    for (int i = 0; i < m; ++i) std::copy_n(a + std::int64_t{i} * n, k, b + std::int64_t{i} * k);
    return f.orgqr(kRowMajor, m, k, k, b, k, factors.data());
  }
  int eigh() const {
    const int n = rows(args.a);
    return f.syevd(kRowMajor, 'V', 'L', n, a, n, b);
  }
  int svd() const {
    const int m = rows(args.a), n = columns(args.a), k = std::min(m, n);
    return f.gesdd(kRowMajor, 'S', m, n, a, n, c, b, k, d, n);
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
};

/// The elements of matrix i of a batch.
template <class T> T* matrix(const View& batch, std::int64_t i) {
  return batch.defined() ? static_cast<T*>(batch.raw_data()) + i * batch.strides()[0] : nullptr;
}

template <class T> Outcome run(const calls::Lapack& args) {
  const Functions<T>& f = functions<T>();
  const bool has_pivots = args.routine == LapackRoutine::lu || args.routine == LapackRoutine::lu_solve;
  const std::int64_t batch = args.a.shape()[0];
  std::vector<int> infos(static_cast<std::size_t>(batch));
  // The work of a matrix is that of its cube.
  parallel_for(batch, args.a.nbytes() * std::max<std::int64_t>(1, columns(args.a)), [&](std::int64_t i) {
    const Matrix<T> one{args,
                        f,
                        matrix<T>(args.a, i),
                        has_pivots ? nullptr : matrix<T>(args.b, i),
                        matrix<T>(args.c, i),
                        matrix<T>(args.d, i),
                        has_pivots ? matrix<int>(args.b, i) : nullptr};
    infos[static_cast<std::size_t>(i)] = one.run();
  });
  for (const int info : infos)
    if (const Outcome outcome = outcome_of(info); outcome != Outcome::ok) return outcome;
  return Outcome::ok;
}

}  // namespace

template <> Outcome execute(const calls::Lapack& args) {
  return args.a.dtype() == DType::float64 ? run<double>(args) : run<float>(args);
}

}  // namespace minnow::cpu
