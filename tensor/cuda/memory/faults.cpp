#include <minnow/tensor/cuda/memory/faults.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {
namespace {

/// Reads and resets a word, which the device may write at any time.
bool take(std::uint32_t* flag) {
  const std::atomic_ref<std::uint32_t> word(*flag);
  if (word.load(std::memory_order_relaxed) == 0) return false;
  word.store(0, std::memory_order_relaxed);
  return true;
}

/// Whether one of the words is set.  Called by every synchronization.
bool any(std::uint32_t* words, std::size_t count) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < count; ++i)
    found |= std::atomic_ref<std::uint32_t>(words[i]).load(std::memory_order_relaxed);
  return found != 0;
}

}  // namespace

std::uint32_t* Faults::obtain(std::size_t words) {
  auto* first = static_cast<std::uint32_t*>(driver_.allocate_pinned(words * sizeof(std::uint32_t)));
  if (!first)
    throw OutOfMemoryError("out of pinned host memory: requested " + std::to_string(words * 4) +
                           " bytes\nfree memory of other programs, or pin less");
  std::fill_n(first, words, 0U);
  return first;
}

std::uint32_t* Faults::flag(Fault fault, const char* operation, SourceLocation where, bool held) {
  const std::lock_guard lock(mutex_);
  Word* word = nullptr;
  if (held) {
    const auto unused = std::find_if(held_.begin(), held_.end(), [](const Word& w) { return w.operation[0] == '\0'; });
    if (unused == held_.end()) {
      constexpr std::size_t kMore = 256;
      std::uint32_t* first = obtain(kMore);
      const std::size_t before = held_.size();
      held_.resize(before + kMore);
      for (std::size_t i = 0; i < kMore; ++i) held_[before + i].flag = first + i;
      word = &held_[before];
    } else word = &*unused;
  } else {
    if (ring_.empty()) {
      std::uint32_t* first = obtain(kWords);
      ring_.resize(kWords);
      for (std::size_t i = 0; i < kWords; ++i) ring_[i].flag = first + i;
    }
    word = &ring_[next_ % kWords];
    if (take(word->flag)) report(*word);  // all words were used without a synchronization
    ++next_;
  }
  word->fault = fault;
  word->where = where;
  word->operation = {'?'};
  const std::string_view name(operation);
  word->operation[name.copy(word->operation.data(), word->operation.size() - 1)] = '\0';
  return word->flag;
}

void Faults::give_back(std::uint32_t* held) noexcept {
  const std::lock_guard lock(mutex_);
  for (Word& word : held_)
    if (word.flag == held) word.operation[0] = '\0';
}

void Faults::check() {
  const std::lock_guard lock(mutex_);
  std::optional<Word> oldest;
  const std::size_t used = std::min(next_, kWords);
  if (used > 0 && any(ring_[0].flag, used)) {
    for (std::size_t i = 0; i < used; ++i) {
      const Word& word = ring_[(next_ - used + i) % kWords];
      if (take(word.flag) && !oldest) oldest = word;
    }
  }
  for (const Word& word : held_)
    if (take(word.flag) && !oldest) oldest = word;
  if (oldest) report(*oldest);
}

void Faults::report(const Word& word) const {
  const CallSite site = CallSite::instead(word.operation.data(), word.where);  // not the operation that is open now
  const std::string operation = word.operation.data();
  const std::string found = "\n  found on " + device_ + " while it ran, after the call had returned\n";
  switch (word.fault) {
    case Fault::index_out_of_range:
      throw IndexError(operation + ": an index is out of range" + found +
                       "indices go from 0 to the dimension's size - 1");
    case Fault::target_out_of_range:
      throw IndexError(operation + ": a target is out of range" + found +
                       "targets go from 0 to the number of classes - 1, or are ignore_index");
    case Fault::length_out_of_range:
      throw ValueError(operation + ": a length is out of range" + found +
                       "lengths are at least 0, and no more than there is in the tensor that they measure");
    case Fault::division_by_zero:
      throw ValueError(operation + ": an integer was divided by zero" + found +
                       "check the divisor, or divide floating-point tensors");
  }
  throw BackendError(operation + ": an unknown fault" + found + "this is an error in minnow");
}

}  // namespace minnow::cuda
