// Devices, transfers between them, and their errors:  ./run devices
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <unistd.h>
#include <minnow/minnow.h>

using namespace minnow;

namespace {

void title(const char* text) { std::cout << "\n== " << text << '\n'; }

/// Makes a mistake, and prints the error.
template <class F> void show_error(F&& mistake) {
  try {
    mistake();
    throw std::logic_error("the mistake was accepted");
  } catch (const Error& e) { std::cout << e.what() << '\n'; }
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Net : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(784, 64));
  nn::Linear fc2 = child("fc2", nn::Linear(64, 10));
  Tensor forward(const Tensor& x) override { return fc2(relu(fc1(x.flatten(1)))); }
};

void train_with_one_wrong_batch(Device device) {
  title("Training from pinned batches, one of them on the wrong device");
  Net net;
  net.to(device);
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  data::DataLoader train(data::SyntheticDigits(4096),
                         {.batch_size = 64, .shuffle = true, .num_workers = 1, .device = device});
  int step = 0;
  for (auto& [images, labels] : train) {
    if (++step == 10) {  // on the wrong device: an error, and training continues
      const Tensor& batch = images;
      show_error([&] { net(batch.cpu()); });
    }
    const Tensor loss = nn::cross_entropy(net(images), labels);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step % 16 == 0) std::cout << "step " << step << "  loss " << loss.item() << '\n';
  }
  const data::LoaderStats stats = train.stats();
  std::printf("copies to %s took %.2f ms, %.0f %% of that overlapped with steps\n", device.str().c_str(),
              1e3 * stats.copy_seconds, 100 * stats.hidden_share());

  title("Weights are copied to the host, saved and loaded");
  const std::string name =
      "minnow_devices_" + std::to_string(getpid()) + ".safetensors";  // unique: all users share /tmp
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  const Tensor weight = net.fc1.weight.cpu();
  std::cout << "fc1.weight on " << net.fc1.weight.device().str() << ", its copy on " << weight.device().str() << '\n';
  save(net.state_dict(), path);
  Net again;
  again.load_state_dict(load(path));
  std::cout << "after loading they are "
            << (all(again.fc1.weight == weight).item<bool>() ? "equal, bit by bit" : "different") << '\n';
  std::filesystem::remove(path);
}

void moves(Device device) {
  title("Moves: to, cpu, dtype");
  const Tensor x = arange(6).to(float32).reshape({2, 3});
  const Tensor y = x.to(device);
  std::cout << y << '\n'
            << "x stays on " << x.device().str()
            << "; to() of the same device is the tensor itself: " << (y.to(device).is_same(y) ? "yes" : "no") << '\n';
  std::cout << "to(device, dtype): " << x.to(device, DType::float64).cpu() << '\n';
  Tensor leaf = ones({2}).requires_grad_();
  sum(leaf.to(device) * 3).backward();
  std::cout << "the gradient of a moved leaf is on the leaf's device: " << leaf.grad() << '\n';
  std::cout << "0-dim host tensors combine with any device: " << (y * tensor(10.0f)).cpu() << '\n';
}

void errors(Device device) {
  title("Mistakes");
  const Tensor host = ones({2, 3}), there = ones({2, 3}, {{}, device});
  show_error([&] { return host + there; });
  show_error([&] { return matmul(host, there.t()); });
  show_error([&] { there.data<float>(); });
  show_error([&] { Device("gpu"); });
  show_error([&] { return ones({1}, {{}, "cuda:7"}); });
  show_error([&] { return there.pin_memory(); });
  Net net;
  net.to(device);
  show_error([&] { net(ones({1, 784})); });
  Tensor w = ones({2}, {{}, device}).requires_grad_();
  show_error([&] { (w * 2).backward(ones({2})); });
  Tensor leaf = ones({2}).requires_grad_();
  show_error([&] { optim::Adam(std::vector<Tensor>{leaf.to(device)}); });
}

void copies(Device device) {
  title("Copies of 64 MB: pageable, pinned, non_blocking");
  const Tensor pageable = ones({16 << 20});
  const Tensor pinned = pageable.pin_memory();
  Tensor there;
  const auto report = [](const char* what, double s) { std::printf("%-32s %7.2f ms\n", what, 1e3 * s); };
  report("pageable, to()", seconds_of([&] { there = pageable.to(device); }));
  report("pinned, to()", seconds_of([&] { there = pinned.to(device); }));
  report("pinned, non_blocking: returns in", seconds_of([&] { there = pinned.to(device, {.non_blocking = true}); }));
  report("  ... and is done after", seconds_of([&] { synchronize(device); }));
  Tensor host;
  report("to the host, non_blocking: returns in", seconds_of([&] { host = there.to("cpu", {.non_blocking = true}); }));
  report("  ... the first read waits", seconds_of([&] { host.data<float>(); }));
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "auto";
  CLI::App app("Shows devices, transfers and their errors.");
  app.add_option("--device", name, "auto: cuda where there is one, else sim")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const Device device = name != "auto" ? Device(name) : cuda::is_available() ? Device("cuda") : Device("sim:0");
    std::cout << "this machine has: " << available_devices() << "\nthis run uses: " << device.str() << '\n';
    manual_seed(1);
    train_with_one_wrong_batch(device);
    moves(device);
    errors(device);
    copies(device);
    title("The transfer report");
    std::cout << transfer_report();
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
