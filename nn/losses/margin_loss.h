#pragma once

#include <minnow/nn/losses/loss.h>

// Losses of scores, of pairs and of triplets, which are 0 once a margin is kept.  Unlike in PyTorch shapes are not
// broadcast (ShapeError), and a loss of integers is a DTypeError: x is floating-point, y may be of integers.
namespace minnow::nn {

/// log(1 + e^(-y x)), without overflow.   y: 1 or -1, of x's shape.
Tensor soft_margin_loss(const In& x, const In& y, LossOptions options = {});

struct HingeEmbeddingLossOptions {
  double margin = 1;
  Reduction reduction = Reduction::mean;
};
/// x where y is 1, max(0, margin - x) where y is -1.   x: distances  y: of x's shape.
Tensor hinge_embedding_loss(const In& x, const In& y, HingeEmbeddingLossOptions options = {});

struct MarginRankingLossOptions {
  double margin = 0;
  Reduction reduction = Reduction::mean;
};
/// max(0, -y (x1 - x2) + margin): x1 is to be above x2 where y is 1, below where it is -1.   All of one shape.
Tensor margin_ranking_loss(const In& x1, const In& x2, const In& y, MarginRankingLossOptions options = {});

struct CosineEmbeddingLossOptions {
  double margin = 0;  ///< in [-1, 1]
  Reduction reduction = Reduction::mean;
};
/// 1 - cos(x1, x2) where y is 1, max(0, cos(x1, x2) - margin) where it is -1.   x1, x2: [N, D] or [D]  y: [N] or [].
/// ValueError for a margin out of range.
Tensor cosine_embedding_loss(const In& x1, const In& x2, const In& y, CosineEmbeddingLossOptions options = {});

struct TripletMarginLossOptions {
  double margin = 1;  ///< positive
  double p = 2;       ///< the norm's
  double eps = 1e-6;  ///< added to the differences: the norm has a gradient where they are 0
  bool swap = false;  ///< take the distance of positive and negative where it is smaller (Balntas et al. 2016)
  Reduction reduction = Reduction::mean;
};
/// max(0, |anchor - positive| - |anchor - negative| + margin) (Schroff et al. 2015), norms of the last dimension.
/// All of one shape, [N, D] or [D]  ->  [N] or [].
Tensor triplet_margin_loss(const In& anchor, const In& positive, const In& negative,
                           TripletMarginLossOptions options = {});

/// Σ over the targets j and the other classes i of max(0, 1 - (x[j] - x[i])) / C.   x: [N, C] or [C]
/// target: int64, of x's shape: the classes, up to the first -1  ->  [N] or [].  Takes C² elements for each row.
/// IndexError for a class out of range, DTypeError unless target is int64.
Tensor multilabel_margin_loss(const In& x, const In& target, LossOptions options = {});

struct MultiLabelSoftMarginLossOptions {
  Tensor weight{};  ///< [C], of each class
  Reduction reduction = Reduction::mean;
};
/// The mean over the classes of -w (y log s(x) + (1 - y) log(1 - s(x))), s: sigmoid.   x, y: [..., C]  ->  [...].
Tensor multilabel_soft_margin_loss(const In& x, const In& y, const MultiLabelSoftMarginLossOptions& options = {});

struct MultiMarginLossOptions {
  int p = 1;  ///< 1 or 2
  double margin = 1;
  Tensor weight{};  ///< [C], of each class
  Reduction reduction = Reduction::mean;
};
/// Σ over the classes i other than t of w[t] max(0, margin - x[t] + x[i])^p / C.   x: [N, C] or [C]
/// target: int64 [N] or []  ->  [N] or [].  IndexError for a class out of range, DTypeError unless target is int64.
Tensor multi_margin_loss(const In& x, const In& target, const MultiMarginLossOptions& options = {});

}  // namespace minnow::nn
