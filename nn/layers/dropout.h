#pragma once

#include <minnow/nn/module/module.h>
#include <minnow/ops/random/dropout.h>

// Dropout itself is in nn/layers/basic.h.
namespace minnow::nn {

/// What the dropout layers of other kinds have in common: in eval mode y = x.
class DropoutLayer : public Module {
 public:
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 protected:
  using Function = Tensor (*)(const In& x, const DropoutOptions& options);
  /// ValueError unless p is in [0, 1].
  DropoutLayer(const char* name, Function function, double p, SourceLocation where);

 private:
  const char* name_;
  Function function_;
  double p_;
};

/// Zeroes whole channels: minnow::dropout1d.   x: [N, C, L].
struct Dropout1d : DropoutLayer {
  explicit Dropout1d(double p = 0.5, SourceLocation where = SourceLocation::current())
      : DropoutLayer("Dropout1d", dropout1d, p, where) {}
};
/// x: [N, C, H, W].
struct Dropout2d : DropoutLayer {
  explicit Dropout2d(double p = 0.5, SourceLocation where = SourceLocation::current())
      : DropoutLayer("Dropout2d", dropout2d, p, where) {}
};
/// x: [N, C, D, H, W].
struct Dropout3d : DropoutLayer {
  explicit Dropout3d(double p = 0.5, SourceLocation where = SourceLocation::current())
      : DropoutLayer("Dropout3d", dropout3d, p, where) {}
};
/// Keeps mean 0 and variance 1, for selu: minnow::alpha_dropout.   x: any shape.
struct AlphaDropout : DropoutLayer {
  explicit AlphaDropout(double p = 0.5, SourceLocation where = SourceLocation::current())
      : DropoutLayer("AlphaDropout", alpha_dropout, p, where) {}
};

}  // namespace minnow::nn
