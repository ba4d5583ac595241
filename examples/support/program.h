#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <minnow/tensor/device.h>

/// Thrown by a program that ends early with a status of its own.
struct EndOfProgram {
  int status = 0;
};

/// The options of a program, and errors as texts.  CLI11 is compiled once, in program.cpp.
class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  ~CommandLine();

  // Options, e.g. option("--steps", steps, "training steps").  What a program cannot use is refused before it starts:
  // numbers outside of their range, a prompt without letters, the name of an image that cannot be written.
  void option(const std::string& name, std::string& value, const std::string& help);
  void option(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least = 0,
              std::int64_t most = std::int64_t{1} << 40);
  void option(const std::string& name, std::uint64_t& value, const std::string& help);
  void option(const std::string& name, double& value, const std::string& help, double most = 1e9);
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& of, const std::string& help);
  void prompt(const std::string& name, std::string& value, const std::string& help);
  void image(const std::string& name, std::string& path, const std::string& help);
  /// Any number; without a default in --help.
  void number(const std::string& name, double& value, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);

  /// Parses the arguments and runs the program.  Returns its exit status.
  int run(int argc, char** argv, const std::function<int()>& program);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What most of the examples' programs have in common: --device, --seed and --expect.
class Program : public CommandLine {
 public:
  explicit Program(const std::string& description);

  /// Parses the arguments, sets the seed, and runs the program on the device.  It returns a score: of what it learned,
  /// higher is better.  A score below --expect is an error.  Returns the exit status.
  int run(int argc, char** argv, const std::function<double(minnow::Device)>& program);

 private:
  std::string device_ = "auto";
  std::uint64_t seed_ = 1;
  double expect_;
};
