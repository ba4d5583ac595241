#pragma once

#include <minnow/optim/composed_optimizer.h>

namespace minnow::optim {

/// How Muon scales lr for a matrix of A rows and B columns.
enum class MuonScale : std::uint8_t {
  original,           ///< √max(1, A / B), Jordan
  match_rms_adamw,    ///< 0.2 √max(A, B): AdamW's lr and decay fit (Liu et al. 2025)
  spectral_unclamped  ///< √(A / B), Bernstein
};

struct MuonOptions {
  double lr = 1e-3;
  double weight_decay = 0.1;  ///< decoupled
  double momentum = 0.95;
  bool nesterov = true;
  std::array<double, 3> ns_coefficients{3.4445, -4.7750, 2.0315};
  double eps = 1e-7;    ///< the least norm that a gradient is divided by
  double ns_steps = 5;  ///< a whole number from 1 to 99
  MuonScale adjust_lr = MuonScale::original;
  bool bfloat16 = true;  ///< iterate in bfloat16, as PyTorch; otherwise in the parameter's dtype

  void list(detail::OptionList& f);
};

/// Momentum, orthogonalized by Newton and Schulz (Jordan 2024, "Muon"), as torch.optim.Muon, for the matrices of hidden
/// layers; give embeddings, heads, biases and norms to AdamW:
///
///     m = m + (1 - momentum) (g - m);  u = nesterov ? g + momentum (m - g) : m
///     X = u / max(|u|, eps), transposed if it has more rows than columns
///     ns_steps times: G = X Xᵀ, X = a X + (b G + c G G) X
///     p = p (1 - lr weight_decay) - lr scale X
///
/// In a captured step a change of options captures the step again.
class Muon : public ComposedOptimizer<MuonOptions> {
 public:
  /// Errors as for other optimizers; ShapeError for a parameter that is no matrix.
  explicit Muon(const std::vector<Tensor>& params, const MuonOptions& options = {},
                SourceLocation where = SourceLocation::current());

 private:
  void check_parameter(const Tensor& param, SourceLocation where) const override;
  unsigned states_of(std::size_t) const override { return 1; }
  void update(const Composed& update) override;
  bool can_be_captured() const override { return true; }
};

}  // namespace minnow::optim
