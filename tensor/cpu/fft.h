#pragma once

#include <cstddef>
#include <cstdint>

namespace minnow::cpu {

template <class E> struct FftNumber { E re, im; };

/// How a transform of n numbers is done: in one of three ways.
template <class T> struct FftSteps {
  static constexpr int kMostPasses = 40;
  struct Pass {
    int radix;                  ///< 2, 3, 4, 5, 7, 8, 11 or 13
    const FftNumber<T>* roots;  ///< [done][radix - 1], then [radix]: e^(-2 pi i k / radix)
  };

  std::int64_t n = 0;
  int passes = 0;
  Pass pass[kMostPasses] = {};
  /// Or a line as a matrix of columns->n by rows->n numbers, and the roots [2][n] between the transforms of both.
  const FftSteps *columns = nullptr, *rows = nullptr;
  const T* between = nullptr;
  /// Or a convolution of inner->n numbers, with what is multiplied before and after [n], and between [inner->n].
  const FftSteps* inner = nullptr;
  const FftNumber<T>*chirp = nullptr, *spectrum = nullptr;

  std::int64_t room() const { return inner ? inner->n : n; }
};

inline constexpr int kFftLanes = 16;  ///< at most

/// Lines of numbers, `step` elements apart, with `part` from a real to an imaginary part.
template <class T> struct FftLines {
  T* line[kFftLanes];
  std::int64_t step, part;
  bool real;  ///< there are no imaginary parts
};
enum class FftKind : std::uint8_t { complex, from_real, to_real };

/// What calls::Fft is, of some lines at once.
template <class T> struct FftJob {
  const FftSteps<T>& steps;  ///< of n / 2 numbers for real lines of an even n
  FftKind kind;
  FftLines<T> x, y;  ///< of a vector's lanes, the last one again if there are fewer
  int lines;
  std::int64_t n;
  bool inverse;
  T scale, middle;
  const FftNumber<T>* halves;  ///< e^(-2 pi i k / n), k to n / 2, for real lines of an even n
  void* memory;                ///< of fft_memory(), aligned to 64 bytes
};

struct FftLoops {
  std::int64_t bytes;                 ///< of a vector, in each lane of which is a line
  void (*lines[2])(const void* job);  ///< of floats and of doubles: a line in each lane
  void (*alone[2])(const void* job);  ///< one line, whose steps are of columns and rows
};
/// Those of the current instruction set.
const FftLoops& fft_loops();

}  // namespace minnow::cpu
