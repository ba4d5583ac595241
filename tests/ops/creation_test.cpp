#include <minnow/nn/module/init.h>
#include <minnow/tensor/create.h>

#include "op_cases.h"

// Creation functions.  The input of a case has the dtype and device of the result.
namespace minnow::test {
namespace {

template <class F> OpCase creation(const char* function, const std::string& variant, F make) {
  OpCase c{.function = function, .variant = variant};
  c.call = one([make](const Tensors& like) {
    like[0].require_defined("case", SourceLocation::current());
    return make(TensorOptions{.dtype = like[0].dtype(), .device = like[0].device()});
  });
  c.inputs = {{values({})}};
  c.dtypes = all_dtypes();
  c.gradient = Gradient::kNone;
  c.golden = {"creation: " + variant};
  c.exact = false;
  return c;
}

using Options = TensorOptions;

OpCases values_that_are_told() {
  OpCases cases{creation("zeros", "zeros",
                         [](Options o) {
                           return zeros({2, 3}, o);
                         }),
                creation("ones", "ones",
                         [](Options o) {
                           return ones({2, 3}, o);
                         }),
                creation("ones", "ones/0",
                         [](Options o) {
                           return ones({0, 3}, o);
                         }),
                creation("full", "full",
                         [](Options o) {
                           return full({2, 3}, 1, o);
                         }),
                creation("full", "full/scalar", [](Options o) { return full({}, 1, o); }),
                creation("eye", "eye", [](Options o) { return eye(3, -1, o); }),
                creation("eye", "eye/2,3", [](Options o) { return eye(2, 3, o); }),
                creation("arange", "arange", [](Options o) { return arange(5, o); }),
                creation("arange", "arange/1,9,3", [](Options o) { return arange(1, 9, 3, o); }),
                creation("linspace", "linspace", [](Options o) { return linspace(-1, 2, 7, o); }),
                creation("linspace", "linspace/1", [](Options o) { return linspace(4, 9, 1, o); }),
                creation("tensor", "tensor", [](Options o) {
                  return tensor({{1, 0}, {0, 1}}, o);
                })};
  for (OpCase& c : cases) {
    if (c.function == "arange") c.dtypes = numbers(), c.takes_other_dtypes = true;
    if (c.function == "linspace") c.dtypes = floating_point_dtypes(), c.takes_other_dtypes = true;
  }
  return cases;
}

OpCases random_numbers() {
  OpCases cases{creation("rand", "rand",
                         [](Options o) {
                           return rand({7, 5}, {*o.dtype, o.device});
                         }),
                creation("randn", "randn",
                         [](Options o) {
                           return randn({7, 5}, {*o.dtype, o.device});
                         }),
                creation("normal", "normal", [](Options o) {
                  return normal(2, 0.5, {7, 5}, {*o.dtype, o.device});
                })};
  for (OpCase& c : cases) c.dtypes = floating_point_dtypes();
  const auto integers = [](Options o) { return RandomOptions{DType::int64, o.device}; };
  cases.push_back(creation("randint", "randint", [=](Options o) { return randint(-3, 9, {7, 5}, integers(o)); }));
  cases.push_back(creation("randperm", "randperm", [=](Options o) { return randperm(17, integers(o)); }));
  for (OpCase& c : cases) {
    c.golden = {};
    c.without_golden = "our random numbers are not PyTorch's; their distributions are checked in tests/tensor";
  }
  return cases;
}

template <class F> OpCase like(const char* function, F make) {
  OpCase c{.function = function, .call = one([make](const Tensors& x) { return make(x[0]); })};
  c.inputs = {{values({2, 3, 2})}, {values({0, 3})}, {values({})}};
  c.dtypes = all_dtypes();
  c.gradient = Gradient::kNone;
  return c;
}

OpCases like_others() {
  OpCases cases{like("zeros_like", [](const Tensor& x) { return zeros_like(x); }),
                like("ones_like", [](const Tensor& x) { return ones_like(x); }),
                like("full_like", [](const Tensor& x) { return full_like(x, 1); }),
                like("empty_like", [](const Tensor& x) { return empty_like(x).fill_(1); }),
                like("empty",
                     [](const Tensor& x) {
                       return empty(x.shape(), {x.dtype(), x.device()}).fill_(1);
                     }),
                like("empty_strided_like", [](const Tensor& x) {
                  return empty_strided_like(x.shape(), x.strides(), x.dtype(), x.device()).fill_(1);
                })};
  for (OpCase& c : cases) {
    const double value = c.function == "zeros_like" ? 0 : 1;
    c.same_as = one([value](const Tensors& x) { return full(x[0].shape(), value, {x[0].dtype(), x[0].device()}); });
  }
  for (OpCase random : {like("rand_like", [](const Tensor& x) { return rand_like(x); }),
                        like("randn_like", [](const Tensor& x) { return randn_like(x); })}) {
    random.dtypes = floating_point_dtypes();
    random.exact = false;
    random.without_golden = "our random numbers are not PyTorch's";
    cases.push_back(random);
  }
  return cases;
}

const Register kCreationTables[] = {Register(values_that_are_told), Register(random_numbers), Register(like_others)};

}  // namespace
}  // namespace minnow::test
