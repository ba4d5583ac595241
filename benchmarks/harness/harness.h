#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// Shared by the workloads for minnow and for LibTorch: inputs by formula, timing, and the line of JSON that compare.py
/// reads.  Includes neither library.
namespace bench {

/// An implementation of a workload: `step` is timed.
struct Variant {
  std::string name;
  std::function<void()> step;
};

/// A workload that is set up.  When it has several variants, the fastest counts.
struct Ready {
  std::vector<Variant> variants;
  /// Numbers that every implementation must agree on.
  std::vector<double> values;
  /// What prepare() measured itself, if there are no variants.
  double seconds = 0;
};

struct Settings {
  int threads = 2;
  std::string data;   ///< folder of the MNIST files
  std::string files;  ///< folder of make_files.py
  std::string device = "cpu";
  bool quick = false;  ///< small sizes and one sample, to check that it works
  int seed = 0;        ///< the number behind the name of a workload that takes one
  bool deterministic = false;
  bool cpu_time = false;  ///< times are those of the processor, for one thread on a busy machine
  /// Waits until the device has done all its work; called around each sample.
  std::function<void()> synchronize = [] {};
};

/// Which devices `--list` names a workload for; any device runs any of them.  kAsked: none.
enum class For : std::uint8_t { kAll, kCpu, kGpu, kAsked };

struct Workload {
  std::string name;
  std::function<Ready(const Settings&)> prepare;
  For devices = For::kAll;
};

/// Reads the arguments, calls start(settings), which sets `synchronize`, then runs the workloads: all, those of `--only
/// NAME`, or those whose names arrive on standard input (`--serve`).  Prints a line of JSON for each.
int run(int argc, char** argv, const std::vector<Workload>& workloads, const std::function<void(Settings&)>& start,
        const std::function<void(const Settings&)>& clean_up);

/// For a string of JSON.
std::string escaped(const std::string& text);

/// Input number i of tensor `seed`: a hash, uniform in [-1, 1), the same bits in every implementation.
float number(std::uint32_t seed, std::uint32_t i);
/// n such numbers times `scale`.
std::vector<float> numbers(std::uint32_t seed, std::int64_t n, double scale = 1);

/// Mean and mean magnitude of up to 997 elements spread over a strided tensor, and seven of them.
std::vector<double> digest(const float* data, std::span<const std::int64_t> shape,
                           std::span<const std::int64_t> strides);

}  // namespace bench
