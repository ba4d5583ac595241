#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <minnow/minnow.h>

/// Saves the weights; if that fails, saves them as NAME.safetensors in a new folder, here or in the temporary folder,
/// and returns false.
inline bool save_weights(const minnow::nn::Module& model, const std::string& path, const std::string& name) {
  try {
    save(model.state_dict(), path);
    std::cout << "weights   " << path << '\n';
    return true;
  } catch (const std::exception& e) { std::cerr << e.what() << '\n'; }
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::path& place : {fs::current_path(ignored), fs::temp_directory_path(ignored)}) {
    fs::path folder;
    bool made = false;
    for (int i = 0; i < 100 && !made; ++i)
      made = fs::create_directory(folder = place / (name + "-" + std::to_string(i)), ignored);
    if (!made) continue;
    const std::string file = (folder / (name + ".safetensors")).string();
    try {
      save(model.state_dict(), file);
      std::cerr << "the weights are in " << file << " instead\n";
      return false;
    } catch (const std::exception&) { fs::remove(folder, ignored); }
  }
  std::cerr << "the weights are lost: no other folder could be written\n";
  return false;
}

/// How a training has ended.
struct Ending {
  std::string program, save{};  ///< save: the file for the weights; empty: they are not saved
  bool trained = false;         ///< an untrained network does not replace a file
  bool complete = true;         ///< false: a log or checkpoint could not be written
  int signal = 0;               ///< that interrupted it
  bool speaks = true;           ///< of several ranks one does

  /// Calls f, which writes a log or a checkpoint: the training goes on where that fails.
  template <class F> void attempt(const char* what, F f) {
    try {
      f();
    } catch (const minnow::IoError& e) {
      std::cerr << e.what() << "\nthe training goes on without the " << what << '\n';
      complete = false;
    }
  }
};

/// Saves the weights and returns the exit status.
inline int finish(const minnow::nn::Module& model, const Ending& end) {
  std::fflush(stdout);
  const bool saves = !end.save.empty(), saved = saves && end.trained;
  if (end.signal != 0 && end.speaks)
    std::cerr << (saved   ? "interrupted: saving the weights (a second signal ends at once)\n"
                  : saves ? "interrupted before the first step: nothing is saved\n"
                          : "interrupted\n");
  if (saved && !save_weights(model, end.save, end.program)) return EXIT_FAILURE;
  if (end.signal != 0) return 128 + end.signal;
  if (std::cout.flush() && !std::ferror(stdout)) return end.complete ? EXIT_SUCCESS : EXIT_FAILURE;
  std::cerr << end.program << ": the output could not be written\n";
  return EXIT_FAILURE;
}
