#pragma once

#include <cstdint>
#include <memory>
#include <vector>
#include <minnow/autograd/node.h>

namespace minnow::autograd {

/// The gradients of one backward that are on their way: one sum for each node or leaf that some have reached, taken by
/// falling number.  Nodes are numbered in the order in which they were recorded, so the highest has met all that
/// use its output: its sum is whole.  (No counting of dependencies, and nothing written to nodes, which other threads
/// may be running.)
class Waiting {
 public:
  struct Entry {
    std::shared_ptr<Node> node;
    std::shared_ptr<Slot> leaf;  // where there is no node
    Tensor grad;                 // undefined: none has come yet
    std::uint32_t next_unused = 0;
  };

  Waiting();
  bool empty() const { return heap_.empty(); }
  /// The entry of the edge's end, a new one if there is none.  Valid until the next call.
  Entry& at(const Edge& edge);
  /// Takes out the entry with the highest number.
  Entry take();
  /// All nodes that wait, in no order.
  std::vector<Node*> nodes() const;

 private:
  struct Key {
    std::uint64_t order = 0;
    std::uint32_t place = 0;  // in entries_; in table_: kFree
  };

  std::size_t find(std::uint64_t order) const;
  void grow();
  void erase(std::uint64_t order);

  std::vector<Entry> entries_;
  std::uint32_t unused_;  // the first place in entries_ that is free, a list through next_unused
  std::vector<Key> heap_;
  std::vector<Key> table_;  // order -> place: open addressing, at most half full, a power of two
};

}  // namespace minnow::autograd
