#include <minnow/autograd/gradient_queue.h>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

namespace minnow::autograd {
namespace {

constexpr std::size_t kFirstSize = 32;
constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();

/// Where the search for a number begins.  Consecutive numbers are spread (Fibonacci hashing).
std::size_t first_probe(std::uint64_t order, std::size_t mask) {
  return static_cast<std::size_t>((order * 0x9E3779B97F4A7C15u) >> 32) & mask;
}

}  // namespace

GradientQueue::GradientQueue() : unused_(kFree), table_(kFirstSize, Key{0, kFree}) {
  entries_.reserve(kFirstSize / 2);
  heap_.reserve(kFirstSize / 2);
}

void GradientQueue::note_first_uses() {
  for (Node* node : all_nodes())
    for (const Edge& e : node->edges()) {
      if (!e.leaf) continue;
      const auto [use, is_new] = first_uses_.try_emplace(e.leaf->order, node->order());
      if (!is_new) use->second = std::min(use->second, node->order());
    }
}

/// The index of `order` in the table, or the free one where it belongs.
std::size_t GradientQueue::find(std::uint64_t order) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = first_probe(order, mask);
  while (table_[i].index != kFree && table_[i].order != order) i = (i + 1) & mask;
  return i;
}

void GradientQueue::grow() {
  std::vector<Key> larger(table_.size() * 2, Key{0, kFree});
  table_.swap(larger);
  for (const Waiting& waiting : heap_) table_[find(waiting.key.order)] = waiting.key;
}

GradientQueue::Entry& GradientQueue::entry(const Edge& edge) {
  const std::uint64_t order = edge.node ? edge.node->order() : edge.leaf->order;
  if (const Key& known = table_[find(order)]; known.index != kFree) return entries_[known.index];
  if (2 * (heap_.size() + 1) > table_.size()) grow();
  Key key{order, static_cast<std::uint32_t>(entries_.size())};
  if (unused_ == kFree) {
    entries_.push_back({edge.node, edge.leaf, {}});
  } else {
    key.index = unused_;
    Entry& entry = entries_[key.index];
    unused_ = entry.next_unused;
    entry.node = edge.node;
    entry.leaf = edge.leaf;
  }
  if (edge.node && edge.node->outputs() > 1) entries_[key.index].several.resize(edge.node->outputs());
  table_[find(order)] = key;
  std::uint64_t rank = 2 * order;
  if (edge.leaf && !first_uses_.empty())
    if (const auto use = first_uses_.find(order); use != first_uses_.end()) rank = 2 * use->second - 1;
  heap_.push_back({rank, key});
  std::push_heap(heap_.begin(), heap_.end());
  return entries_[key.index];
}

GradientQueue::Entry GradientQueue::take() {
  std::pop_heap(heap_.begin(), heap_.end());
  const Key key = heap_.back().key;
  heap_.pop_back();
  erase(key.order);
  Entry entry = std::move(entries_[key.index]);
  entries_[key.index].next_unused = std::exchange(unused_, key.index);
  return entry;
}

/// Entries that the search would no longer find behind the hole are moved into it.
void GradientQueue::erase(std::uint64_t order) {
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = find(order);
  for (std::size_t i = (hole + 1) & mask; table_[i].index != kFree; i = (i + 1) & mask) {
    const std::size_t distance = (i - first_probe(table_[i].order, mask)) & mask;
    if (distance < ((i - hole) & mask)) continue;
    table_[hole] = table_[i];
    hole = i;
  }
  table_[hole].index = kFree;
}

std::vector<Node*> GradientQueue::all_nodes() const {
  std::vector<Node*> all, stack;
  for (const Waiting& waiting : heap_)
    if (Node* node = entries_[waiting.key.index].node.get()) stack.push_back(node);
  std::unordered_set<Node*> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    all.push_back(node);
    for (const Edge& e : node->edges())
      if (e.node && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
  }
  return all;
}

}  // namespace minnow::autograd
