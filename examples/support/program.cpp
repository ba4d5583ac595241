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

struct CommandLine::Impl {
  explicit Impl(const std::string& description) : app(description) {}
  CLI::App app;
};

CommandLine::CommandLine(const std::string& description) : impl_(std::make_unique<Impl>(description)) {}
CommandLine::~CommandLine() = default;

void CommandLine::option(const std::string& name, std::string& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->capture_default_str();
}
void CommandLine::option(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least,
                         std::int64_t most) {
  impl_->app.add_option(name, value, help)->check(number_in(least, most))->capture_default_str();
}
void CommandLine::option(const std::string& name, std::uint64_t& value, const std::string& help) {
  impl_->app.add_option(name, value, help)->check(number_in<std::uint64_t>(0, UINT64_MAX))->capture_default_str();
}
void CommandLine::option(const std::string& name, double& value, const std::string& help, double most) {
  impl_->app.add_option(name, value, help)->check(number_in(0.0, most))->capture_default_str();
}
void CommandLine::number(const std::string& name, double& value, const std::string& help) {
  impl_->app.add_option(name, value, help);
}
void CommandLine::choice(const std::string& name, std::string& value, const std::vector<std::string>& of,
                         const std::string& help) {
  impl_->app.add_option(name, value, help)->check(CLI::IsMember(of))->capture_default_str();
}

void CommandLine::prompt(const std::string& name, std::string& value, const std::string& help) {
  const auto check = [](const std::string& text) -> std::string { return text.empty() ? "it has no letters" : ""; };
  impl_->app.add_option(name, value, help)->check({check, "", "prompt"})->capture_default_str();
}

void CommandLine::image(const std::string& name, std::string& path, const std::string& help) {
  const auto check = [](const std::string& text) -> std::string {
    if (!text.ends_with(".png") && !text.ends_with(".jpg") && !text.ends_with(".jpeg"))
      return "'" + text + "' does not end in .png, .jpg or .jpeg";
    const std::string folder = std::filesystem::path(text).parent_path().string();
    if (access(folder.empty() ? "." : folder.c_str(), W_OK) == 0) return "";
    return "files cannot be written into the folder '" + folder + "'";
  };
  impl_->app.add_option(name, path, help)->check({check, "", "image"})->capture_default_str();
}

void CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  impl_->app.add_flag(name, value, help);
}

int CommandLine::run(int argc, char** argv, const std::function<int()>& program) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  impl_->app.failure_message([name](const CLI::App*, const CLI::Error& e) {
    return name + ": " + e.what() + " (--help lists the options)\n";
  });
  CLI11_PARSE(impl_->app, argc, argv);
  try {
    return program();
  } catch (const EndOfProgram& end) { return end.status; } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 1;
}

Program::Program(const std::string& description)
    : CommandLine(description), expect_(-std::numeric_limits<double>::infinity()) {
  option("--device", device_, "auto, cpu, cuda[:i] or sim[:i]");
  option("--seed", seed_, "of weights, order and samples");
  number("--expect", expect_, "fail if the score at the end is below this");
}

int Program::run(int argc, char** argv, const std::function<double(minnow::Device)>& program) {
  return CommandLine::run(argc, argv, [&] {
    minnow::manual_seed(seed_);
    const minnow::Device device = device_ == "auto" ? minnow::best_device() : minnow::Device(device_);
    std::printf("device %s, %d threads\n", device.str().c_str(), minnow::num_threads());
    const double score = program(device);
    if (score >= expect_) return 0;
    std::fprintf(stderr, "the score is %g, below the %g that --expect asks for\n", score, expect_);
    return 1;
  });
}
