// Recipes of docs/cookbook/models.md.
#include <minnow/distributions/distributions.h>

#include "recipe.h"

using namespace minnow;

// # A layer of your own
// Parameters are members, registered under the name that files have. A buffer is saved, but not
// trained.
// [
struct Scale : nn::Module {
  explicit Scale(std::int64_t features) {
    weight = parameter("weight", ones({features}));
    mean = buffer("mean", zeros({features}));
  }
  nn::Parameter weight;
  nn::Buffer mean;

  Tensor forward(const Tensor& x) override { return (x - mean) * weight; }
};
// ]
const Recipe own_layer_recipe("custom layer", [] {
  Scale scale(3);
  scale(ones({2, 3})).sum().backward();
  expect(scale.parameters().size() == 1 && scale.state_dict().size() == 2 &&
         scale.weight.grad()[0].item() == 2);
});

// # A residual block
// Layers of layers, and a sum around them.
// [
struct Block : nn::Module {
  explicit Block(std::int64_t channels) : channels_(channels) {}

  Tensor forward(const Tensor& x) override { return relu(x + norm2(conv2(relu(norm1(conv1(x)))))); }

 private:
  std::int64_t channels_;
  nn::Conv2d conv1 =
      child("conv1", nn::Conv2d(channels_, channels_, 3, {.padding = 1, .bias = false}));
  nn::BatchNorm2d norm1 = child("norm1", nn::BatchNorm2d(channels_));
  nn::Conv2d conv2 =
      child("conv2", nn::Conv2d(channels_, channels_, 3, {.padding = 1, .bias = false}));
  nn::BatchNorm2d norm2 = child("norm2", nn::BatchNorm2d(channels_));
};
// ]
const Recipe residual_recipe("residual block", [] {
  nn::Sequential net(nn::Conv2d(3, 8, 3), Block(8), Block(8));
  expect(net(rand({2, 3, 8, 8})).shape() == Shape{2, 8, 6, 6} && net.parameters().size() == 14);
});

// # Layers in a vector
// As many as a number says, named "blocks.0", "blocks.1", ...
// [
struct Deep : nn::Module {
  explicit Deep(int count) {
    for (int i = 0; i < count; ++i) blocks.push_back(nn::Linear(4, 4));
  }
  nn::ModuleList blocks = child("blocks", nn::ModuleList());

  Tensor forward(const Tensor& input) override {
    Tensor x = input;
    for (const nn::Module& block : blocks) x = relu(block(x));
    return x;
  }
};
// ]
const Recipe deep_recipe("layers in a vector", [] {
  const Deep net(3);
  expect(net.parameters().size() == 6 && net.named_parameters()[2].name == "blocks.1.weight");
});

// # A model with several inputs and results
// Up to four tensors are `forward(const Tensor&, const Tensor&)`; for everything else the types
// stand in the base class.
// [
struct Gaussian : nn::ModuleOf<std::tuple<Tensor, Tensor>(Tensor, double)> {
  nn::Linear mean = child("mean", nn::Linear(4, 2)),
             deviation = child("deviation", nn::Linear(4, 2));

  std::tuple<Tensor, Tensor> forward(Tensor x, double scale) override {
    return {mean(x), scale * exp(deviation(x))};
  }
};
// ]
const Recipe pair_recipe("several inputs", [] {
  const Gaussian gaussian;
  // [
  const auto [mean, deviation] = gaussian(rand({3, 4}), 0.5);
  // ]
  expect(mean.shape() == deviation.shape() && (deviation > 0).all().item<bool>());
});

// # An operation of your own
// Compute without recording, then say what the gradient is. `Saved` keeps what the gradient needs,
// and notices if somebody overwrites it. The lambda uses functions that record, so that second
// derivatives work too.
// [
Tensor cube(const In& x) {
  Tensor y;
  {
    const NoGradGuard no_grad;
    y = *x * *x * *x;
  }
  return record("cube", y, {x}, [x = Saved(*x)](const Tensor& g) { return g * 3 * x() * x(); });
}
// ]
const Recipe own_operation_recipe("custom operation", [] {
  Tensor x = tensor({2.0, 3.0}).requires_grad_();
  cube(x).sum().backward();
  expect(allclose(x.grad(), tensor({12.0, 27.0})));
});

// # Check the gradients of your operation
// Against central differences, in float64. It throws, with both numbers, if they differ.
const Recipe check_recipe("gradcheck", [] {
  // [
  const Tensor x = randn({3}, {.dtype = float64}).requires_grad_();
  gradcheck([](const std::vector<Tensor>& inputs) { return cube(inputs[0]); }, {x});
  gradgradcheck([](const std::vector<Tensor>& inputs) { return cube(inputs[0]); }, {x});
  // ]
  bool found = false;
  try {
    const auto wrong = [](const std::vector<Tensor>& inputs) {
      return record("wrong", inputs[0].detach() * 2, {inputs[0]},
                    [](const Tensor& g) { return g * 3; });
    };
    gradcheck(wrong, {x});
  } catch (const AutogradError&) { found = true; }
  expect(found);
});

// # A loss of your own
// A function of tensors that gives one number. This one is the focal loss, for classes that are
// easy to tell apart.
// [
Tensor focal_loss(const Tensor& scores, const Tensor& labels, double gamma = 2) {
  const Tensor log_p = log_softmax(scores, 1).gather(1, labels.unsqueeze(1)).squeeze(1);
  return -(pow(1 - exp(log_p), gamma) * log_p).mean();
}
// ]
const Recipe own_loss_recipe("custom loss", [] {
  const Tensor scores = randn({4, 3}).requires_grad_(), labels = tensor({0, 1, 2, 1}).to(int64);
  focal_loss(scores, labels).backward();
  expect(std::abs(focal_loss(scores, labels, 0).item() - nn::cross_entropy(scores, labels).item()) <
         1e-5);
});

// # Initialize the weights
// `apply` visits all modules.
const Recipe init_recipe("initialize", [] {
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  // [
  net.apply([](nn::Module& module) {
    if (const auto* linear = dynamic_cast<const nn::Linear*>(&module)) {
      nn::init::kaiming_normal_(linear->weight);
      nn::init::zeros_(linear->bias);
    }
  });
  // ]
  expect(net.parameters()[1].abs().max().item() == 0 && net.parameters()[0].abs().max().item() > 0);
});

// # Another head for a network
// All handles of the layer become handles of the new one. Make the optimizer afterwards.
const Recipe head_recipe("replace a layer", [] {
  struct Net : nn::Module {
    nn::Linear body = child("body", nn::Linear(4, 8)), fc = child("fc", nn::Linear(8, 1000));
    Tensor forward(const Tensor& x) override { return fc(relu(body(x))); }
  } net;
  // [
  nn::replace(net.fc, nn::Linear(8, 4));
  // ]
  expect(net(ones({1, 4})).shape() == Shape{1, 4});
});

// # Tie embeddings
// One parameter with two names: it has one gradient and is saved once for each name.
// [
struct Language : nn::Module {
  nn::Embedding embedding = child("embedding", nn::Embedding(100, 16));
  nn::Linear decoder = child("decoder", nn::Linear(16, 100, {.bias = false}));

  Language() { decoder.weight = embedding.weight; }
  Tensor forward(const Tensor& tokens) override { return decoder(embedding(tokens)); }
};
// ]
const Recipe tied_recipe("tied embeddings", [] {
  const Language model;
  expect(model.parameters().size() == 1 &&
         model(tensor({1, 2}).to(int64)).shape() == Shape{2, 100});
});

// # Weights that were computed
// `functional_call` calls a module with other weights than its own, and gradients flow into them:
// here one step of MAML.
const Recipe functional_recipe("functional call", [] {
  nn::Linear net(2, 1);
  const Tensor x = rand({8, 2}), y = x.sum(1, true);
  // [
  std::vector<nn::NamedTensor> fast = net.named_parameters();
  std::vector<Tensor> weights;
  for (const auto& [name, weight] : fast) weights.push_back(weight);
  const Tensor inner = nn::mse_loss(nn::functional_call(net, fast, x), y);
  const std::vector<Tensor> slopes = grad({inner}, weights, {.create_graph = true});
  for (std::size_t i = 0; i < fast.size(); ++i) fast[i].tensor = weights[i] - 0.1 * slopes[i];
  nn::mse_loss(nn::functional_call(net, fast, x), y).backward();  // through the step above
  // ]
  expect(net.weight.grad().defined());
});

// # Second derivatives
// Of a network with respect to its input, inside of a loss: physics-informed networks, gradient
// penalties.
const Recipe second_recipe("second derivatives", [] {
  nn::Sequential net(nn::Linear(1, 16), nn::Tanh(), nn::Linear(16, 1));
  // [
  const Tensor x = rand({32, 1}).requires_grad_();
  const Tensor u = net(x);
  const Tensor du = grad(u.sum(), x, {.create_graph = true});
  const Tensor d2u = grad(du.sum(), x, {.create_graph = true});
  const Tensor loss = (d2u + u).square().mean();  // of the equation u'' = -u
  loss.backward();
  // ]
  expect(d2u.shape() == Shape{32, 1} && net.parameters()[0].grad().defined());
});

// # A Jacobian matrix
// All derivatives of a function of vectors; also `hessian`, and `jvp`, `vjp`, `hvp` for products
// with them.
const Recipe jacobian_of_recipe("jacobian", [] {
  // [
  const Tensor x = tensor({1.0, 2.0});
  const std::vector<Tensor> j = jacobian(
      [](const std::vector<Tensor>& in) {
        return stack({in[0][0] * in[0][1], in[0][0].square()});
      },
      {x});
  // ]
  expect(allclose(j[0], tensor({{2.0, 1.0}, {2.0, 0.0}})));
});

// # See what a layer computes
// A hook is removed when its handle goes; `handle.detach()` lets it stay.
const Recipe hook_recipe("hooks", [] {
  nn::Linear first(4, 8), second_layer(8, 2);
  nn::Sequential net(first, nn::ReLU(), second_layer);
  // [
  std::vector<Tensor> seen;
  const HookHandle handle = first.register_forward_hook(
      [&](nn::Module&, const Tensor&, const Tensor& output) { seen.push_back(output.detach()); });
  net(rand({3, 4}));
  // ]
  expect(seen.size() == 1 && seen[0].shape() == Shape{3, 8});
});

// # Grad-CAM
// Where a convolutional network looked: the last feature maps, weighted by the mean gradient of the
// score.
const Recipe cam_recipe("grad-cam", [] {
  nn::Sequential features(nn::Conv2d(1, 8, 3, {.padding = 1}), nn::ReLU()),
      head_net(nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(8, 10));
  const Tensor image = rand({1, 1, 16, 16});
  // [
  const Tensor maps = features(image);  // [1, 8, 16, 16]
  const Tensor scores = head_net(maps);
  const Tensor slope = grad(scores[0].max(), maps);  // of the winning class
  const Tensor weight = slope.mean({2, 3}, true);
  const Tensor heat = relu((weight * maps).sum(1));  // [1, 16, 16]
  // ]
  expect(heat.shape() == Shape{1, 16, 16} && (heat >= 0).all().item<bool>());
});

// # Sequences of different lengths in a recurrent layer
// Padded, with their lengths: what stands behind an end has no effect.
const Recipe lengths_recipe("variable lengths", [] {
  nn::LSTM lstm(4, 8, {.batch_first = true});
  // [
  const Tensor x =
      nn::pad_sequence({rand({5, 4}), rand({3, 4})}, {.batch_first = true});  // [2, 5, 4]
  const auto packed = nn::pack_padded_sequence(x, {5, 3}, {.batch_first = true});
  const auto [y, h, c] = lstm(packed);
  const Tensor last = h[0];  // [2, 8]: at the end of each sequence
  // ]
  const auto [alone, h1, c1] = lstm(x.narrow(0, 1, 1).narrow(1, 0, 3));
  expect(allclose(last[1], h1[0][0], 1e-4, 1e-6));
});

// # Masks of attention
// true where a position takes part (PyTorch's modules: where it does not).
const Recipe masks_recipe("masks", [] {
  nn::MultiheadAttention attention(16, 4, {.is_causal = true});  // each position looks back only
  const Tensor x = rand({2, 5, 16});
  // [
  const Tensor sizes = tensor({5, 3}).to(int64);
  const Tensor mask = arange(5).unsqueeze(0) < sizes.unsqueeze(1);          // bool [2, 5]
  const Tensor y = attention(x, x, x, mask(all, newaxis, newaxis));         // padding takes no part
  const Tensor mean = (y * mask.unsqueeze(2)).sum(1) / sizes.unsqueeze(1);  // of real positions
  // ]
  expect(mean.shape() == Shape{2, 16});
});

// # Beam search
// Keeps the `width` best beginnings, extends each by all tokens, and keeps the best again.
const Recipe beam_recipe("beam search", [] {
  nn::Embedding next_token(6, 6);  // scores of the next token after each token
  const auto scores_after = [&](const Tensor& tokens) { return next_token(tokens(all, -1)); };
  // [
  const NoGradGuard no_grad;
  constexpr std::int64_t width = 3, tokens = 6;
  Tensor beams = zeros({1, 1}, {.dtype = int64}), total = zeros({1, 1});  // begins with token 0
  for (int step = 0; step < 4; ++step) {
    const Tensor sums = total + log_softmax(scores_after(beams), 1);  // [beams, tokens]
    const auto [value, index] = topk(sums.flatten(), width);
    const Tensor from = floor_divide(index, tokens), token = remainder(index, tokens);
    beams = cat({beams.index_select(0, from), token.unsqueeze(1)}, 1);
    total = value.unsqueeze(1);
  }
  const Tensor best = beams[0];
  // ]
  expect(best.size(0) == 5 && beams.size(0) == 3 && total[0][0].item() >= total[2][0].item());
});

// # Less memory for more time
// Keeps no intermediate results of a block; backward computes them again.
const Recipe recompute_recipe("checkpoint", [] {
  nn::Sequential block_net(nn::Linear(8, 8), nn::ReLU(), nn::Linear(8, 8));
  const Tensor x = rand({4, 8}).requires_grad_();
  // [
  const Tensor y = checkpoint(block_net, x);
  y.sum().backward();
  // ]
  const Tensor slope = x.grad().clone();
  x.set_grad({});
  block_net(x).sum().backward();
  expect(equal(slope, x.grad()));
});

// # Keep a critic smooth
// Spectral norm divides a weight by its largest singular value.
const Recipe spectral_recipe("spectral norm", [] {
  // [
  nn::Sequential critic(nn::spectral_norm(nn::Linear(2, 32)), nn::LeakyReLU(0.2),
                        nn::spectral_norm(nn::Linear(32, 1)));
  // ]
  for (int i = 0; i < 30; ++i) (void)critic(rand({4, 2}));
  const Tensor x = rand({64, 2}), y = rand({64, 2});
  const Tensor slope = (critic(x) - critic(y)).abs().squeeze(1) / (x - y).square().sum(1).sqrt();
  expect(slope.max().item() < 1.05);
});

// # Sample actions of a policy
// With `#include <minnow/distributions/distributions.h>` and `minnow::distributions`.
const Recipe policy_recipe("policy", [] {
  nn::Linear net(4, 2);
  const Tensor state = rand({8, 4}), reward = rand({8});
  // [
  const distributions::Categorical choice({.logits = net(state)});
  const Tensor action = choice.sample();                           // int64 [8]
  const Tensor loss = -(choice.log_prob(action) * reward).mean();  // REINFORCE
  // ]
  loss.backward();
  expect(net.weight.grad().defined());
});
