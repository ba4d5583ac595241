#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/io/metadata.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow {

/// How names of a file become names of the result: by a list of beginnings and what replaces them, of which the first
/// that fits is used, or by a function of the name.
///
///     load(path, {.rename = {{"module.", ""}}})
///     load(path, {.rename = [](const std::string& name) { return "encoder." + name; }})
class Rename {
 public:
  Rename() = default;
  Rename(std::initializer_list<std::pair<std::string, std::string>> beginnings) : beginnings_(beginnings) {}
  Rename(std::vector<std::pair<std::string, std::string>> beginnings) : beginnings_(std::move(beginnings)) {}
  template <class Function>
  requires std::is_invocable_r_v<std::string, const Function&, const std::string&> Rename(Function function)
      : function_(std::move(function)) {}

  /// The new name; the old one if nothing fits.
  std::string operator()(const std::string& name) const;

 private:
  std::vector<std::pair<std::string, std::string>> beginnings_;
  std::function<std::string(const std::string&)> function_;
};

struct LoadOptions {
  Device device = {};
  std::string prefix = {};  ///< reads only tensors whose names in the file begin with it
  Rename rename = {};       ///< the prefix is a part of the names that it is given
};

/// Reads the tensors of a file to a device (files do not store devices), in the file's order.  The format is that of
/// the name's end, or of the content if the end is another:
///
///     .safetensors    names and metadata (safetensors.h)
///     .index.json     a safetensors index: the tensors of all its files, which are in its folder
///     .npz            arrays by name, of NumPy (npz.h)
///     .npy            one array of NumPy, whose name is ""
///     .pt .pth .bin   what torch.save() wrote (of PyTorch 1.6 and later)
///
/// Files of torch.save() may hold tensors and parameters in dictionaries, lists and tuples.  Their names are the keys
/// on the way to them, joined by dots: "optimizer.state.0.exp_avg".  Numbers become 0-dim tensors of int64, float64 or
/// bool, a list or tuple of numbers a 1-dim tensor; None and empty containers are left out; strings are metadata.
/// Tensors that shared memory share it again, with their strides.  No code of the file is run: a file that needs other
/// Python objects, such as a whole module, is refused by their names.
///
/// Everything that describes the tensors is checked before the first is allocated; nothing is returned half loaded.
///
/// FormatError, with what was found and what was expected, for a file that is not valid, has another format than its
/// name says, or holds a dtype or rank that Tensor does not have; IoError if it cannot be read, and if it is cut while
/// it is read; DeviceError; OutOfMemoryError; ValueError if no name has the prefix, or two get the same name.
StateDict load(const std::string& path, const LoadOptions& options, SourceLocation where = SourceLocation::current());
StateDict load(const std::string& path, Device device = {}, SourceLocation where = SourceLocation::current());

/// The tensor of a file that holds one, whatever its name.  ValueError if it holds another number of tensors; otherwise
/// as load().
Tensor load_tensor(const std::string& path, Device device = {}, SourceLocation where = SourceLocation::current());

/// The text that is stored with the tensors of a safetensors file or index (if several files have a key, that of the
/// first); the strings of a file of torch.save(), by their names; nothing for .npz and .npy.  Errors as load().
Metadata load_metadata(const std::string& path, SourceLocation where = SourceLocation::current());

}  // namespace minnow
