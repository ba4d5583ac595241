// expect: ambiguous|deleted|no known conversion|no viable conversion
// messages: 6
// One operand is a tensor, the other one or a number: nothing that only converts to a bool.
#include <minnow/minnow.h>

enum Plain { kThree = 3 };

void operands(const minnow::Tensor& x, const minnow::TensorLike& kept) {
  using namespace minnow;
  (void)(2 + x * x - add(1, x) / add(x, 1.5F) + std::size_t{3});
  (void)pow(2, 3);                                  // numbers are the standard library's
  (void)add(1, 2);                                  // must not compile
  (void)maximum(1.5, true);                         // must not compile
  (void)(Scalar(1) + Scalar(2));                    // must not compile
  (void)(x + "1");                                  // must not compile
  (void)x.mul("1");                                 // must not compile
  (void)(x * kThree);                               // must not compile
  const auto late = [kept] { return kept.where; };  // must not compile
}
