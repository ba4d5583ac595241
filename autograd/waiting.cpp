#include <minnow/autograd/waiting.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace minnow::autograd {
namespace {

constexpr std::size_t kFirstSize = 32;
constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();

/// Where the search for a number begins: numbers that follow each other are spread.
std::size_t home(std::uint64_t order, std::size_t mask) {
  return static_cast<std::size_t>((order * 0x9E3779B97F4A7C15u) >> 32) & mask;
}

}  // namespace

Waiting::Waiting() : unused_(kFree), table_(kFirstSize, Key{0, kFree}) {
  entries_.reserve(kFirstSize / 2);
  heap_.reserve(kFirstSize / 2);
}

/// Its place in the table, or the free one where it belongs.
std::size_t Waiting::find(std::uint64_t order) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = home(order, mask);
  while (table_[i].place != kFree && table_[i].order != order) i = (i + 1) & mask;
  return i;
}

void Waiting::grow() {
  std::vector<Key> wider(table_.size() * 2, Key{0, kFree});
  table_.swap(wider);
  for (const Key& key : heap_) table_[find(key.order)] = key;
}

Waiting::Entry& Waiting::at(const Edge& edge) {
  const std::uint64_t order = edge.node ? edge.node->order() : edge.leaf->order;
  if (const Key& known = table_[find(order)]; known.place != kFree) return entries_[known.place];
  if (2 * (heap_.size() + 1) > table_.size()) grow();
  Key key{order, static_cast<std::uint32_t>(entries_.size())};
  if (unused_ == kFree) {
    entries_.push_back({edge.node, edge.leaf, {}});
  } else {
    key.place = unused_;
    Entry& entry = entries_[key.place];
    unused_ = entry.next_unused;
    entry.node = edge.node;
    entry.leaf = edge.leaf;
  }
  table_[find(order)] = key;
  heap_.push_back(key);
  std::push_heap(heap_.begin(), heap_.end(), [](const Key& a, const Key& b) { return a.order < b.order; });
  return entries_[key.place];
}

Waiting::Entry Waiting::take() {
  std::pop_heap(heap_.begin(), heap_.end(), [](const Key& a, const Key& b) { return a.order < b.order; });
  const Key key = heap_.back();
  heap_.pop_back();
  erase(key.order);
  Entry entry = std::move(entries_[key.place]);
  entries_[key.place].next_unused = std::exchange(unused_, key.place);
  return entry;
}

/// What the search would no longer find behind the gap is moved into it.
void Waiting::erase(std::uint64_t order) {
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = find(order);
  for (std::size_t i = (gap + 1) & mask; table_[i].place != kFree; i = (i + 1) & mask) {
    const std::size_t from_home = (i - home(table_[i].order, mask)) & mask;
    if (from_home < ((i - gap) & mask)) continue;
    table_[gap] = table_[i];
    gap = i;
  }
  table_[gap].place = kFree;
}

std::vector<Node*> Waiting::nodes() const {
  std::vector<Node*> nodes;
  for (const Key& key : heap_)
    if (Node* node = entries_[key.place].node.get()) nodes.push_back(node);
  return nodes;
}

}  // namespace minnow::autograd
