#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>
#include <minnow/tensor/source_location.h>

namespace minnow::cuda {

/// Wrong data that a kernel can find; reported at the next synchronization.
enum class Fault : std::uint8_t { index_out_of_range, target_out_of_range, length_out_of_range, division_by_zero };

/// Words in host memory, one for each call that can find a fault while it runs on the device.  They are used in turn,
/// so that a word is reused long after the work that could write it.  Words of captured work, which every replay
/// writes, are held until they are given back.  Thread-safe.
class Faults {
 public:
  static constexpr std::size_t kWords = 1024;

  Faults(Driver& driver, std::string device) : driver_(driver), device_(std::move(device)) {}

  /// A word in which the device stores 1 if it finds the fault.  OutOfMemoryError.
  std::uint32_t* flag(Fault fault, const char* operation, SourceLocation where, bool held = false);
  void give_back(std::uint32_t* held) noexcept;
  /// Throws the fault of the oldest call, as an IndexError or ValueError with its line; those of later calls are
  /// dropped.
  void check();

 private:
  struct Word {
    std::uint32_t* flag = nullptr;
    Fault fault = {};
    std::array<char, 48> operation = {};
    SourceLocation where;
  };

  std::uint32_t* obtain(std::size_t words);
  [[noreturn]] void report(const Word& word) const;

  Driver& driver_;
  const std::string device_;
  std::mutex mutex_;
  std::vector<Word> ring_, held_;
  std::size_t next_ = 0;
};

}  // namespace minnow::cuda
