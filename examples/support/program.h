#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <minnow/tensor/device.h>

/// Thrown by a program that ends early with a status of its own.
struct EndOfProgram {
  int status = 0;
};

/// What the examples' programs have in common: a command line with --help, --device, --seed and --expect, and errors as
/// texts.  CLI11 is compiled once, in program.cpp.
class Program {
 public:
  explicit Program(const std::string& description);
  ~Program();

  // Options, e.g. option("--steps", steps, "training steps"); numbers must be at least 0.
  void option(const std::string& name, std::string& value, const std::string& help);
  void option(const std::string& name, std::int64_t& value, const std::string& help);
  void option(const std::string& name, double& value, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);

  /// Parses the arguments, sets the seed, and runs the program on the device.  It returns a score: of what it learned,
  /// higher is better.  A score below --expect is an error.  Returns the exit status.
  int run(int argc, char** argv, const std::function<double(minnow::Device)>& program);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
