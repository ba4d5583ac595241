#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/system.h>

// Includes no header of CUDA, so that every build can test it.

namespace minnow::cuda {

/// How a library is found, and a hint for users who do not have it.
struct LibraryName {
  const char* title;               ///< "cuDNN"
  const char* variable;            ///< an environment variable with the file, which replaces the search
  std::vector<std::string> files;  ///< in order of preference
  const char* hint;                ///< how to install it
  const char* folders = "";        ///< where libraries were found when minnow was built, with ':' between
};

/// BackendError with the open operation, the user's line, the library, the function and its message.
[[noreturn]] inline void library_failed(const char* library, const char* function, const std::string& text) {
  const std::string prefix = CallSite::is_open() ? std::string(CallSite::op()) + ": " : std::string();
  throw BackendError(prefix + function + " of " + library + " failed: " + text);
}

/// The files to try, in order: `named` (the variable's value) if it is set, otherwise each name as the loader finds it,
/// below `cuda_path`, where the build found it, and in the default folder of the toolkit.  Both may be nullptr.
inline std::vector<std::string> library_files(const LibraryName& name, const char* named, const char* cuda_path) {
  if (named && *named) return {named};
  std::vector<std::string> folders{""};
  if (cuda_path && *cuda_path) folders.push_back(std::string(cuda_path) + "/lib64/");
  std::istringstream built(name.folders);
  for (std::string folder; std::getline(built, folder, ':');)
    if (!folder.empty()) folders.push_back(folder + "/");
  folders.push_back("/usr/local/cuda/lib64/");
  std::vector<std::string> out;
  for (const std::string& folder : folders)
    for (const std::string& file : name.files) out.push_back(folder + file);
  return out;
}

/// A shared library, loaded by the constructor and never unloaded.
class Library {
 public:
  /// BackendError with the files that were tried and the reason why each failed.
  explicit Library(const LibraryName& name) : name_(name) {
    std::string tried;
    for (const std::string& file : library_files(name, std::getenv(name.variable), std::getenv("CUDA_PATH"))) {
      std::string reason;
      library_ = open_library(file.c_str(), &reason);
      if (library_) {
        file_ = file;
        return;
      }
      tried += "\n  " + reason;
    }
    const std::string prefix =
        CallSite::is_open() ? std::string(CallSite::op()) + " needs " : std::string("there is no ");
    throw BackendError(prefix + name.title + ", which could not be loaded; tried" + tried + "\n" + name.hint +
                       ", or set " + name.variable + " to the file");
  }

  /// Sets a function pointer to the library's function of this name.
  template <class Function> void bind(Function*& function, const char* symbol) const {
    void* address = function_of(library_, symbol);
    if (!address)
      throw BackendError(file_ + " has no function " + symbol + ": this version of " + name_.title + " is too old. " +
                         name_.hint);
    function = reinterpret_cast<Function*>(address);
  }
  const std::string& file() const { return file_; }

 private:
  LibraryName name_;
  std::string file_;
  void* library_ = nullptr;
};

}  // namespace minnow::cuda
