#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>
#include <minnow/autograd/row_gradient.h>
#include <minnow/tensor/in.h>

namespace minnow::autograd {

class Node;

/// Called with a gradient; a defined result replaces the gradient.
using Hook = std::function<Tensor(const Tensor& grad)>;

/// A hook on a leaf.
struct LeafHook {
  std::int64_t id;
  Hook call;
  bool after = false;  ///< called once grad() has the sum; its argument and its result are not used
};

/// What autograd keeps with a tensor that takes part in a graph.
struct Slot {
  bool requires_grad = false;               ///< of a leaf
  std::weak_ptr<detail::TensorImpl> owner;  ///< of a leaf: for messages
  std::shared_ptr<Node> producer;           ///< of a non-leaf
  std::uint32_t produced_version = 0;       ///< of the storage when the producer wrote its value
  std::uint32_t output = 0;                 ///< of a non-leaf: its place among the outputs of the producer
  std::uint64_t order = 0;                  ///< of a leaf: a number from the counter of the nodes
  std::mutex mutex;                         ///< guards grad and hooks
  Tensor grad;
  std::vector<LeafHook> hooks;      ///< of a leaf
  bool retains_grad = false;        ///< of a non-leaf
  std::vector<RowGradient> rows{};  ///< of a table with a sparse gradient, beside grad
  bool rows_are_unique = false;     ///< one part, with each row once
  /// Of a leaf: the tensors that are one parameter, if there are several (Parameter::operator=).
  std::vector<std::weak_ptr<detail::TensorImpl>> tied{};
};

/// Where a gradient goes: to the node that produced the operand, or to a leaf.  The engine sums and converts the
/// gradient to the operand's shape, dtype and device, which are kept here.
struct Edge {
  std::shared_ptr<Node> node;
  std::shared_ptr<Slot> leaf;
  Shape shape;
  DType dtype = DType::float32;
  Device device;
  std::uint32_t output = 0;  ///< of the node

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

/// One recorded operation: edges to the producers of its inputs, and a function from the gradients of its outputs to
/// theirs.  Nodes are numbered as they are made, so an operation's number is above those of all it depends
/// on.  Made by make_node.
class Node : public std::enable_shared_from_this<Node> {
 public:
  /// The node's line is the open CallSite's, or `where` if none is open.  With an open CallSite, errors of the gradient
  /// function name the node.
  Node(const char* name, SourceLocation where);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const char* name() const { return name_; }
  SourceLocation where() const { return where_; }
  std::uint64_t order() const { return order_; }
  std::size_t outputs() const { return outputs_; }

  /// The inputs' gradients, one for each, from those of the outputs, which are undefined where none arrived.  Drops the
  /// saved values afterwards, unless `retain`; AutogradError if they were dropped before.  `backward_line` is where the
  /// user called backward.  Errors have the node's name and line; in a gradient function recorded outside of every
  /// CallSite they name the operation that it called.
  Gradients run(std::span<const Tensor> grads, Needs needs, bool retain, SourceLocation backward_line);
  std::vector<Edge>& edges() { return edges_; }

  /// An operation whose output is a part of its input (a slice) gives, without create_graph, the gradient of that part
  /// only.  part_of() is the part as a view of the whole gradient, to which add_part() adds it; `first`: that is 0.
  virtual bool gives_part() const { return false; }
  virtual Tensor part_of(const Tensor& whole) const;
  virtual void add_part(const Tensor& whole, const Tensor& grad, bool first) const;
  /// Whether it saves nothing and runs in any number of backwards, also without retain_graph.
  virtual bool is_reusable() const { return false; }

  // Hooks on the gradient of an output.
  std::int64_t add_hook(std::uint32_t output, Hook hook);
  void remove_hook(std::int64_t id);
  void run_hooks(std::span<Tensor> grads);

 protected:
  virtual Gradients backward(std::span<const Tensor> grads, Needs needs) = 0;
  /// Drops the saved values.
  virtual void release() = 0;

 private:
  template <class T> friend struct NodeAllocator;
  friend class JointNode;
  struct OutputHook {
    std::int64_t id;
    std::uint32_t output;
    Hook hook;
  };

  static void destroy(Node* node) noexcept;
  Gradients gradients_of(std::span<const Tensor> grads, Needs needs);

  const char* name_;
  SourceLocation where_;
  const bool opened_site_;  // a CallSite was open: a function of the library, or one that opens a site as it does
  std::uint64_t order_;
  std::uint32_t outputs_ = 1;
  std::mutex mutex_;  // one backward at a time runs or releases a node
  bool released_ = false;
  std::atomic<bool> has_hooks_ = false;
  std::vector<Edge> edges_;
  std::vector<OutputHook> hooks_;  // guarded by hook_mutex(), since a gradient function may add hooks
  Node* next_to_destroy_ = nullptr;
};

/// An operation with several outputs: its gradient function is called once in a backward, with the gradients of all.
class JointNode : public Node {
 public:
  using Node::Node;

  /// Makes each defined floating-point tensor of `outputs` an output of this node; an edge for each input comes first.
  /// One that is in the graph already becomes another handle of the same memory.
  void attach(std::span<Tensor> outputs);
  /// The place of the output that was this tensor when it was attached, by Tensor::id(), or outputs().
  std::uint32_t place_of(const void* id) const;

 private:
  std::vector<const void*> ids_;
};

/// Destroys nodes one after another, never recursively: what a node holds (edges, saved values, tensors that a lambda
/// captured) may hold further nodes, and a long graph would overflow the stack.
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
  /// Whether the gradient function of `node` is running on this thread, also further out: a gradient function may call
  /// backward.
  static bool within(const Node* node);

 private:
  Node* node_;
  RunningNode* outer_;
};

/// The next number of a node or leaf.
std::uint64_t next_order();
/// The next number of a hook.
std::int64_t next_hook_id();

/// The edge to a tensor's producer or to the leaf itself; empty if it requires no gradient.  AutogradError if its
/// memory was written through another tensor since its producer was recorded: the gradient would not belong to the
/// value.
Edge edge_to(const Tensor& x);

/// The same for all tensors that are one parameter.
inline const void* identity(const Tensor& x) {
  return x.slot() && !x.slot()->tied.empty() ? static_cast<const void*>(x.slot().get()) : x.id();
}

/// The leaves that a tensor was computed from, at most `limit`.  Leaves that no tensor holds any more are left out.
std::vector<Tensor> leaves_of(const Tensor& x, std::size_t limit);

/// The number of nodes in this process; constant over the steps of a training loop that leaks none.
std::int64_t live_nodes();

}  // namespace minnow::autograd
