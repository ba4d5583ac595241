#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <unistd.h>
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
    std::string folder = (place / (name + "-XXXXXX")).string();
    if (!mkdtemp(folder.data())) continue;
    const std::string file = folder + "/" + name + ".safetensors";
    try {
      save(model.state_dict(), file);
      std::cerr << "the weights are in " << file << " instead\n";
      return false;
    } catch (const std::exception&) { rmdir(folder.c_str()); }
  }
  std::cerr << "the weights are lost: no other folder could be written\n";
  return false;
}
