#include <minnow/training/metrics.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::metrics {
namespace {

using detail::BoundOperands, detail::message, detail::Operation;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor wide(const Tensor& x) { return x.detach().to(DType::float64); }

/// update() in a CapturedStep would count once what replays compute.
template <std::size_t N> void require_no_capture(const BoundOperands<N>& op, SourceLocation where) {
  if (detail::CaptureRules::current()) detail::forbid_in_capture(op.name(), where);
}

/// NaN without the sign of 0 / 0.
double ratio(double a, double b) { return b == 0 ? kNan : a / b; }
/// The first number of a state by the second one.
double ratio_of(const Tensor& state) {
  if (!state.defined()) return kNan;
  const std::vector<double> sums = state.to_vector<double>();
  return ratio(sums[0], sums[1]);
}

bool is_class_number(const Tensor& x) { return is_integral(x.dtype()) || x.dtype() == DType::bool_; }

struct Classes {
  Tensor found, wanted;  ///< int64; found is undefined for a top_k above 1
};
/// Class numbers, of scores that of the largest.
Classes classes_of(const BoundOperands<2>& op, std::int64_t top_k = 1) {
  const Tensor scores = op[0].detach(), &target = op[1];
  if (!is_class_number(target))
    throw DTypeError(
        message("the target must be class numbers", op,
                "convert them: .to(int64); for scores of two classes without a threshold there is BinaryScores"));
  const Tensor wanted = target.to(DType::int64);
  if (is_class_number(scores)) {
    if (top_k > 1)
      throw DTypeError(message(fmt::format("top_k = {} needs scores of all classes", top_k), op, "give the logits"));
    if (scores.shape() == target.shape()) return {scores.to(DType::int64), wanted};
    throw ShapeError(message("the shapes differ", op, "predicted class numbers have the target's shape"));
  }
  if (!scores.is_floating_point())
    throw DTypeError(message("the scores must be floating-point", op, "give the logits"));
  Shape rest;
  for (int d = 0; d < scores.dim(); ++d)
    if (d != 1) rest.push_back(scores.size(d));
  if (scores.dim() < 2 || !(rest == target.shape()) || scores.size(1) == 0)
    throw ShapeError(message("the shapes do not match", op,
                             "scores: [N, C, ...]  target: [N, ...]; one score for a sample: (scores > 0)"));
  if (scores.size(1) == 1)
    throw ShapeError(message("there is one score for a sample, and no class to choose", op,
                             "with a threshold: (scores.squeeze(1) > 0) are the predicted classes"));
  return {top_k == 1 ? argmax(scores, 1) : Tensor(), wanted};
}

/// a / b, 0 where b is.
Tensor quotient(const Tensor& a, const Tensor& b) {
  const Tensor none = b == 0;
  return where(none, 0.0, a / where(none, 1.0, b));
}

struct Sample {
  double score;
  bool positive;
};
/// The scores from the highest on.
std::vector<Sample> sorted_samples(const Tensor& state) {
  if (!state.defined()) return {};
  const std::vector<double> numbers = state.to_vector<double>();
  std::vector<Sample> samples(numbers.size() / 2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double score = numbers[2 * i], target = numbers[2 * i + 1];
    if (std::isnan(score)) throw ValueError(fmt::format("BinaryScores: score {} is NaN\nlook where it comes from", i));
    if (target != 0 && target != 1)
      throw ValueError(fmt::format("BinaryScores: target {} is {}\ntargets are 0 or 1", i, target));
    samples[i] = {score, target == 1};
  }
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.score > b.score; });
  return samples;
}
/// f(samples of class 1, of class 0) for each score, from the highest on.
template <class F> void for_each_score(const std::vector<Sample>& samples, const F& f) {
  for (std::size_t i = 0; i < samples.size();) {
    const double score = samples[i].score;
    double positive = 0, negative = 0;
    for (; i < samples.size() && samples[i].score == score; ++i) ++(samples[i].positive ? positive : negative);
    f(positive, negative);
  }
}

}  // namespace

void Metric::merge(const Tensor& state, SourceLocation where) {
  const NoGradGuard no_grad;
  if (!state.defined()) return;
  if (state.numel() != size_)
    throw ValueError(
        fmt::format("metrics: the state has {} numbers and not {}\ngive that of the same metric, with the same "
                    "options",
                    state.numel(), size_),
        where);
  const Tensor other = state.detach();
  state_ = state_.defined() ? state_ + other.to(state_.device()) : other.clone();
}

StateDict Metric::state_dict() const {
  const Tensor own = state();
  return {{"state", own.defined() ? own : zeros({0}, DType::float64)}};
}
void Metric::load_state_dict(const StateDict& values, SourceLocation where) {
  reset();
  if (values.at("state").numel() != 0) merge(values.at("state"), where);
}

void Mean::update(const In& values, double weight) {
  const NoGradGuard no_grad;
  const Operation op("metrics::Mean", values.where, {{"values", *values}});
  require_no_capture(op, values.where);
  if (weight == 0) return;
  const Tensor v = wide(op[0]);
  merge(stack({sum(v) * weight, full({}, weight * static_cast<double>(v.numel()), {DType::float64, v.device()})}));
}
void Mean::update(double value, double weight) {
  if (weight != 0) merge(tensor(std::vector<double>{value * weight, weight}, DType::float64));
}
double Mean::value() const { return ratio_of(state_); }

Accuracy::Accuracy(const AccuracyOptions& options, SourceLocation where) : Metric(2), options_(options) {
  if (options.top_k < 1)
    throw ValueError(fmt::format("metrics::Accuracy: top_k must be at least 1, got {}\n1 is usual", options.top_k),
                     where);
}
void Accuracy::update(const In& scores, const In& target) {
  const NoGradGuard no_grad;
  const Operation op("metrics::Accuracy", scores.where, {{"scores", *scores}, {"target", *target}});
  require_no_capture(op, scores.where);
  const auto [found, wanted] = classes_of(op, options_.top_k);
  if (!found.defined() && op[0].size(1) < options_.top_k)
    throw ValueError(message(fmt::format("there are fewer than {} classes", options_.top_k), op, "lower top_k"));
  const Tensor hits = found.defined()
                          ? found == wanted
                          : any(topk(op[0].detach(), options_.top_k, 1).indices == wanted.unsqueeze(1), {1});
  if (!options_.ignore_index)
    return merge(stack({sum(hits), full({}, wanted.numel(), {DType::int64, wanted.device()})}));
  const Tensor counts = wanted != *options_.ignore_index;
  merge(stack({sum(logical_and(hits, counts)), sum(counts)}));
}
double Accuracy::value() const { return ratio_of(state_); }

ConfusionMatrix::ConfusionMatrix(std::int64_t classes, const ConfusionMatrixOptions& options, SourceLocation where)
    : Metric(classes * classes + 1), classes_(classes), options_(options) {
  if (classes < 1 || classes > 32'768)
    throw ValueError(
        fmt::format("metrics::ConfusionMatrix: classes must be from 1 to 32,768, got {}\nAccuracy takes more", classes),
        where);
}
void ConfusionMatrix::update(const In& scores, const In& target) {
  const NoGradGuard no_grad;
  const Operation op("metrics::ConfusionMatrix", scores.where, {{"scores", *scores}, {"target", *target}});
  require_no_capture(op, scores.where);
  const auto [found, wanted] = classes_of(op);
  if (!is_class_number(op[0]) && op[0].size(1) != classes_)
    throw ShapeError(message(fmt::format("the scores are not of {} classes", classes_), op, "scores: [N, C, ...]"));
  const auto outside = [&](const Tensor& classes) { return logical_or(classes < 0, classes >= classes_); };
  Tensor strays = logical_or(outside(found), outside(wanted));
  Tensor weights = ones({}, {DType::int64, wanted.device()}).expand(wanted.shape());
  if (options_.ignore_index) {
    const Tensor counts = wanted != *options_.ignore_index;
    strays = logical_and(strays, counts), weights = counts.to(DType::int64);
  }
  // Strays are counted in a cell behind the others, since a look at them would wait; ignored ones add 0 somewhere.
  const std::int64_t cells = classes_ * classes_;
  const Tensor cell = clamp(where(strays, cells, wanted * classes_ + found), 0, static_cast<double>(cells));
  if (!state_.defined()) state_ = zeros({cells + 1}, {DType::int64, wanted.device()});
  state_ = state_.to(DType::int64);  // dist::joined() has made it float64
  state_.index_add_(0, cell.reshape({-1}), weights.reshape({-1}));
}
Tensor ConfusionMatrix::counts() const {
  if (!state_.defined()) return zeros({classes_, classes_}, DType::int64);
  const Tensor all = state_.cpu();
  const std::int64_t cells = classes_ * classes_, strays = all.narrow(0, cells, 1).item<std::int64_t>();
  if (strays != 0)
    throw IndexError(
        fmt::format("metrics::ConfusionMatrix: {} of the samples had a class number out of range\nclasses go "
                    "from 0 to {}; .ignore_index can leave one out",
                    strays, classes_ - 1));
  return all.narrow(0, 0, cells).reshape({classes_, classes_}).to(DType::int64).clone();
}

/// How many samples were taken rightly for each class, were taken for it, and are of it: float64 [classes].
struct ConfusionMatrix::Parts {
  Tensor hits, found, wanted;

  static Tensor precision(const Parts& p) { return quotient(p.hits, p.found); }
  static Tensor recall(const Parts& p) { return quotient(p.hits, p.wanted); }
  static Tensor f1(const Parts& p) { return quotient(p.hits * 2, p.found + p.wanted); }
  static Tensor iou(const Parts& p) { return quotient(p.hits, p.found + p.wanted - p.hits); }
};
ConfusionMatrix::Parts ConfusionMatrix::parts() const {
  const Tensor all = counts().to(DType::float64);
  return {diagonal(all), sum(all, 0), sum(all, 1)};
}
double ConfusionMatrix::averaged(Average average, Tensor (*of)(const Parts&)) const {
  const Parts p = parts();
  if (average == Average::micro) return of({sum(p.hits), sum(p.found), sum(p.wanted)}).item<double>();
  const Tensor values = of(p);
  const Tensor weights = average == Average::weighted ? p.wanted : ones_like(p.wanted);
  if (const auto ignored = options_.ignore_index; ignored && *ignored >= 0 && *ignored < classes_)
    weights.narrow(0, *ignored, 1).zero_();
  return quotient(sum(values * weights), sum(weights)).item<double>();
}
double ConfusionMatrix::accuracy() const {
  const Parts p = parts();
  return ratio(sum(p.hits).item<double>(), sum(p.wanted).item<double>());
}
Tensor ConfusionMatrix::precision() const { return Parts::precision(parts()); }
Tensor ConfusionMatrix::recall() const { return Parts::recall(parts()); }
Tensor ConfusionMatrix::f1() const { return Parts::f1(parts()); }
Tensor ConfusionMatrix::iou() const { return Parts::iou(parts()); }
double ConfusionMatrix::precision(Average average) const { return averaged(average, Parts::precision); }
double ConfusionMatrix::recall(Average average) const { return averaged(average, Parts::recall); }
double ConfusionMatrix::f1(Average average) const { return averaged(average, Parts::f1); }
double ConfusionMatrix::iou(Average average) const { return averaged(average, Parts::iou); }

void BinaryScores::update(const In& scores, const In& target) {
  const NoGradGuard no_grad;
  const Operation op("metrics::BinaryScores", scores.where, {{"scores", *scores}, {"target", *target}});
  require_no_capture(op, scores.where);
  if (!op[0].is_floating_point())
    throw DTypeError(message("the scores must be floating-point", op, "give logits or probabilities of class 1"));
  if (!(op[0].shape() == op[1].shape()))
    throw ShapeError(message("the shapes differ", op, "a score and a target for each sample"));
  merge(stack({wide(op[0]).reshape({-1}), wide(op[1]).reshape({-1})}, 1).reshape({-1}));
}
void BinaryScores::merge(const Tensor& state, SourceLocation where) {
  if (!state.defined() || state.numel() == 0) return;
  if (state.numel() % 2 != 0)
    throw ValueError(
        fmt::format("metrics::BinaryScores: the state has {} numbers, which are no pairs\ngive that of another "
                    "BinaryScores",
                    state.numel()),
        where);
  const Tensor other = state.detach();
  parts_.push_back(parts_.empty() ? other : other.to(parts_[0].device()));
}
Tensor BinaryScores::state() const { return parts_.empty() ? Tensor() : cat(parts_); }
double BinaryScores::roc_auc() const {
  double positives = 0, negatives = 0, below = 0;  // pairs whose sample of class 1 has the higher score
  for_each_score(sorted_samples(state()), [&](double positive, double negative) {
    below += negative * (positives + positive / 2);
    positives += positive, negatives += negative;
  });
  return ratio(below, positives * negatives);
}
double BinaryScores::average_precision() const {
  const std::vector<Sample> samples = sorted_samples(state());
  if (samples.empty()) return kNan;
  double hits = 0, taken = 0, area = 0;
  for_each_score(samples, [&](double positive, double negative) {
    hits += positive, taken += positive + negative;
    area += positive * (hits / taken);
  });
  return hits > 0 ? area / hits : 0;
}

namespace {

// The state of Regression: how many, the mean of the targets, Σ (target - mean)², Σ error², Σ |error|.
constexpr int kCount = 0, kMean = 1, kSquares = 2, kErrors = 3, kSizes = 4;
Tensor part(const Tensor& state, int i) { return state.select(0, i); }
double number(const Tensor& state, int i) { return part(state, i).item<double>(); }

}  // namespace

void Regression::update(const In& predicted, const In& target) {
  const NoGradGuard no_grad;
  const Operation op("metrics::Regression", predicted.where, {{"predicted", *predicted}, {"target", *target}});
  require_no_capture(op, predicted.where);
  if (!op[0].is_floating_point() || !op[1].is_floating_point())
    throw DTypeError(message("needs floating-point operands", op, "convert them: .to(float32)"));
  if (!(op[0].shape() == op[1].shape())) throw ShapeError(message("the shapes differ", op, "reshape one of them"));
  if (op[0].numel() == 0) return;
  const Tensor wanted = wide(op[1]), error = wide(op[0]) - wanted, center = mean(wanted);
  const Tensor count = full({}, error.numel(), {DType::float64, error.device()});
  merge(stack({count, center, sum(square(wanted - center)), sum(square(error)), sum(abs(error))}));
}
void Regression::merge(const Tensor& state, SourceLocation where) {
  const NoGradGuard no_grad;
  if (!state.defined() || !state_.defined() || state.numel() != state_.numel()) return Metric::merge(state, where);
  const Tensor other = state.to(state_.device()), sums = state_ + other;
  const Tensor apart = part(other, kMean) - part(state_, kMean), share = part(other, kCount) / part(sums, kCount);
  const Tensor squares = part(sums, kSquares) + square(apart) * part(state_, kCount) * share;
  state_ = stack(
      {part(sums, kCount), part(state_, kMean) + apart * share, squares, part(sums, kErrors), part(sums, kSizes)});
}
double Regression::mean_squared_error() const {
  return state_.defined() ? number(state_, kErrors) / number(state_, kCount) : kNan;
}
double Regression::mean_absolute_error() const {
  return state_.defined() ? number(state_, kSizes) / number(state_, kCount) : kNan;
}
double Regression::r2() const {
  if (!state_.defined() || number(state_, kCount) < 2) return kNan;
  const double squares = number(state_, kSquares), errors = number(state_, kErrors);
  // What rounding makes of equal targets.
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * number(state_, kMean);
  if (squares <= number(state_, kCount) * rounding * rounding) return errors == 0 ? 1 : 0;
  return 1 - errors / squares;
}

void Perplexity::update(const In& logits, const In& target) {
  const NoGradGuard no_grad;
  const Operation op("metrics::Perplexity", logits.where, {{"logits", *logits}, {"target", *target}});
  require_no_capture(op, logits.where);
  if (op[1].dtype() != DType::int64)
    throw DTypeError(message("the target must be class numbers, int64", op, "convert them: .to(int64)"));
  const Tensor scores = op[0].detach(),
               losses = nn::cross_entropy(is_half(scores.dtype()) ? scores.to(DType::float32) : scores, op[1],
                                          {.ignore_index = options_.ignore_index, .reduction = nn::Reduction::none});
  merge(stack({sum(wide(losses)), sum(op[1] != options_.ignore_index).to(DType::float64)}));
}
double Perplexity::value() const { return std::exp(ratio_of(state_)); }

}  // namespace minnow::metrics
