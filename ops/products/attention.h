#pragma once

#include <optional>
#include <minnow/tensor/in.h>

namespace minnow {

struct AttentionOptions {
  double dropout_p = 0;              ///< probability that a weight becomes 0; give 0 in evaluation
  bool is_causal = false;            ///< position i of the query takes positions 0 to i of the key
  std::optional<double> scale = {};  ///< of the products; 1 / √E if none is given
  bool enable_gqa = false;           ///< several heads of the query share one of key and value
};

/// Attention (Vaswani et al. 2017, "Attention Is All You Need"), as torch.nn.functional.scaled_dot_product_attention:
/// softmax(query keyᵀ scale + mask) value.
/// query: floating-point [..., H, L, E]  key: [..., H, S, E]  value: [..., H, S, V]  ->  [..., H, L, V], one dtype;
/// leading dimensions are broadcast.
/// attn_mask: undefined, or broadcast with [..., H, L, S]: bool, true where a position takes part, or of the dtype and
/// added.  A row of which no position takes part gives zeros.  With enable_gqa key and value have fewer heads, which
/// divide H. Long sequences are computed in blocks, forward (Rabe and Staats 2021, "Self-attention Does Not Need O(n²)
/// Memory") and backward, so that memory grows linearly with L and S; not with dropout, a mask that needs a gradient,
/// or for second derivatives.  Gradients of any order for query, key, value and an added mask.
/// ShapeError for sizes that do not match, DTypeError for other or different dtypes, ValueError for a dropout_p out of
/// [0, 1], and for is_causal beside a mask.
[[nodiscard]] Tensor scaled_dot_product_attention(const In& query, const In& key, const In& value,
                                                  const Tensor& attn_mask = {}, const AttentionOptions& options = {});

}  // namespace minnow
