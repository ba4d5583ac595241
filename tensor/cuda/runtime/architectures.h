#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>
#include <minnow/tensor/internal.h>

// Includes no header of CUDA, so that every build can test it.

namespace minnow::cuda {

/// A compute capability, such as 9.0.
struct Capability {
  int major = 0, minor = 0;
  std::string str() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// What a library holds for a GPU: nothing, PTX, which the driver compiles, or binary code.
enum class CodeFor : std::uint8_t { none, ptx, binary };

/// One word of a list of architectures as CMake writes it: "90-real", "90-virtual", "90" for both, "90a-real".
struct Architecture {
  explicit Architecture(const std::string& word) {
    std::size_t at = 0;
    int number = 0;
    for (; at < word.size() && std::isdigit(static_cast<unsigned char>(word[at])); ++at)
      number = 10 * number + word[at] - '0';
    capability = {number / 10, number % 10};
    is_known = number > 0;
    if (at < word.size() && word[at] != '-') variant = word[at++];
    binary = word.find("-virtual", at) == std::string::npos;
    ptx = word.find("-real", at) == std::string::npos;
  }

  /// Binary code runs on the later GPUs of its generation, PTX on all later ones; the variant 'f' within the
  /// generation, 'a' on that GPU alone.
  CodeFor code_for(Capability gpu) const {
    const bool same_generation = gpu.major == capability.major && gpu.minor >= capability.minor;
    const bool fits = variant != 'a' || gpu.minor == capability.minor;
    if (same_generation && fits) return binary ? CodeFor::binary : CodeFor::ptx;
    return ptx && variant == '\0' && gpu.major > capability.major ? CodeFor::ptx : CodeFor::none;
  }

  Capability capability;
  bool is_known = false;  ///< false for words such as "native"
  char variant = '\0';
  bool binary = false, ptx = false;
};

/// The architectures that a library was compiled for: words with spaces between.
class Architectures {
 public:
  explicit Architectures(const std::string& words) {
    std::istringstream in(words);
    for (std::string word; in >> word;) all_.emplace_back(word);
  }

  /// A word that names no number, such as "native", counts as binary code for every GPU.
  CodeFor code_for(Capability gpu) const {
    CodeFor best = CodeFor::none;
    for (const Architecture& each : all_) best = std::max(best, each.is_known ? each.code_for(gpu) : CodeFor::binary);
    return best;
  }

  /// "8.0, 9.0, as PTX those from 9.0 on".
  std::string str() const {
    std::string text;
    for (const Architecture& each : all_) {
      if (!each.is_known || !each.binary) continue;
      text += (text.empty() ? "" : ", ") + each.capability.str() + (each.variant ? std::string(1, each.variant) : "");
    }
    for (const Architecture& each : all_)
      if (each.is_known && each.ptx)
        text += (text.empty() ? "" : ", ") + ("as PTX those from " + each.capability.str() + " on");
    return text;
  }

 private:
  std::vector<Architecture> all_;
};

}  // namespace minnow::cuda
