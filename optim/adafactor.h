#pragma once

#include <minnow/optim/composed_optimizer.h>

namespace minnow::optim {

struct AdafactorOptions {
  double lr = 1e-2;           ///< the largest relative step
  double beta2_decay = -0.8;  ///< at most 0: the mean of squares keeps 1 - step^beta2_decay
  double eps1 = 0;            ///< the least square root of a mean of squares; 0: the precision of the parameter's dtype
  double eps2 = 1e-3;         ///< the least size of a parameter that steps are relative to
  double d = 1;               ///< the largest root mean square of a step before it is scaled; at least 1
  double weight_decay = 0;    ///< decoupled
  bool maximize = false;

  void list(detail::OptionList& f);
};

/// Adafactor (Shazeer and Stern 2018), as torch.optim.Adafactor: the squares of the gradients of a matrix are kept as
/// means of its rows and columns, of a vector whole.
///
///     r, c = means of g² of rows and columns, v = r c / mean(r)
///     u = g / max(√v, eps1);  p = p (1 - lr weight_decay) - a u / max(1, rms(u) / d)
///     with a = max(eps2, rms(p)) min(lr, 1 / √step)
///
/// Steps do not wait for the device.  Not for captured steps (BackendError): each step has other numbers.
class Adafactor : public ComposedOptimizer<AdafactorOptions> {
 public:
  explicit Adafactor(const std::vector<Tensor>& params, const AdafactorOptions& options = {},
                     SourceLocation where = SourceLocation::current());

 private:
  unsigned states_of(std::size_t) const override { return 7; }
  unsigned states_of_parameter(std::size_t group, const Tensor& param) const override;
  Shape state_shape(const Tensor& param, std::size_t state) const override;
  void update(const Composed& update) override;
};

}  // namespace minnow::optim
