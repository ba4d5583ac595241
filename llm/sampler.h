#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow::llm {

struct SamplerOptions {
  double temperature = 0;         ///< logits are divided by it; 0: the most probable token
  std::int64_t top_k = 0;         ///< the k most probable tokens alone; 0: all
  double top_p = 1;               ///< the most probable ones that together have this probability (Holtzman et al. 2020)
  double min_p = 0;               ///< those of at least this part of the highest probability (Nguyen et al. 2024)
  double repetition_penalty = 1;  ///< of tokens that were seen: logits above 0 are divided by it, others multiplied
  std::uint64_t seed = 0;
};

/// Draws tokens from logits, by the rules of Hugging Face's generate() and in their order: repetition_penalty,
/// temperature, top_k, top_p, min_p.  The same seed gives the same tokens.
class Sampler {
 public:
  /// ValueError for a temperature below 0, top_k below 0, probabilities out of [0, 1], or a penalty that is not
  /// positive.
  explicit Sampler(const SamplerOptions& options = {}, SourceLocation where = SourceLocation::current());

  /// The next token.  logits: of each token; seen: the tokens so far.  ValueError without a finite logit, and for a
  /// seen token that has no logit.
  std::int64_t next(std::span<const float> logits, std::span<const std::int64_t> seen,
                    SourceLocation where = SourceLocation::current());

 private:
  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<float> logits_;
  std::vector<std::pair<double, std::int64_t>> candidates_;  // probabilities and tokens
};

}  // namespace minnow::llm
