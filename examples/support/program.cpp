#include "program.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <unistd.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/threads.h>

#include "numbers.h"

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
void Program::option(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least,
                     std::int64_t most) {
  impl_->app.add_option(name, value, help)->check(number_in(least, most))->capture_default_str();
}
void Program::option(const std::string& name, double& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->check(number_in(0.0, 1e9))->capture_default_str();
}

void Program::prompt(const std::string& name, std::string& value, const std::string& help) {
  const auto check = [](const std::string& text) -> std::string { return text.empty() ? "it has no letters" : ""; };
  impl_->app.add_option(name, value, help)->check({check, "", "prompt"})->capture_default_str();
}

void Program::image(const std::string& name, std::string& path, const std::string& help) {
  const auto check = [](const std::string& text) -> std::string {
    if (!text.ends_with(".png") && !text.ends_with(".jpg") && !text.ends_with(".jpeg"))
      return "'" + text + "' does not end in .png, .jpg or .jpeg";
    const std::filesystem::path folder = std::filesystem::path(text).parent_path();
    if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) return "";
    return "files cannot be written into the folder '" + folder.string() + "'";
  };
  impl_->app.add_option(name, path, help)->check({check, "", "image"})->capture_default_str();
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
