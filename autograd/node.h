#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>
#include <minnow/tensor/in.h>

namespace minnow::autograd {

class Node;

/// Sees a gradient; what it returns, if defined, replaces it.
using Hook = std::function<Tensor(const Tensor& grad)>;

/// What autograd keeps with a tensor that takes part in a graph.
struct Slot {
  bool requires_grad = false;               ///< of a leaf
  std::weak_ptr<detail::TensorImpl> owner;  ///< of a leaf: for messages
  std::shared_ptr<Node> producer;           ///< of a non-leaf
  std::uint32_t produced_version = 0;       ///< of the storage, when the producer's value was written
  std::uint64_t order = 0;                  ///< of a leaf: its place among nodes
  std::mutex mutex;                         ///< guards grad and hooks
  Tensor grad;
  std::vector<std::pair<std::int64_t, Hook>> hooks;  ///< of a leaf
  bool retains_grad = false;                         ///< of a non-leaf
};

/// Where a gradient goes: to the node that produced the operand, or to a leaf.  With the operand's geometry,
/// to which the engine sums and converts what arrives.
struct Edge {
  std::shared_ptr<Node> node;
  std::shared_ptr<Slot> leaf;
  Shape shape;
  DType dtype = DType::float32;
  Device device;

  explicit operator bool() const { return node || leaf; }
};

/// The gradients of an operation's inputs, in their order; undefined where not needed or zero.
using Gradients = std::vector<Tensor>;
/// Which inputs need a gradient.
class Needs {
 public:
  explicit Needs(std::uint64_t bits) : bits_(bits) {}
  bool operator[](std::size_t input) const { return input >= 64 || (bits_ >> input & 1u) != 0; }

 private:
  std::uint64_t bits_;
};

/// One recorded operation: edges to the producers of its inputs, and a function from the output's gradient to
/// theirs.  Nodes are numbered as they are made, so an operation's number is above those of all it depends
/// on.  Made by make_node.
class Node : public std::enable_shared_from_this<Node> {
 public:
  /// `where` counts where no operation is under way (CallSite): else the node is of its line, and its gradient function
  /// is run as a part of it.
  Node(const char* name, SourceLocation where);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* name() const { return name_; }
  SourceLocation where() const { return where_; }
  std::uint64_t order() const { return order_; }

  /// The inputs' gradients, one for each.  The saved values go afterwards, unless `retain`; AutogradError when they
  /// are gone.  `called` is the line of the backward.  Errors have the node's name and line; a gradient function of the
  /// user's, recorded outside of every CallSite, names what it calls itself.
  Gradients run(const Tensor& grad, Needs needs, bool retain, SourceLocation called);
  std::vector<Edge>& edges() { return edges_; }

  /// An operation whose output is a part of its input (a slice) gives, outside of create_graph, a gradient for that
  /// part only: here is the part in the gradient of the whole, to which it is added.
  virtual bool gives_part() const { return false; }
  virtual Tensor part_of(const Tensor& whole) const;

  // Hooks on the gradient of the output.
  std::int64_t add_hook(Hook hook);
  void remove_hook(std::int64_t id);
  Tensor run_hooks(Tensor grad);

 protected:
  virtual Gradients backward(const Tensor& grad, Needs needs) = 0;
  /// Drops the saved values.
  virtual void release() = 0;

 private:
  template <class T> friend struct NodeAllocator;
  static void destroy(Node* node) noexcept;
  Gradients gradients_of(const Tensor& grad, Needs needs);

  const char* name_;
  SourceLocation where_;
  const bool of_library_;  // or of a function that opened a CallSite as the library's do
  std::uint64_t order_;
  std::mutex mutex_;  // one backward at a time runs or releases a node
  bool released_ = false;
  std::atomic<bool> has_hooks_ = false;
  std::vector<Edge> edges_;
  std::vector<std::pair<std::int64_t, Hook>> hooks_;  // under a mutex of their own: a gradient function may add some
  Node* next_doomed_ = nullptr;
};

/// Destroys a node after the one that is being destroyed, never within: all that nodes hold (edges, saved values,
/// tensors that a function captured) may hold further nodes, and a long graph would need a deep stack.
template <class T> struct NodeAllocator {
  using value_type = T;

  NodeAllocator() = default;
  template <class U> NodeAllocator(const NodeAllocator<U>&) {}
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* block, std::size_t n) { std::allocator<T>().deallocate(block, n); }
  template <class U> void destroy(U* node) noexcept { Node::destroy(node); }
  friend bool operator==(const NodeAllocator&, const NodeAllocator&) { return true; }
};

template <class N, class... Arguments> std::shared_ptr<N> make_node(Arguments&&... arguments) {
  return std::allocate_shared<N>(NodeAllocator<N>(), std::forward<Arguments>(arguments)...);
}

/// The node whose gradient function is running on this thread.
class RunningNode {
 public:
  explicit RunningNode(Node* node);
  ~RunningNode();
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;
  static Node* current();
  /// Whether that of `node` is, be it that the function called backward again.
  static bool within(const Node* node);

 private:
  Node* node_;
  RunningNode* outer_;
};

/// The next number of a node or leaf.
std::uint64_t next_order();
/// A hook's handle.
std::int64_t next_hook_id();

/// The edge to a tensor: to its producer, to the leaf, or nowhere.  AutogradError when another alias of its
/// memory was written since its producer recorded it: the gradient would not belong to the value.
Edge edge_to(const Tensor& x);

/// The leaves that a tensor was computed from, no more than `most`.  Those that are gone are left out.
std::vector<Tensor> leaves_of(const Tensor& x, std::size_t most);

/// Nodes alive in this process: flat over the steps of a training loop.
std::int64_t live_nodes();

}  // namespace minnow::autograd
