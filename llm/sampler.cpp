#include <minnow/llm/sampler.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <minnow/tensor/error.h>

namespace minnow::llm {

Sampler::Sampler(const SamplerOptions& o, SourceLocation where) : options_(o), random_(o.seed) {
  const auto probability = [](double p) { return p >= 0 && p <= 1; };
  if (!(o.temperature >= 0) || o.top_k < 0 || !probability(o.top_p) || !probability(o.min_p) ||
      !(o.repetition_penalty > 0))
    throw ValueError(fmt::format("Sampler: temperature {}, top_k {}, top_p {}, min_p {}, repetition_penalty {}\nthe "
                                 "first two are 0 or more, the probabilities in [0, 1], the penalty is positive",
                                 o.temperature, o.top_k, o.top_p, o.min_p, o.repetition_penalty),
                     where);
}

std::int64_t Sampler::next(std::span<const float> logits, std::span<const std::int64_t> seen, SourceLocation where) {
  const auto count = static_cast<std::int64_t>(logits.size());
  logits_.assign(logits.begin(), logits.end());
  if (options_.repetition_penalty != 1) {
    const auto penalty = static_cast<float>(options_.repetition_penalty);
    for (const std::int64_t token : seen) {
      if (token < 0 || token >= count)
        throw ValueError(fmt::format("Sampler::next: token {} is not one of the {} of the logits", token, count),
                         where);
      const float given = logits[static_cast<std::size_t>(token)];  // once, however often it was seen
      logits_[static_cast<std::size_t>(token)] = given > 0 ? given / penalty : given * penalty;
    }
  }
  const auto best = std::max_element(logits_.begin(), logits_.end());
  if (best == logits_.end() || !std::isfinite(*best) ||
      std::any_of(logits_.begin(), logits_.end(), [](float v) { return std::isnan(v); }))
    throw ValueError("Sampler::next: there is no finite largest logit\nthe model's results are NaN or infinite", where);
  if (options_.temperature == 0 || options_.top_k == 1) return best - logits_.begin();

  const double highest = static_cast<double>(*best);
  candidates_.clear();
  for (std::int64_t token = 0; token < count; ++token) {
    const auto logit = static_cast<double>(logits_[static_cast<std::size_t>(token)]);
    candidates_.emplace_back(std::exp((logit - highest) / options_.temperature), token);
  }
  const auto keep = [&](std::size_t n) { candidates_.resize(std::max<std::size_t>(1, n)); };
  const bool is_limited = options_.top_k > 0 && options_.top_k < count;
  if (is_limited) {
    const auto end = candidates_.begin() + options_.top_k;
    std::nth_element(candidates_.begin(), end - 1, candidates_.end(), std::greater<>());
    keep(static_cast<std::size_t>(options_.top_k));
  }
  const auto total = [&] {
    double sum = 0;
    for (const auto& [p, token] : candidates_) sum += p;
    return sum;
  };
  if (options_.top_p < 1) {
    std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
    const double enough = options_.top_p * total();
    double sum = 0;
    std::size_t n = 0;
    while (n < candidates_.size() && sum < enough) sum += candidates_[n++].first;
    keep(n);
  }
  if (options_.min_p > 0)  // the largest is 1
    std::erase_if(candidates_, [&](const auto& c) { return c.first < options_.min_p; });
  double left = static_cast<double>(random_() >> 11) * 0x1p-53 * total();
  for (const auto& [p, token] : candidates_)
    if ((left -= p) < 0) return token;
  return std::max_element(candidates_.begin(), candidates_.end())->second;  // what rounding leaves
}

}  // namespace minnow::llm
