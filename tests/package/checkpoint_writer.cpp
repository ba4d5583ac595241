// Saves checkpoints until it is killed, or says which one is there: for checkpoint_kill_test.py.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <minnow/minnow.h>

using namespace minnow;

namespace {

/// As programs save that do not know better: over the old file.
void write_in_place(const std::string& from, const std::string& to) {
  std::ifstream in(from, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (int again = 0; again < 40; ++again) {  // most kills are to come here
    const int file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (std::size_t at = 0; at < bytes.size(); at += 4096)
      if (::write(file, bytes.data() + at, std::min<std::size_t>(4096, bytes.size() - at)) < 0) std::exit(3);
    ::close(file);
  }
}

/// Trains for 300 steps, going on where it was killed, and prints a number for the weights.
int train(const std::string& folder) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(4, 16), nn::BatchNorm1d(16), nn::ReLU(), nn::Dropout(0.3), nn::Linear(16, 2));
  optim::Adam adam(net.parameters(), {.lr = 0.01});
  optim::StepLR schedule(adam, {.step_size = 7, .gamma = 0.9});
  const data::TensorDataset rows(randn({40, 4}), randint(0, 2, {40}));
  data::DataLoader loader{rows, {.batch_size = 4, .shuffle = true, .num_workers = 2, .seed = 5}};
  std::int64_t step = 0;
  Checkpoint checkpoint(folder, {.keep = 2});
  checkpoint.add("net", net).add("adam", adam).add("schedule", schedule).add("loader", loader).add("step", step);
  checkpoint.resume();
  while (step < 300)
    for (auto& [x, y] : loader) {
      const Tensor loss = nn::cross_entropy(net(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
      schedule.step();
      ++step;
      checkpoint.save({.background = step % 3 == 0});
      if (step == 300) break;
    }
  checkpoint.wait();
  double sum = 0;
  std::int64_t i = 0;
  for (const auto& [name, t] : net.state_dict())
    for (const double v : t.to_vector<double>()) sum += v * static_cast<double>(++i);
  std::printf("%.17g\n", sum);
  return 0;
}

}  // namespace

/// checkpoint_writer train|save|background|in_place|check FOLDER
int main(int, char** argv) {
  const std::string mode = argv[1], folder = argv[2];
  if (mode == "train") return train(folder);
  Tensor x = zeros({500, 1000});
  std::int64_t step = 0;
  Checkpoint checkpoint(folder);
  checkpoint.add("x", x).add("step", step);
  try {
    const auto found = checkpoint.resume();
    if (mode == "check") {
      const bool whole = found && (x == step).all().item() == 1;
      std::printf("%lld\n", whole ? static_cast<long long>(step) : -1LL);
      return whole ? 0 : 1;
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  for (;;) {
    x.fill_(static_cast<double>(++step));
    const std::string path = checkpoint.save({.background = mode == "background"});
    if (mode == "background") {
      x.fill_(-1);  // the file has what was there
      checkpoint.wait();
    }
    if (mode == "in_place") write_in_place(path, folder + ".in_place/checkpoint-00000001.safetensors");
    std::printf("%lld\n", static_cast<long long>(step));
    std::fflush(stdout);
  }
}
