#include <minnow/tensor/cpu/runtime/spin_wait.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>

namespace minnow::cpu {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kDefault = std::chrono::microseconds(200);
constexpr nanoseconds kForever = std::chrono::hours(24);
constexpr double kTurnNanoseconds = 10;  // of one turn of OpenMP's loop, approximately

std::string lower(const char* text) {
  std::string out;
  for (; *text != '\0'; ++text)
    if (std::isspace(static_cast<unsigned char>(*text)) == 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(*text)));
  return out;
}

/// As libgomp parses it: an integer, optionally followed by k, M, G or T; nothing for other texts.
std::optional<nanoseconds> spin_count_time(const std::string& text) {
  if (text == "infinite" || text == "infinity") return kForever;
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  double turns = static_cast<double>(std::strtoull(text.c_str(), &end, 10));
  if (errno == ERANGE) return kForever;
  if (*end != '\0') {
    const std::size_t power = std::string("kmgt").find(*end);
    if (power == std::string::npos || end[1] != '\0') return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) turns *= 1024;
  }
  const double most = static_cast<double>(kForever.count());
  return turns * kTurnNanoseconds < most ? nanoseconds(static_cast<nanoseconds::rep>(turns * kTurnNanoseconds))
                                         : kForever;
}

}  // namespace

nanoseconds spin_time(const char* spin_count, const char* wait_policy) {
  if (spin_count != nullptr)
    if (const auto given = spin_count_time(lower(spin_count))) return *given;
  const std::string policy = wait_policy != nullptr ? lower(wait_policy) : "";
  if (policy == "active") return kForever;
  return policy == "passive" ? nanoseconds(0) : kDefault;
}

nanoseconds spin_time() {
  static const nanoseconds time = spin_time(std::getenv("GOMP_SPINCOUNT"), std::getenv("OMP_WAIT_POLICY"));
  return time;
}

}  // namespace minnow::cpu
