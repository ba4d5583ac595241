#pragma once

#include <cstdint>
#include <string>
#include <minnow/llm/gguf.h>
#include <minnow/nn/module/module.h>
#include <minnow/tensor/in.h>

namespace minnow::llm {

/// While it lives, what this thread makes of Linear has weights without values: they are loaded next.
class Uninitialized {
 public:
  Uninitialized();
  ~Uninitialized();
  Uninitialized(const Uninitialized&) = delete;
  Uninitialized& operator=(const Uninitialized&) = delete;

  /// Whether one lives on this thread.
  static bool is_on();

 private:
  bool before_;
};

/// y = x Wᵀ + b, as nn::Linear, of a weight that is trained, or of a frozen one of few bits: blocks of a GgufType.
/// x: [..., in_features]  ->  [..., out_features], computed in float32 where there are blocks; but many rows of x are
/// rounded to bfloat16 for blocks of bf16, where the processor multiplies these faster.  A frozen weight gives x its
/// gradient, and needs the CPU.
class Linear : public nn::Module {
 public:
  /// ValueError unless in_features and out_features are positive.
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true,
         SourceLocation where = SourceLocation::current());
  /// blocks: uint8 [out_features, bytes of a row], as quantize() and GGUF files have them  bias: [out_features], or
  /// undefined.  The type is that of which a row has as many bytes.  ValueError if there is none; ShapeError,
  /// DTypeError.
  Linear(const In& blocks, std::int64_t in_features, const Tensor& bias = {});

  nn::Parameter weight, bias;  ///< weight: undefined if there are blocks
  nn::Buffer blocks;           ///< undefined if there is a weight

  std::int64_t in_features() const { return in_; }
  std::int64_t out_features() const { return out_; }
  Device device() const { return weight.defined() ? weight.device() : blocks.device(); }

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t in_, out_;
  GgufType type_ = GgufType::f32;
};

/// A matrix in blocks, rounded to the nearest number that they hold.   w: floating-point [O, I]  type: q8_0, q4_0, q4_1
/// or bf16  ->  uint8 [O, bytes of a row].  ValueError for another type and unless I is a multiple of 32 and all
/// numbers are finite; ShapeError, DTypeError.
Tensor quantize(const In& w, GgufType type);

/// Puts frozen weights of few bits in the place of those of every Linear of a network.  A weight that it shares with
/// another layer (an embedding) stays there.  ValueError as of quantize().
void quantize_(nn::Module& net, GgufType type, SourceLocation where = SourceLocation::current());

}  // namespace minnow::llm
