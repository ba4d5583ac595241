// The second tutorial: docs/tutorials/gradients.md.
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

int main() {
  manual_seed(1);
  section("slope");
  // [slope]
  Tensor x = tensor(3.0).requires_grad_();  // we want derivatives with respect to it
  Tensor y = x * x + 2 * x;                 // y = x² + 2x, so dy/dx = 2x + 2
  y.backward();                             // computes dy/dx ...
  std::cout << x.grad() << '\n';            // ... which is 8 at x = 3
  // [end]

  // [data]
  const Tensor area = rand({100});  // between 0 and 1
  const Tensor noise = randn({100});
  const Tensor price = 3 * area + 0.5 + 0.05 * noise;  // what we pretend not to know: 3 and 0.5
  // [end]

  section("descent");
  // [descent]
  Tensor slope = zeros({}).requires_grad_();
  Tensor offset = zeros({}).requires_grad_();
  for (int step = 0; step <= 200; ++step) {
    const Tensor prediction = slope * area + offset;
    const Tensor loss = (prediction - price).square().mean();  // how wrong we are: one number
    loss.backward();  // d loss / d slope, d loss / d offset
    {
      const NoGradGuard no_grad;    // the update is no part of the function
      slope -= 0.5 * slope.grad();  // a small step downhill
      offset -= 0.5 * offset.grad();
    }
    slope.set_grad({});  // gradients add up: start from 0 again
    offset.set_grad({});
    if (step % 50 == 0)
      std::printf("step %3d: loss %.4f, slope %.3f, offset %.3f\n", step, loss.item(), slope.item(),
                  offset.item());
  }
  // [end]

  section("optimizer");
  // [optimizer]
  nn::Linear line(1, 1);  // holds both numbers: weight and bias
  optim::SGD sgd(line.parameters(), {.lr = 0.5});
  for (int step = 0; step <= 200; ++step) {
    const Tensor loss = nn::mse_loss(line(area.unsqueeze(1)), price.unsqueeze(1));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  std::printf("slope %.3f, offset %.3f\n", line.weight.item(), line.bias.item());
  // [end]

  section("mistake");
  // [mistake]
  try {
    Tensor w = ones({2}).requires_grad_();
    const Tensor squares = w * w;
    squares.backward();  // of two numbers: which one shall fall?
  } catch (const Error& error) { std::cout << error.what() << '\n'; }
  // [end]
}
