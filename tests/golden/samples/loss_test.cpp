#include "devices.h"
#include "samples.h"

namespace minnow::test {
namespace {

using X = SampleArguments;

template <class F> SampleCall lost_by(F f) {
  return [f](const X& x) { return std::vector<Tensor>{f(x)}; };
}
nn::Reduction reduction_of(const X& x) {
  (void)x.has(100, "size_average");
  const std::string name = x.text(100, "reduction", "mean");
  if (name == "none") return nn::Reduction::none;
  if (name == "sum") return nn::Reduction::sum;
  return name == "batchmean" ? nn::Reduction::batchmean : nn::Reduction::mean;
}
template <class F> SampleCall plain_by(F f) {
  return lost_by([f](const X& x) { return f(x.tensor(0), x.tensor(1, "target"), nn::LossOptions{reduction_of(x)}); });
}

const SampleCalls kLoss = {
    {"nn.functional.mse_loss", plain_by(nn::mse_loss)},
    {"nn.functional.l1_loss", plain_by(nn::l1_loss)},
    {"nn.functional.soft_margin_loss", plain_by(nn::soft_margin_loss)},
    {"nn.functional.multilabel_margin_loss", plain_by(nn::multilabel_margin_loss)},
    {"nn.functional.binary_cross_entropy", lost_by([](const X& x) {
       return nn::binary_cross_entropy(x.tensor(0), x.tensor(1),
                                       {.weight = x.tensor(2, "weight"), .reduction = reduction_of(x)});
     })},
    {"nn.functional.binary_cross_entropy_with_logits", lost_by([](const X& x) {
       return nn::binary_cross_entropy_with_logits(
           x.tensor(0), x.tensor(1),
           {.weight = x.tensor(2, "weight"), .pos_weight = x.tensor(100, "pos_weight"), .reduction = reduction_of(x)});
     })},
    {"nn.functional.cross_entropy", lost_by([](const X& x) {
       return nn::cross_entropy(x.tensor(0), x.tensor(1, "target"),
                                {.weight = x.tensor(100, "weight"),
                                 .ignore_index = x.integer(100, "ignore_index", -100),
                                 .label_smoothing = x.number(100, "label_smoothing", 0),
                                 .reduction = reduction_of(x)});
     })},
    {"nn.functional.nll_loss", lost_by([](const X& x) {
       return nn::nll_loss(x.tensor(0), x.tensor(1, "target"),
                           {.weight = x.tensor(100, "weight"),
                            .ignore_index = x.integer(100, "ignore_index", -100),
                            .reduction = reduction_of(x)});
     })},
    {"nn.functional.smooth_l1_loss", lost_by([](const X& x) {
       return nn::smooth_l1_loss(x.tensor(0), x.tensor(1),
                                 {.beta = x.number(100, "beta", 1), .reduction = reduction_of(x)});
     })},
    {"nn.functional.huber_loss", lost_by([](const X& x) {
       return nn::huber_loss(x.tensor(0), x.tensor(1),
                             {.delta = x.number(100, "delta", 1), .reduction = reduction_of(x)});
     })},
    {"nn.functional.kl_div", lost_by([](const X& x) {
       return nn::kl_div(x.tensor(0), x.tensor(1),
                         {.reduction = reduction_of(x), .log_target = x.flag(100, "log_target", false)});
     })},
    {"nn.functional.gaussian_nll_loss", lost_by([](const X& x) {
       return nn::gaussian_nll_loss(
           x.tensor(0), x.tensor(1), x.tensor(2),
           {.full = x.flag(100, "full", false), .eps = x.number(100, "eps", 1e-6), .reduction = reduction_of(x)});
     })},
    {"nn.functional.poisson_nll_loss", lost_by([](const X& x) {
       return nn::poisson_nll_loss(x.tensor(0), x.tensor(1),
                                   {.log_input = x.flag(100, "log_input", true),
                                    .full = x.flag(100, "full", false),
                                    .eps = x.number(100, "eps", 1e-8),
                                    .reduction = reduction_of(x)});
     })},
    {"nn.functional.hinge_embedding_loss", lost_by([](const X& x) {
       return nn::hinge_embedding_loss(x.tensor(0), x.tensor(1),
                                       {.margin = x.number(100, "margin", 1), .reduction = reduction_of(x)});
     })},
    {"nn.functional.margin_ranking_loss", lost_by([](const X& x) {
       return nn::margin_ranking_loss(x.tensor(0), x.tensor(1), x.tensor(2),
                                      {.margin = x.number(100, "margin", 0), .reduction = reduction_of(x)});
     })},
    {"nn.functional.cosine_embedding_loss", lost_by([](const X& x) {
       return nn::cosine_embedding_loss(x.tensor(0), x.tensor(1), x.tensor(2),
                                        {.margin = x.number(100, "margin", 0), .reduction = reduction_of(x)});
     })},
    {"nn.functional.triplet_margin_loss", lost_by([](const X& x) {
       return nn::triplet_margin_loss(x.tensor(0), x.tensor(1), x.tensor(2),
                                      {.margin = x.number(100, "margin", 1),
                                       .p = x.number(100, "p", 2),
                                       .eps = x.number(100, "eps", 1e-6),
                                       .swap = x.flag(100, "swap", false),
                                       .reduction = reduction_of(x)});
     })},
    {"nn.functional.multilabel_soft_margin_loss", lost_by([](const X& x) {
       return nn::multilabel_soft_margin_loss(x.tensor(0), x.tensor(1),
                                              {.weight = x.tensor(100, "weight"), .reduction = reduction_of(x)});
     })},
    {"nn.functional.multi_margin_loss", lost_by([](const X& x) {
       return nn::multi_margin_loss(x.tensor(0), x.tensor(1),
                                    {.p = static_cast<int>(x.integer(100, "p", 1)),
                                     .margin = x.number(100, "margin", 1),
                                     .weight = x.tensor(100, "weight"),
                                     .reduction = reduction_of(x)});
     })},
    {"nn.functional.ctc_loss", lost_by([](const X& x) {
       const auto lengths = [&](std::size_t at, const char* name) {
         if (x.value(at, name).kind == SampleValue::Kind::kTensor) return x.tensor(at, name);
         return tensor(x.integers(at, name), {.device = x.tensor(0).device()});
       };
       return nn::ctc_loss(x.tensor(0), x.tensor(1), lengths(2, "input_lengths"), lengths(3, "target_lengths"),
                           {.blank = x.integer(4, "blank", 0),
                            .zero_infinity = x.flag(6, "zero_infinity", false),
                            .reduction = reduction_of(x)});
     })},
};

class LossSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, LossSamples, all_devices(), device_test_name);

TEST_P(LossSamples, OfPyTorch) {
  expect_samples("loss", kLoss,
                 {{"", "'abc'", "a reduction is an enumerator"},
                  {"nn.functional.", "neither operand is floating-point", "a loss of integers is refused"},
                  {"nn.functional.", "the shapes differ", "losses do not broadcast"},
                  {"nn.functional.soft_margin_loss", " e *", "PyTorch's e^x overflows a half"},
                  {"nn.functional.multi", "with at least one class", "a number has no classes"},
                  {"nn.functional.multi", "x must be", "a number has no classes"},
                  {"nn.functional.multilabel_soft_margin_loss", "for each class", "a weight is of a class"}},
                 device());
}
TEST_P(LossSamples, MisusedNumbers) { misuse_samples("loss", kLoss, device()); }

// Products and linear algebra.

SampleCall product_by(Tensor (*f)(const In&, const In&)) {
  return [f](const X& x) { return std::vector{f(x.tensor(0), x.tensor(1, "other"))}; };
}
/// input, a, b, beta, alpha.
template <class F> SampleCall added_by(F f, bool composed = false) {
  return lost_by([f, composed](const X& x) {
    const bool fraction = x.scalar(100, "beta", 1).dtype() == float32;
    if (composed && !x.tensor(0).is_floating_point() && (fraction || x.tensor(0).dtype() == bool_)) throw NoForm();
    return f(x.tensor(0), x.tensor(1), x.tensor(2), x.scalar(100, "beta", 1), x.scalar(100, "alpha", 1));
  });
}
Tensor symmetric(const Tensor& a) { return (a + a.mT()) / 2; }
std::optional<int> unlisted(const X& x) { return x.has(2, "dim") ? std::optional(x.dim(2, "dim", -1)) : std::nullopt; }

const SampleCalls kProduct = {
    {"matmul", product_by(matmul)},
    {"__rmatmul__", lost_by([](const X& x) { return matmul(x.tensor(1), x.tensor(0)); })},
    {"mm", product_by(mm)},
    {"bmm", product_by(bmm)},
    {"mv", product_by(mv)},
    {"dot", product_by(dot)},
    {"vdot", product_by(dot)},
    {"outer", product_by(outer)},
    {"inner", lost_by([](const X& x) {
       const Tensor a = x.tensor(0), b = x.tensor(1);
       return a.dim() == 0 || b.dim() == 0 ? a * b : tensordot(a, b, -1, -1);
     })},
    {"tensordot", lost_by([](const X& x) {
       const SampleValue& dims = x.value(2, "dims");
       if (dims.kind != SampleValue::Kind::kList) return tensordot(x.tensor(0), x.tensor(1), x.dim(2, "dims", 2));
       const auto list = [&](std::size_t i) {
         std::vector<std::int64_t> numbers;
         for (const SampleValue& item : dims.items.at(i).items)
           numbers.push_back(static_cast<std::int64_t>(item.number));
         return Dims(numbers);
       };
       return tensordot(x.tensor(0), x.tensor(1), list(0), list(1));
     })},
    {"kron", product_by(kron)},
    {"cross", lost_by([](const X& x) {
       const std::optional<int> dim = unlisted(x);
       if (!dim && x.tensor(0).size(-1) != 3) throw NoForm();  // PyTorch takes the first dimension of size 3
       return cross(x.tensor(0), x.tensor(1), dim.value_or(-1));
     })},
    {"linalg.cross", lost_by([](const X& x) { return cross(x.tensor(0), x.tensor(1), x.dim(2, "dim", -1)); })},
    {"addmm", added_by(addmm)},
    {"addmm/decomposed", added_by(addmm)},
    {"baddbmm", added_by(baddbmm)},
    {"addmv", added_by([](const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta,
                          Scalar alpha) { return mul(c, beta) + mul(mv(a, b), alpha); },
                       true)},
    {"addr", added_by([](const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta,
                         Scalar alpha) { return mul(c, beta) + mul(outer(a, b), alpha); },
                      true)},
    {"addbmm", added_by([](const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta,
                           Scalar alpha) { return mul(c, beta) + mul(sum(bmm(a, b), 0).to(a.dtype()), alpha); },
                        true)},
    {"einsum", lost_by([](const X& x) {
       std::vector<Tensor> operands;
       for (const SampleValue& v : x.value(0).items) operands.push_back(v.tensor);
       return einsum(x.text(1, "equation", ""), operands);
     })},
    {"linalg.multi_dot", lost_by([](const X& x) {
       const std::vector<Tensor> parts = x.tensors(0);
       Tensor y = parts.at(0);
       for (std::size_t i = 1; i < parts.size(); ++i) y = matmul(y, parts[i]);
       return y;
     })},
    {"linalg.vecdot", lost_by([](const X& x) { return sum(x.tensor(0) * x.tensor(1), x.dim(2, "dim", -1)); })},
    {"nn.functional.linear",
     lost_by([](const X& x) { return linear(x.tensor(0), x.tensor(1, "weight"), x.tensor(2, "bias")); })},
    {"nn.functional.bilinear", lost_by([](const X& x) {
       const Tensor y = einsum("...i,oij,...j->...o", {x.tensor(0), x.tensor(2), x.tensor(1)});
       return x.has(3, "bias") ? y + x.tensor(3, "bias") : y;
     })},
    {"nn.functional.scaled_dot_product_attention", lost_by([](const X& x) {
       if (x.number(4, "dropout_p", 0) > 0) throw NoForm();
       AttentionOptions options;
       options.is_causal = x.flag(5, "is_causal", false);
       if (x.has(6, "scale")) options.scale = x.number(6, "scale", 1);
       options.enable_gqa = x.flag(7, "enable_gqa", false);
       return scaled_dot_product_attention(x.tensor(0), x.tensor(1), x.tensor(2), x.tensor(3, "attn_mask"), options);
     })},
    {"linalg.cholesky",
     lost_by([](const X& x) { return linalg::cholesky(symmetric(x.tensor(0)), x.flag(1, "upper", false)); })},
    {"linalg.solve", lost_by([](const X& x) {
       if (!x.flag(100, "left", true)) throw NoForm();
       return linalg::solve(x.tensor(0), x.tensor(1));
     })},
    {"linalg.solve_triangular", lost_by([](const X& x) {
       if (!x.flag(100, "left", true) || x.flag(100, "unitriangular", false)) throw NoForm();
       return linalg::solve_triangular(x.tensor(0), x.tensor(1), x.flag(100, "upper", true));
     })},
    {"linalg.inv", lost_by([](const X& x) { return linalg::inv(x.tensor(0)); })},
    {"linalg.pinv", lost_by([](const X& x) {
       const SampleValue& rtol = x.value(1, "rtol");
       if (rtol.kind == SampleValue::Kind::kTensor) throw NoForm();
       linalg::PinvOptions options{.hermitian = x.flag(100, "hermitian", false)};
       if (x.has(1, "rtol")) options.rtol = x.number(1, "rtol", 0);
       if (x.has(100, "atol")) options.atol = x.number(100, "atol", 0);
       return linalg::pinv(x.tensor(0), options);
     })},
    {"linalg.det", lost_by([](const X& x) { return linalg::det(x.tensor(0)); })},
    {"linalg.slogdet",
     [](const X& x) {
       const linalg::SlogDet y = linalg::slogdet(x.tensor(0));
       return std::vector{y.sign, y.logabsdet};
     }},
    {"linalg.qr", lost_by([](const X& x) { return abs(linalg::qr(x.tensor(0)).r); })},
    {"linalg.eigh", lost_by([](const X& x) {
       (void)x.has(100, "UPLO");
       return linalg::eigh(symmetric(x.tensor(0))).values;
     })},
    {"linalg.eigvalsh", lost_by([](const X& x) {
       (void)x.has(100, "UPLO");
       return linalg::eigvalsh(symmetric(x.tensor(0)));
     })},
    {"linalg.svd", lost_by([](const X& x) { return linalg::svd(x.tensor(0), x.flag(100, "full_matrices", true)).s; })},
    {"linalg.svdvals", lost_by([](const X& x) { return linalg::svdvals(x.tensor(0)); })},
    {"linalg.lstsq", lost_by([](const X& x) {
       (void)x.has(100, "driver");
       return linalg::lstsq(x.tensor(0), x.tensor(1));
     })},
    {"linalg.matrix_power",
     lost_by([](const X& x) { return linalg::matrix_power(x.tensor(0), x.integer(1, "n", 1)); })},
};

class ProductSamples : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ProductSamples, all_devices(), device_test_name);

TEST_P(ProductSamples, OfPyTorch) {
  expect_samples("product", kProduct,
                 {{"linalg.", "DeviceError", "LAPACK computes on the host"},
                  {"tensordot", "differ in size", "a dimension of 1 is not summed with one of 2"},
                  {"linalg.cross", "accepted", "operands broadcast"},
                  {"baddbmm", "must be integers", "PyTorch cuts 0.2 to 0"},
                  {"linalg.matrix_power", "no result has a gradient", "the power 0 is a constant"}},
                 device());
}
TEST_P(ProductSamples, MisusedNumbers) { misuse_samples("product", kProduct, device()); }

}  // namespace
}  // namespace minnow::test
