#include <minnow/autograd/checkpoint.h>

#include <algorithm>
#include <set>
#include <minnow/autograd/autocast_scope.h>
#include <minnow/autograd/joint.h>
#include <minnow/autograd/record.h>
#include <minnow/autograd/thread_state.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::autograd {
namespace {

constexpr const char* kName = "checkpoint";

/// The memory of an operand, and its version when an operation used it.
struct UsedMemory {
  std::weak_ptr<Storage> storage;
  std::uint32_t version;
};

/// Takes note of the operands of this thread's operations.
class UseOfMemory final : CallObserver {
 public:
  std::vector<UsedMemory> used{};

 private:
  void operands(const Operands& operands) override {
    CallObserver::operands(operands);
    for (const Operand& o : operands)
      if (o.tensor.defined()) used.push_back({o.tensor.storage(), o.tensor.storage()->version()});
  }
};

/// While f runs.  It keeps its own casts of parameters: the graph of each of its runs ends at the parameters.
class CheckpointScope {
 public:
  CheckpointScope(bool again, const AutocastMode& autocast)
      : before_(ThreadState::current().checkpoint), no_site_(CallSite::none()), autocast_(autocast, false) {
    ThreadState::current().checkpoint = {true, again || before_.again};
  }
  ~CheckpointScope() { ThreadState::current().checkpoint = before_; }
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;

 private:
  ThreadState::Checkpoint before_;
  CallSite no_site_;
  AutocastScope autocast_;
};

/// Lets the default generator draw from an earlier state.
class GeneratorScope {
 public:
  explicit GeneratorScope(PhiloxState state) : before_(default_generator().state()) {
    default_generator().set_state(state);
  }
  ~GeneratorScope() { default_generator().set_state(before_); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  PhiloxState before_;
};

using EdgeId = std::pair<const void*, std::uint32_t>;
EdgeId id_of(const Edge& edge) {
  return {edge.node ? static_cast<const void*>(edge.node.get()) : edge.leaf.get(), edge.output};
}

/// Where the graph of `outputs` ends that was recorded since `start`: leaves, and nodes that are older.
std::vector<Edge> ends_of(std::span<const Tensor> outputs, std::uint64_t start) {
  std::vector<Edge> ends;
  std::set<EdgeId> seen;
  std::vector<Node*> stack;
  const auto visit = [&](const Edge& edge) {
    if (!edge) return;
    if (!seen.insert(id_of(edge)).second) return;
    if (edge.leaf && edge.leaf->order >= start)
      throw AutogradError(message("the function makes a leaf that requires a gradient", {},
                                  "backward calls the function again, which makes another one: make it outside"));
    if (edge.node && edge.node->order() >= start) stack.push_back(edge.node.get());
    else ends.push_back(edge);
  };
  for (const Tensor& out : outputs)
    if (out.defined()) visit(edge_to(out));
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->edges()) visit(edge);
  }
  return ends;
}

/// A leaf that f used, and the version of its memory then.
struct UsedLeaf {
  std::weak_ptr<detail::TensorImpl> tensor;
  std::uint32_t version;
};

/// What backward needs.
class Recomputation {
 public:
  Recomputation(CheckpointedFunction f, std::span<const Tensor> inputs, PhiloxState random)
      : f_(std::move(f)), random_(random) {
    for (const Tensor& x : inputs) inputs_.emplace_back(x);
  }

  /// The results of the first run, and where its graph ends.
  void keep(std::span<const Tensor> outputs, std::vector<Edge> ends) {
    for (const Tensor& out : outputs) outputs_.emplace_back(out.layout());
    ends_ = std::move(ends);
    for (const Edge& end : ends_)
      if (end.leaf)
        if (const auto owner = end.leaf->owner.lock()) leaves_.push_back({owner, owner->view.storage()->version()});
  }

  void keep_used(std::vector<UsedMemory> used) { used_ = std::move(used); }

  Gradients gradients(std::span<const Tensor> grads) const {
    const bool create_graph = is_grad_enabled();
    require_unchanged_leaves();
    std::vector<Tensor> results;
    std::uint64_t start = 0;
    {
      const AutoGradMode mode(true);
      std::vector<Tensor> inputs;
      for (const Saved& x : inputs_) inputs.push_back(x());
      require_unchanged_memory();
      const GeneratorScope generator(random_);
      const CheckpointScope scope(true, autocast_);
      start = next_order();
      results = f_(inputs);
    }
    require_same(results);
    require_same_ends(ends_of(results, start));
    return gradients_up_to(ends_, results, grads, create_graph);
  }

 private:
  /// The geometry of a result.
  struct Kept {
    explicit Kept(const detail::View& view) {
      defined = view.defined();
      if (!defined) return;
      shape = view.shape();
      dtype = view.dtype();
      device = view.device();
      text = describe(view);
    }
    bool defined = false;
    Shape shape;
    DType dtype = DType::float32;
    Device device;
    std::string text;
  };

  void require_unchanged_leaves() const {
    for (const UsedLeaf& leaf : leaves_)
      if (const auto owner = leaf.tensor.lock(); owner && owner->view.storage()->version() != leaf.version)
        throw AutogradError(message("a leaf was overwritten after the function used it", {{"leaf", Tensor(owner)}},
                                    "call backward before optimizer.step(), or compute the loss again"));
  }

  void require_unchanged_memory() const {
    for (const UsedMemory& used : used_)
      if (const auto storage = used.storage.lock(); storage && storage->version() != used.version)
        throw AutogradError(message("a tensor that the function captured was overwritten after it was used", {},
                                    "call backward before, or let the function capture a clone()"));
  }

  /// A gradient would be missing where the second run no longer leads.
  void require_same_ends(const std::vector<Edge>& ends) const {
    std::set<EdgeId> found;
    for (const Edge& edge : ends) found.insert(id_of(edge));
    for (const Edge& edge : ends_)
      if (!found.contains(id_of(edge)))
        throw AutogradError(message(
            "its results did not depend on all that they depended on before when backward called the function again, "
            "so that gradients would be missing",
            {},
            "let it depend on its arguments alone and capture handles by value, [=]; do not replace what it captured, "
            "nor change requires_grad, before backward"));
  }

  void require_same(const std::vector<Tensor>& results) const {
    bool same = results.size() == outputs_.size();
    for (std::size_t i = 0; same && i < results.size(); ++i) {
      const Kept& kept = outputs_[i];
      same = results[i].defined() == kept.defined &&
             (!kept.defined || (results[i].shape() == kept.shape && results[i].dtype() == kept.dtype &&
                                results[i].device() == kept.device));
      if (!same)
        throw AutogradError(
            message("the function gave another result when backward called it again\n  before  " + kept.text,
                    {{"now", results[i]}}, "it must depend on its arguments alone"));
    }
    if (!same)
      throw AutogradError(message("the function gave another number of results when backward called it again", {},
                                  "it must depend on its arguments alone"));
  }

  CheckpointedFunction f_;
  std::vector<Saved> inputs_;
  PhiloxState random_;
  AutocastMode autocast_ = calling_thread.autocast;
  std::vector<Kept> outputs_;
  std::vector<Edge> ends_;
  std::vector<UsedLeaf> leaves_;
  std::vector<UsedMemory> used_;
};

/// What is left of the memory that a run read, once its graph is gone: what it captured.  It does not count what the
/// run itself wrote (statistics) and its results.
std::vector<UsedMemory> captured_memory(std::vector<UsedMemory> used, std::span<const Tensor> results) {
  std::set<const Storage*> seen;
  for (const Tensor& t : results)
    if (t.defined()) seen.insert(t.storage().get());
  std::erase_if(used, [&](const UsedMemory& u) {
    const auto storage = u.storage.lock();
    return !storage || storage->version() != u.version || !seen.insert(storage.get()).second;
  });
  return used;
}

}  // namespace

bool is_recomputing() { return ThreadState::current().checkpoint.again; }

std::vector<Tensor> checkpoint(CheckpointedFunction f, std::vector<Tensor> inputs, SourceLocation where) {
  const CallSite site(kName, where);
  if (!is_grad_enabled()) {
    const CallSite none = CallSite::none();
    return f(inputs);
  }
  std::vector<std::uint32_t> versions;
  versions.reserve(inputs.size());
  for (const Tensor& x : inputs) versions.push_back(x.defined() ? x.storage()->version() : 0);
  const auto again = std::make_shared<Recomputation>(f, inputs, default_generator().state());
  const std::uint64_t start = next_order();
  std::vector<Tensor> outputs;
  std::vector<UsedMemory> used;
  {
    UseOfMemory use;
    const CheckpointScope scope(is_recomputing(), calling_thread.autocast);
    outputs = f(inputs);
    used = std::move(use.used);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i].storage()->version() != versions[i])
      throw AutogradError(message("the function writes to its argument, and would do so again in backward",
                                  {{"x", inputs[i]}}, "use the form that returns a new tensor"));
  std::vector<Edge> ends = ends_of(outputs, start);
  if (ends.empty()) return outputs;
  again->keep(outputs, ends);
  std::vector<Tensor> recorded = outputs, plain(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined() && !needs_grad(outputs[i])) plain[i] = std::exchange(recorded[i], Tensor());
  recorded = record_joint(
      kName, recorded, std::move(ends),
      [again](std::span<const Tensor> grads, Needs) { return again->gradients(grads); }, where);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (plain[i].defined()) recorded[i] = plain[i];
  outputs.clear();  // and the graph of the first run
  again->keep_used(captured_memory(std::move(used), recorded));
  return recorded;
}

}  // namespace minnow::autograd
