#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <minnow/minnow.h>

#include "program.h"

/// A training that --checkpoint saves, also at Ctrl-C, and --resume continues; without --checkpoint it does nothing.
class SavedRun {
 public:
  explicit SavedRun(Program& program) {
    program.option("--checkpoint", folder_, "folder in which the training is saved at its end and at Ctrl-C");
    program.flag("--resume", resume_, "continue where the last training with this --checkpoint ended");
  }

  template <class T> SavedRun& add(const char* name, T& part) {
    if (!folder_.empty() && !checkpoint_) checkpoint_.emplace(folder_);
    if (checkpoint_) checkpoint_->add(name, part);
    return *this;
  }
  /// Call it when all parts are added.
  void begin() {
    if (resume_ && !checkpoint_)
      throw minnow::ValueError("--resume: there is no checkpoint\ngive --checkpoint FOLDER too");
    if (!checkpoint_) return;
    guard_.emplace();
    if (const auto found = resume_ ? checkpoint_->resume() : std::nullopt)
      std::printf("resumed %s\n", found->path.c_str());
  }
  /// Call it after each step: saves and ends the program after a Ctrl-C.
  void step() {
    if (!checkpoint_ || !minnow::interrupted()) return;
    std::printf("\ninterrupted: saved %s\n", checkpoint_->save().c_str());
    throw EndOfProgram{128 + minnow::interrupted()};
  }
  void save(bool background = false) {
    if (checkpoint_) checkpoint_->save({.background = background});
  }

 private:
  std::string folder_;
  bool resume_ = false;
  std::optional<minnow::Checkpoint> checkpoint_;
  std::optional<minnow::InterruptGuard> guard_;
};
