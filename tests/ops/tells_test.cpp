#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/tensor.h>

#include "op_cases.h"

// Every public function tells what it computes (tensor/backend/tell.h), so that minnow::onnx can write it down, or
// stands below with the reason.  check_cases.py sees to it that each has a row here.

namespace minnow::test {
namespace {

/// Why functions do not tell.
constexpr const char *kRandom = "random", *kLoss = "a loss, which no inference needs",
                     *kRead = "the host reads numbers, on which the result depends",
                     *kAlgebra = "linear algebra, which ONNX does not have",
                     *kFourier = "a Fourier transform, which ONNX has otherwise",
                     *kConstant = "of no tensor: a constant", *kNone = "minnow::onnx has no rule for it";

const std::map<std::string, const char*>& silent() {
  static const auto* list = [] {
    auto* made = new std::map<std::string, const char*>;
    const auto add = [&](const char* reason, std::initializer_list<const char*> names) {
      for (const char* name : names) made->emplace(name, reason);
    };
    add(kRandom,
        {"dropout", "multinomial", "normal", "rand", "rand_like", "randint", "randn", "randn_like", "randperm"});
    add(kLoss, {"cross_entropy", "cross_entropy_rows", "ctc_loss", "linear_cross_entropy"});
    add(kRead, {"allclose", "bincount", "embedding_bag", "equal", "histc", "index", "index_put", "index_put_", "istft",
                "lstsq", "masked_select", "matrix_exp", "nonzero", "quantile", "repeat_interleave", "scatter_softmax",
                "segment_reduce", "unique", "unique_consecutive"});
    add(kAlgebra,
        {"cholesky", "cholesky_solve", "eigh", "eigvalsh", "inv", "qr", "solve", "solve_triangular", "svd", "svdvals"});
    add(kFourier,
        {"fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn"});
    add(kConstant, {"bartlett_window", "blackman_window", "hamming_window", "hann_window", "linspace", "tensor"});
    add(kNone, {"bucketize", "cummax", "cummin", "cumprod", "index_add", "index_add_", "index_copy", "index_copy_",
                "kthvalue", "logcumsumexp", "masked_scatter", "median", "mode", "nanmedian", "rope", "scatter",
                "scatter_", "scatter_reduce", "searchsorted"});
    return made;
  }();
  return *list;
}

/// Hears whether all that is computed from some tensors is told.
class Listener final : public detail::CallObserver {
 public:
  explicit Listener(const Tensors& inputs) {
    for (const Tensor& x : inputs) known_.insert(x.storage().get());
  }
  ~Listener() = default;

  void begin(const detail::CallSite&) noexcept override { open_.push_back({told_, false}); }
  void end(const detail::CallSite& site) noexcept override {
    if (open_.back().computes && open_.back().told == told_) missed_.insert(site.name() ? site.name() : "?");
    open_.pop_back();
  }
  void operands(const detail::Operands& operands) override {
    if (open_.empty()) return;
    for (const detail::Operand& o : operands)
      if (o.tensor.defined() && knows(o.tensor)) open_.back().computes = true;
  }
  void told(const detail::Told& told) override {
    ++told_;
    for (const Tensor& y : told.results)
      if (y.defined()) known_.insert(y.storage().get()), kept_.push_back(y);
  }
  void read(const char* op, const Tensor& x) noexcept override {
    if (knows(x)) missed_.insert(op);
  }

  bool knows(const Tensor& x) const { return known_.count(x.storage().get()) != 0; }
  /// The operations that did not tell.
  const std::set<std::string>& missed() const { return missed_; }

 private:
  struct Open {
    int told;
    bool computes;
  };
  int told_ = 0;
  std::vector<Open> open_;
  std::set<const Storage*> known_;
  Tensors kept_;  // so that no other tensor gets their memory
  std::set<std::string> missed_;
};

/// What a row's first call computes without telling; empty if nothing.
std::string missed(const OpCase& row) {
  const NoGradGuard no_grad;
  const Tensors inputs = make_inputs(row.inputs.front(), row.dtypes.front());
  Listener listener(inputs);
  std::string text;
  for (const Tensor& y : row.call(inputs))
    if (y.defined() && y.numel() > 0 && !listener.knows(y)) text = "its result";
  for (const std::string& name : listener.missed()) text += " " + name;
  return text;
}

TEST(Tells, EveryFunctionTellsOrHasAReason) {
  std::map<std::string, std::string> found;  // of functions whose rows do not tell
  std::set<std::string> functions;
  for (const OpCase& row : op_cases()) {
    functions.insert(row.function);
    const std::string text = missed(row);
    if (!text.empty()) found[row.function] += text + (row.variant.empty() ? "" : " (" + row.variant + ")");
  }
  for (const auto& [name, text] : found)
    if (!silent().count(name))
      ADD_FAILURE() << name << " computes without tell():" << text
                    << "\nend it with one (tensor/backend/tell.h), or say "
                    << "in tells_test.cpp why it does not";
  for (const auto& [name, reason] : silent())
    if (!found.count(name))
      ADD_FAILURE() << name << (functions.count(name) ? " tells" : " has no row") << ", but is listed as silent";
}

}  // namespace
}  // namespace minnow::test
