#include <minnow/tensor/backend/capture_memory.h>

#include <algorithm>
#include <limits>

namespace minnow::detail {
namespace {

constexpr std::size_t kLine = 64;

std::size_t rounded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

std::size_t lay_out(std::vector<Lifetime*> lifetimes) {
  std::stable_sort(lifetimes.begin(), lifetimes.end(),
                   [](const Lifetime* a, const Lifetime* b) { return a->bytes > b->bytes; });
  std::vector<const Lifetime*> placed;  // by offset
  std::size_t total = 0;
  for (Lifetime* next : lifetimes) {
    const std::size_t bytes = rounded(next->bytes);
    std::size_t best = std::numeric_limits<std::size_t>::max(), smallest = best, end = 0;
    for (const Lifetime* other : placed) {
      if (other->last < next->first || next->last < other->first) continue;
      if (other->offset >= end + bytes && other->offset - end < smallest) {
        smallest = other->offset - end;
        best = end;
      }
      end = std::max(end, other->offset + rounded(other->bytes));
    }
    next->offset = best == std::numeric_limits<std::size_t>::max() ? end : best;
    total = std::max(total, next->offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), next,
                                   [](const Lifetime* a, const Lifetime* b) { return a->offset < b->offset; }),
                  next);
  }
  return total;
}

CaptureMemory::Placed::Placed(const Storage& like)
    : storage_(std::make_shared<Storage>(like.data(), like.bytes(), like.device(), nullptr)) {}

/// A storage has one address for all its life: another one takes the place of the old one, for all views.
void CaptureMemory::Placed::place(void* data) {
  Storage* const at = storage_.get();
  if (at->data() == data) return;
  const std::size_t bytes = at->bytes();
  const Device device = at->device();
  std::destroy_at(at);
  std::construct_at(at, data, bytes, device, nullptr);
}

CaptureMemory::~CaptureMemory() {
  if (block_) device_.deallocate(block_, planned_bytes_);
  pool_.close();
}

void CaptureMemory::add_input(const View& tensor) { inputs_.push_back({tensor.storage(), Placed(*tensor.storage())}); }

int CaptureMemory::input_of(const View& view) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].storage.lock() == view.storage()) return static_cast<int>(i);
  return -1;
}

std::shared_ptr<Storage> CaptureMemory::kept_storage(const View& view) {
  if (const int input = input_of(view); input >= 0) return inputs_[static_cast<std::size_t>(input)].kept.storage();
  const Storage& storage = *view.storage();
  if (!own(view) || storage.bytes() == 0) {
    const char* begin = static_cast<const char*>(storage.data());
    used_.emplace_back(begin, begin + storage.bytes());
    return own(view) ? Placed(storage).storage() : view.storage();
  }
  const std::size_t number = pool_.number_of(storage.data());
  if (number >= intermediates_.size()) intermediates_.resize(number + 1);
  auto& intermediate = intermediates_[number];
  if (!intermediate) {
    intermediate = std::make_unique<Intermediate>(
        Intermediate{Placed(storage), {storage.bytes(), call_, call_, 0}, by_kept_storage_.size()});
    by_kept_storage_.emplace(intermediate->kept.storage().get(), number);
  }
  intermediate->lifetime.last = call_;
  return intermediate->kept.storage();
}

View CaptureMemory::kept(const View& view) {
  if (!view.defined()) return view;
  return View(kept_storage(view), view.dtype(), view.shape(), view.strides(), view.storage_offset());
}

CaptureMemory::Place CaptureMemory::place_of(const View& kept) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].kept.storage() == kept.storage()) return {Kind::input, i};
  if (const auto found = by_kept_storage_.find(kept.storage().get()); found != by_kept_storage_.end())
    return {Kind::step, intermediates_[found->second]->number};
  return {Kind::outside};
}

bool CaptureMemory::is_used_within(const View& kept, std::size_t begin, std::size_t end) const {
  const auto found = by_kept_storage_.find(kept.storage().get());
  if (found == by_kept_storage_.end() || outlives_[found->second]) return false;
  const Lifetime& lifetime = intermediates_[found->second]->lifetime;
  return lifetime.first >= begin && lifetime.last < end;
}

void CaptureMemory::needs_no_memory(const View& kept) {
  intermediates_[by_kept_storage_.at(kept.storage().get())]->needs_memory = false;
}

/// The lifetime, with all of the calls that are made together with its first and its last one.
Lifetime& CaptureMemory::joined_lifetime(Intermediate& intermediate) const {
  Lifetime& lifetime = intermediate.lifetime;
  const auto joined_with = [this](std::size_t call) {
    const auto range = std::upper_bound(joined_.begin(), joined_.end(), call,
                                        [](std::size_t at, const auto& calls) { return at < calls.second; });
    return range != joined_.end() && range->first <= call ? *range : std::pair(call, call + 1);
  };
  lifetime.first = joined_with(lifetime.first).first;
  lifetime.last = joined_with(lifetime.last).second - 1;
  return lifetime;
}

void CaptureMemory::lay_out() {
  std::vector<Lifetime*> lifetimes;
  for (std::size_t i = 0; i < intermediates_.size(); ++i) {
    if (!intermediates_[i]) continue;
    Intermediate& intermediate = *intermediates_[i];
    const Storage& storage = *intermediate.kept.storage();
    if (outlives_[i]) {
      const char* begin = static_cast<const char*>(storage.data());
      used_.emplace_back(begin, begin + storage.bytes());
    } else {
      sum_of_bytes_ += rounded(storage.bytes());
      if (intermediate.needs_memory) lifetimes.push_back(&joined_lifetime(intermediate));
    }
  }
  planned_bytes_ = detail::lay_out(std::move(lifetimes));
  char* block = nullptr;
  if (planned_bytes_ > 0) {
    device_.empty_cache();  // blocks of direct runs, which replays do not need
    block_ = block = static_cast<char*>(device_.allocate(planned_bytes_));
    used_.emplace_back(block, block + planned_bytes_);
  }
  for (std::size_t i = 0; i < intermediates_.size(); ++i)
    if (intermediates_[i] && !outlives_[i])
      intermediates_[i]->kept.place(intermediates_[i]->needs_memory ? block + intermediates_[i]->lifetime.offset
                                                                    : nullptr);
  std::sort(used_.begin(), used_.end());
  std::size_t count = 0;
  for (const auto& [begin, end] : used_) {
    if (begin == end) continue;
    if (count > 0 && begin <= used_[count - 1].second) used_[count - 1].second = std::max(used_[count - 1].second, end);
    else used_[count++] = {begin, end};
  }
  used_.resize(count);
}

bool CaptureMemory::uses(const void* begin, std::size_t bytes) const {
  const char* const first = static_cast<const char*>(begin);
  const auto after = std::upper_bound(used_.begin(), used_.end(), first,
                                      [](const char* at, const auto& range) { return at < range.second; });
  return after != used_.end() && after->first < first + bytes;
}

}  // namespace minnow::detail
