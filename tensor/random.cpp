#include <minnow/tensor/random.h>

#include <string>
#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow {

PhiloxState RandomGenerator::reserve(std::int64_t numbers, SourceLocation where) {
  if (numbers < 0)
    throw ValueError(
        "RandomGenerator::reserve: the count must be 0 or more, got " + std::to_string(numbers) + "\npass 0 or more",
        where);
  const std::lock_guard lock(mutex_);
  PhiloxState taken = state_;
  state_.offset += (static_cast<std::uint64_t>(numbers) + 3) / 4;
  if (CaptureSession* session = CaptureSession::current()) taken.replayed = session->random(*this, taken);
  return taken;
}

void RandomGenerator::manual_seed(std::uint64_t seed) { set_state({seed, 0}); }

PhiloxState RandomGenerator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void RandomGenerator::set_state(PhiloxState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

RandomGenerator& default_generator() {
  if (RandomGenerator* replaced = detail::calling_thread.generator) return *replaced;
  static auto* generator = new RandomGenerator();  // never destroyed: global tensors may draw at exit
  return *generator;
}

void manual_seed(std::uint64_t seed) { default_generator().manual_seed(seed); }

namespace detail {

DefaultGenerator::DefaultGenerator(RandomGenerator& generator) noexcept
    : previous_(std::exchange(calling_thread.generator, &generator)) {}
DefaultGenerator::~DefaultGenerator() { calling_thread.generator = previous_; }

}  // namespace detail

}  // namespace minnow
