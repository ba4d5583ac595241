// Recipes of docs/cookbook/training.md.
#include "recipe.h"

using namespace minnow;

namespace {

nn::Sequential small_net() {
  return nn::Sequential(nn::Linear(2, 16), nn::ReLU(), nn::Linear(16, 2));
}

/// The net learns points for some steps; the loss of the last one.
double learn(nn::Sequential& net, optim::Optimizer& optimizer, const Points& points,
             int steps = 100) {
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    const Tensor loss = nn::cross_entropy(net(points.x), points.y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    last = loss.item();
  }
  return last;
}

}  // namespace

// # Freeze a backbone
// Frozen parameters get no gradient, and optimizers skip them. BatchNorm's statistics are frozen by
// `eval()`, which `net.train()` undoes: call it after that.
const Recipe freeze_recipe("freeze", [] {
  nn::Sequential backbone(nn::Linear(2, 8), nn::BatchNorm1d(8), nn::ReLU());
  nn::Linear head(8, 2);
  const StateDict before = backbone.state_dict().clone();
  const Points points(64);
  // [
  backbone.requires_grad_(false);
  backbone.eval();
  optim::Adam adam(head.parameters(), {.lr = 1e-2});

  const Tensor loss = nn::cross_entropy(head(backbone(points.x)), points.y);
  loss.backward();
  adam.step();
  // ]
  for (const auto& [name, tensor] : backbone.state_dict()) expect(equal(tensor, before.at(name)));
  expect(!backbone.parameters()[0].grad().defined() && head.weight.grad().defined());
});

// # Two learning rates
// Each group of parameters has options of its own; what is not given is that of the first group.
const Recipe two_rates_recipe("two learning rates", [] {
  nn::Sequential body = small_net();
  nn::Linear head(2, 2);
  // [
  optim::Adam adam(body.parameters(), {.lr = 1e-4});
  adam.add_param_group(head.parameters(), {.lr = 1e-2});

  adam.set_lr(1, 5e-3);  // of group 1, later
  // ]
  expect(adam.lr(0) == 1e-4 && adam.lr(1) == 5e-3 && adam.num_param_groups() == 2);
});

// # Clip gradients
// Between `backward()` and `step()`. The result is the norm before, a tensor: `item()` of it would
// wait for the device.
const Recipe clip_recipe("clip", [] {
  nn::Sequential net = small_net();
  optim::SGD sgd(net.parameters(), {.lr = 1});
  const Tensor loss = 1e4 * net(ones({1, 2})).square().sum();
  // [
  loss.backward();
  const Tensor norm = optim::clip_grad_norm_(net.parameters(), 1.0);
  sgd.step();
  // ]
  Tensor squares = zeros({});
  for (const Tensor& p : net.parameters()) squares += p.grad().square().sum();
  expect(norm.item() > 1 && std::abs(squares.item() - 1) < 1e-3);
});

// # Weight decay for some parameters only
// Offsets and the scales of norms are usually left out. They have one dimension.
const Recipe decay_recipe("weight decay groups", [] {
  nn::Sequential net(nn::Linear(4, 8), nn::LayerNorm(8), nn::Linear(8, 2));
  // [
  std::vector<Tensor> with, without;
  for (const Tensor& p : net.parameters()) (p.dim() > 1 ? with : without).push_back(p);
  optim::AdamW adam(with, {.lr = 1e-3, .weight_decay = 0.1});
  adam.add_param_group(without, {.lr = 1e-3, .weight_decay = 0});
  // ]
  expect(adam.parameters(0).size() == 2 && adam.parameters(1).size() == 4);
});

// # Class weights
// Rare classes count more. The mean is weighted, so that the size of the loss stays.
const Recipe class_weights_recipe("class weights", [] {
  const Tensor scores = zeros({4, 2}), labels = tensor({0, 0, 0, 1}).to(int64);
  // [
  const Tensor counts = bincount(labels, 2).to(float32);  // 3 and 1
  const Tensor weights = labels.numel() / (2 * counts);   // 0.67 and 2
  const Tensor loss = nn::cross_entropy(scores, labels, {.weight = weights});
  // ]
  expect(allclose(weights, tensor({2.0 / 3, 2.0}).to(float32)) &&
         std::abs(loss.item() - std::log(2.0)) < 1e-5);
});

// # Several labels for a sample
// A score for each label, and a target of 0 or 1 for each. `.pos_weight` is for labels that are
// rare.
const Recipe labels_recipe("several labels", [] {
  nn::Linear net(2, 3);
  const Tensor x = rand({8, 2}), targets = (rand({8, 3}) > 0.5).to(float32);
  // [
  const Tensor loss = nn::binary_cross_entropy_with_logits(net(x), targets);
  const Tensor predicted = sigmoid(net(x)) > 0.5;  // bool [8, 3]
  // ]
  expect(loss.item() > 0 && predicted.dtype() == bool_);
});

// # Smooth labels
// A target is not 1 and 0, but a little less and a little more: networks become less sure of
// themselves.
const Recipe smooth_recipe("smooth labels", [] {
  const Tensor scores = tensor({{9.0f, 0.0f}}), label = tensor({0}).to(int64);
  // [
  const Tensor loss = nn::cross_entropy(scores, label, {.label_smoothing = 0.1});
  // ]
  expect(loss.item() > nn::cross_entropy(scores, label).item());
});

// # Stop early
// When the loss of data that are not trained on has not become less for some epochs.
// `training::Run` does that by `.watch` and `.patience`; this is the part that works alone.
const Recipe early_recipe("stop early", [] {
  nn::Sequential net = small_net();
  optim::Adam adam(net.parameters(), {.lr = 1e-2});
  const Points train(200), valid(100);
  int epochs = 0;
  const auto train_one_epoch = [&] { learn(net, adam, train, 20), ++epochs; };
  const auto loss_of_validation = [&] {
    return epochs < 5 ? nn::cross_entropy(net(valid.x), valid.y).item() : 1e9;
  };
  // [
  training::EarlyStopping stopping({.patience = 3});
  while (!stopping.stops()) {
    train_one_epoch();
    stopping.update(loss_of_validation());
  }
  // ]
  expect(epochs == 7);
});

// # Keep the best weights
// In memory; `nn::snapshot` copies them.
const Recipe keep_best_recipe("keep the best weights", [] {
  nn::Sequential net = small_net();
  const double losses[] = {3, 1, 2};
  Tensor second;
  // [
  StateDict best;
  double lowest = kInfinity;
  for (const double loss : losses) {                 // of each epoch
    nn::init::constant_(net.parameters()[0], loss);  // [hidden]
    if (loss < lowest) {
      lowest = loss;
      best = nn::snapshot(net);
    }
  }
  net.load_state_dict(best);
  // ]
  expect(net.parameters()[0][0][0].item() == 1);
});

// # An average of the weights (EMA)
// The average is often better than the last weights, and moves less. Without `.decay` all updates
// count the same (SWA).
const Recipe ema_recipe("ema", [] {
  nn::Sequential net = small_net();
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  const Points points(64);
  // [
  optim::AveragedModel average(net, {.decay = 0.9});
  for (int step = 0; step < 10; ++step) {
    sgd.zero_grad();
    nn::cross_entropy(net(points.x), points.y).backward();
    sgd.step();
    average.update_parameters(net);
  }
  const Tensor scores = average(points.x);  // save(average.module().state_dict(), ...)
  // ]
  expect(scores.shape() == Shape{64, 2} && !equal(scores, net(points.x)));
});

// # Accumulate gradients
// For a batch that does not fit into memory: gradients of parts add up. Divide the loss, so that
// their sum is the mean.
const Recipe accumulate_recipe("accumulate", [] {
  nn::Sequential net = small_net();
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  const Points points(64);
  nn::cross_entropy(net(points.x), points.y).backward();
  const Tensor whole = net.parameters()[0].grad().clone();
  // [
  constexpr int kParts = 4;
  sgd.zero_grad();
  for (int part = 0; part < kParts; ++part) {
    const Tensor x = points.x.narrow(0, part * 16, 16), y = points.y.narrow(0, part * 16, 16);
    (nn::cross_entropy(net(x), y) / kParts).backward();
  }
  sgd.step();
  // ]
  expect(allclose(net.parameters()[0].grad(), whole, 1e-4, 1e-6));
});

// # Warm up the learning rate, then let it fall
// Call `schedule.step()` after each `adam.step()`.
const Recipe warm_up_recipe("warm up", [] {
  nn::Sequential net = small_net();
  // [
  optim::AdamW adam(net.parameters(), {.lr = 1e-3});
  optim::SequentialLR schedule(
      adam,
      {optim::LinearLR({.start_factor = 0.01, .total_iters = 100}),  // from 1e-5 to 1e-3
       optim::CosineAnnealingLR({.T_max = 900})},                    // and down to 0
      {100});
  // ]
  expect(std::abs(adam.lr() - 1e-5) < 1e-9);
  const Points points(8);
  for (int i = 0; i < 1000; ++i) {
    learn(net, adam, points, 1);
    schedule.step();
    if (i == 99) expect(std::abs(adam.lr() - 1e-3) < 1e-9);
  }
  expect(adam.lr() < 1e-6);
});

// # Lower the learning rate when nothing improves
const Recipe plateau_recipe("plateau", [] {
  nn::Sequential net = small_net();
  // [
  optim::Adam adam(net.parameters(), {.lr = 1e-2});
  optim::ReduceLROnPlateau schedule(adam, {.factor = 0.1, .patience = 2});
  for (const double loss : {3.0, 2.0, 2.0, 2.0, 2.0})
    schedule.step(loss);  // of the validation, each epoch
  // ]
  expect(std::abs(adam.lr() - 1e-3) < 1e-9);
});

// # Find a learning rate
// Tries 100 rates, one step each, from very small until the loss explodes, and puts everything back
// as it was.
const Recipe find_recipe("find a learning rate", [] {
  nn::Sequential net = small_net();
  optim::Adam adam(net.parameters());
  const Points points(640);
  data::DataLoader train(data::TensorDataset(points.x, points.y),
                         {.batch_size = 32, .shuffle = true});
  // [
  const training::LRCurve curve = training::find_lr(net, adam, train, [&](auto& batch) {
    auto& [x, y] = batch;
    const Tensor loss = nn::cross_entropy(net(x), y);
    adam.zero_grad();
    loss.backward();
    return loss;
  });
  adam.set_lr(curve.suggestion);
  // ]
  expect(adam.lr() > 1e-5 && adam.lr() < 10);
});

// # Train in mixed precision
// `backward()` stays outside of the guard. For bfloat16 leave the scaler out: it has float32's
// range.
const Recipe mixed_recipe("mixed precision", [] {
  nn::Sequential net = small_net();
  optim::Adam adam(net.parameters());
  const Points points(64);
  const StateDict before = nn::snapshot(net);
  // [
  optim::GradScaler scaler;
  Tensor loss;
  {
    const Autocast guard(float16,
                         {.force = true});  // force: also where the processor is slow at it
    loss = nn::cross_entropy(net(points.x), points.y);
  }
  adam.zero_grad();
  scaler.scale(loss).backward();
  scaler.step(adam);  // changes nothing if a gradient is infinite or NaN
  scaler.update();
  // ]
  expect(loss.dtype() == float32 && !equal(net.parameters()[0], before.begin()->second));
});

// # Runs that repeat to the bit
// The seed decides initial weights, order, augmentation and dropout. The CPU gives the same bits
// for any number of threads.
const Recipe repeat_recipe("reproducible", [] {
  const auto train = [] {
    // [
    manual_seed(42);
    set_deterministic(true);  // for GPUs: no algorithm that adds in any order
    // ]
    nn::Sequential net = small_net();
    optim::Adam adam(net.parameters());
    return learn(net, adam, Points(64), 10);
  };
  expect(train() == train());
  set_deterministic(false);
});

// # Train a GAN
// Two networks, two optimizers. `detach()` keeps the first loss out of the generator. Calls of the
// networks stand in statements of their own: C++ evaluates the parts of one expression in any
// order.
const Recipe gan_recipe("gan", [] {
  nn::Sequential generator(nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 1));
  nn::Sequential critic(nn::Linear(1, 16), nn::ReLU(), nn::Linear(16, 1));
  optim::Adam for_generator(generator.parameters(), {.lr = 5e-3}),
      for_critic(critic.parameters(), {.lr = 5e-3});
  const auto bce = [](const Tensor& x, const Tensor& y) {
    return nn::binary_cross_entropy_with_logits(x, y);
  };
  for (int step = 0; step < 300; ++step) {
    const Tensor real = 3 + 0.5 * randn({64, 1});
    // [
    const Tensor fake = generator(randn({64, 4}));
    const Tensor score_real = critic(real), score_fake = critic(fake.detach());
    const Tensor critic_loss = bce(score_real, ones({64, 1})) + bce(score_fake, zeros({64, 1}));
    for_critic.zero_grad();
    critic_loss.backward();
    for_critic.step();

    const Tensor generator_loss = bce(critic(fake), ones({64, 1}));
    for_generator.zero_grad();
    generator_loss.backward();
    for_generator.step();
    // ]
  }
  expect(generator(randn({256, 4})).mean().item() > 1);
});

// # Train several models at once
// One optimizer takes the parameters of all; one backward reaches all that the loss depends on.
const Recipe several_recipe("several models", [] {
  const Points points(64);
  // [
  nn::Linear encoder(2, 4), decoder(4, 2);
  std::vector<Tensor> parameters = encoder.parameters();
  for (const Tensor& p : decoder.parameters()) parameters.push_back(p);
  optim::Adam adam(parameters, {.lr = 1e-2});

  const Tensor loss = nn::mse_loss(decoder(encoder(points.x)), points.x);
  loss.backward();
  adam.step();
  // ]
  expect(encoder.weight.grad().defined() && decoder.weight.grad().defined());
});

// # Learn from a larger network
// Distillation: the small network learns the probabilities of the large one, softened by a
// temperature.
const Recipe distil_recipe("distillation", [] {
  nn::Sequential teacher = small_net(), student = small_net();
  const Points points(64);
  // [
  constexpr double kTemperature = 4;
  Tensor wanted;
  {
    const NoGradGuard no_grad;
    wanted = softmax(teacher(points.x) / kTemperature, 1);
  }
  const Tensor scores = student(points.x);
  const Tensor loss =
      0.5 * nn::cross_entropy(scores, points.y) +
      0.5 * kTemperature * kTemperature * nn::cross_entropy(scores / kTemperature, wanted);
  // ]
  loss.backward();
  expect(!teacher.parameters()[0].grad().defined() && student.parameters()[0].grad().defined());
});

// # Go on after Ctrl-C
// With the parts alone; `training::Run` has all of it. The first Ctrl-C is remembered, a second one
// ends the program.
const Recipe resume_recipe("resume", [] {
  nn::Sequential net = small_net();
  optim::Adam adam(net.parameters());
  const Points points(64);
  int steps = 0;
  const auto main = [&]() -> int {
    // [
    Checkpoint checkpoint("checkpoints");
    checkpoint.add("model", net).add("adam", adam);
    checkpoint.resume();  // nothing, if there is no file yet
    const InterruptGuard guard;
    for (int step = 0; step < 10; ++step) {
      learn(net, adam, points, 1), ++steps;  // [hidden]
      // ... a step ...
      if (interrupted()) return checkpoint.save(), 128 + interrupted();
    }
    checkpoint.save();
    // ]
    return 0;
  };
  expect(main() == 0 && steps == 10);
});
