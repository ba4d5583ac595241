#include "program.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/threads.h>

struct Program::Impl {
  CLI::App app;
  std::string device = "auto";
  std::uint64_t seed = 1;
  double expect = -std::numeric_limits<double>::infinity();

  explicit Impl(const std::string& description) : app(description) {
    app.add_option("--device", device, "auto, cpu, cuda[:i] or sim[:i]")->capture_default_str();
    app.add_option("--seed", seed, "of weights, order and samples")->capture_default_str();
    app.add_option("--expect", expect, "fail if the score at the end is below this");
  }
};

Program::Program(const std::string& description) : impl_(std::make_unique<Impl>(description)) {}
Program::~Program() = default;

void Program::option(const std::string& name, std::string& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->capture_default_str();
}
void Program::option(const std::string& name, std::int64_t& value, const std::string& help) {
  impl_->app.add_option(name, value, help)
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
}
void Program::option(const std::string& name, double& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->check(CLI::Range(0.0, 1e9))->capture_default_str();
}

void Program::flag(const std::string& name, bool& value, const std::string& help) {
  impl_->app.add_flag(name, value, help);
}

int Program::run(int argc, char** argv, const std::function<double(minnow::Device)>& program) {
  CLI11_PARSE(impl_->app, argc, argv);
  try {
    minnow::manual_seed(impl_->seed);
    const minnow::Device device = impl_->device == "auto" ? minnow::best_device() : minnow::Device(impl_->device);
    std::printf("device %s, %d threads\n", device.str().c_str(), minnow::num_threads());
    const double score = program(device);
    if (score >= impl_->expect) return 0;
    std::fprintf(stderr, "the score is %g, below the %g that --expect asks for\n", score, impl_->expect);
  } catch (const EndOfProgram& end) { return end.status; } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 1;
}
