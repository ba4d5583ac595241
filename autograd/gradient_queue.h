#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>
#include <minnow/autograd/node.h>

namespace minnow::autograd {

/// The gradients that one backward has not used yet: a sum for each output of a node and each leaf that gradients have
/// reached, taken out with the highest number first.  Nodes are numbered as they are recorded, so every user of the
/// output of the highest node has run already, and its sum is complete.  No dependencies are counted, and nothing is
/// written to nodes, which other threads may be running.
class GradientQueue {
 public:
  struct Entry {
    std::shared_ptr<Node> node;
    std::shared_ptr<Slot> leaf;     // if there is no node
    Tensor grad;                    // undefined until the first gradient arrives
    std::vector<Tensor> several{};  // instead of grad, of a node with several outputs: one for each
    std::uint32_t next_unused = 0;

    std::span<Tensor> grads() { return several.empty() ? std::span(&grad, 1) : std::span(several); }
  };

  GradientQueue();
  /// From now on a leaf comes out as soon as its sum is complete: after the node of the lowest number that uses it.
  /// Otherwise leaves, which are older than nodes, come last.
  void note_first_uses();
  bool empty() const { return heap_.empty(); }
  /// The sum for the edge's leaf or for that output of its node, made if there is none.  Valid until the next call.
  Tensor& at(const Edge& edge) { return entry(edge).grads()[edge.output]; }
  /// Takes out the entry with the highest number.
  Entry take();
  /// All nodes that gradients may reach, in no order.
  std::vector<Node*> all_nodes() const;

 private:
  struct Key {
    std::uint64_t order = 0;
    std::uint32_t index = 0;  // in entries_; in table_: kFree
  };
  struct Waiting {
    std::uint64_t rank;  // the highest comes out: twice the number, and one less than that of its first use
    Key key;
    bool operator<(const Waiting& other) const {
      return rank != other.rank ? rank < other.rank : key.order < other.key.order;
    }
  };

  Entry& entry(const Edge& edge);
  std::size_t find(std::uint64_t order) const;
  void grow();
  void erase(std::uint64_t order);

  std::vector<Entry> entries_;
  std::uint32_t unused_;  // the first free index of entries_; next_unused links the others
  std::vector<Waiting> heap_;
  std::unordered_map<std::uint64_t, std::uint64_t> first_uses_;  // of leaves, by number
  std::vector<Key> table_;  // order -> index: open addressing, at most half full, a power of two
};

}  // namespace minnow::autograd
