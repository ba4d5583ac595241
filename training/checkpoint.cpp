#include <minnow/training/checkpoint.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#include <minnow/autograd/node.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/warning.h>
#include <minnow/tensor/text.h>
#include <minnow/training/detail/checkpoint_file.h>

namespace minnow {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPart = "part ";  // metadata: the parts, and their classes
constexpr std::string_view kGradient = "checkpoint.grad.";
constexpr const char *kMetric = "checkpoint.metric", *kBest = "checkpoint.best";

/// A file of the folder.
struct File {
  std::int64_t number = 0;
  bool best = false;

  std::string name() const {
    char text[64];
    std::snprintf(text, sizeof text, "checkpoint-%08lld%s.safetensors", static_cast<long long>(number),
                  best ? "-best" : "");
    return text;
  }
};

/// The checkpoints of a folder, oldest first.  IoError for a folder that cannot be read: nobody may take it for an
/// empty one.
std::vector<File> files_of(const std::string& folder) {
  std::vector<File> files;
  std::error_code failed;
  const std::vector<std::string> names = io::names_in(folder, failed);
  if (failed == std::errc::no_such_file_or_directory) return files;
  for (const std::string& name : names) {
    long long number = 0;
    if (std::sscanf(name.c_str(), "checkpoint-%18lld", &number) != 1 || number < 0) continue;
    for (const bool best : {false, true})
      if (const File file{number, best}; file.name() == name) files.push_back(file);
  }
  if (failed)
    throw IoError("Checkpoint: cannot read the folder '" + folder + "'\n  the system says: " + failed.message() +
                  "\nits checkpoints are unchanged: try again when it can be read");
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.number < b.number; });
  return files;
}

/// A copy of a part's state that later changes of the part do not reach, on the host.
Tensor host_copy(const Tensor& tensor, bool non_blocking) {
  const Tensor value = tensor.detach();
  return value.device().is_cpu() ? raw::clone(value) : raw::to_device(value, Device(), non_blocking);
}

}  // namespace

class Checkpoint::State {
 public:
  State(std::string at, const CheckpointOptions& chosen) : folder(std::move(at)), options(chosen) {}

  std::string path_of(const File& file) const { return folder + "/" + file.name(); }
  void find_number();
  Leaves leaves() const;
  static std::vector<Tensor> gradients_of(const Leaves& leaves, const StateDict& tensors);
  StateDict collect(bool background, SourceLocation where) const;
  void check_parts(const std::string& path, const detail::CheckpointFile& file, SourceLocation where) const;
  void load(const std::string& path, const detail::CheckpointFile& file, SourceLocation where);
  void settle();
  void remove_old();
  /// Calls f(number of a part), in the order in which parts are loaded.
  template <class F> void in_order(F f) const {
    for (const bool last : {false, true})
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i].part.last == last) f(i);
  }

  struct Named {
    std::string name;
    Part part;
  };
  /// A save that is not finished.
  struct Running {
    File file;
    std::optional<double> best;
    std::thread thread{};
    std::exception_ptr error{};
  };

  const std::string folder;
  const CheckpointOptions options;
  std::vector<Named> parts;
  std::unordered_map<std::string, std::size_t> places;  // of parts, by name
  std::int64_t number = -1;                             // of the newest file in the folder; -1: not looked for
  std::vector<File> own;                                // the files of this run, oldest first
  std::optional<double> best;
  std::unique_ptr<Running> running;
};

void Checkpoint::State::find_number() {
  if (number >= 0) return;
  const std::vector<File> files = files_of(folder);
  number = files.empty() ? 0 : files.back().number;
}

/// The tensors whose gradients are saved, each once, with the names of these in the file.
Checkpoint::Leaves Checkpoint::State::leaves() const {
  Leaves list;
  std::unordered_set<const void*> seen;
  for (const Named& named : parts) {
    if (!named.part.leaves) continue;
    for (const auto& [name, tensor] : named.part.leaves())
      if (tensor.is_leaf() && seen.insert(autograd::identity(tensor)).second)
        list.emplace_back(std::string(kGradient) + named.name + (name.empty() ? "" : "." + name), tensor);
  }
  return list;
}

/// The gradient that each leaf has in a file, on its device; undefined if it has none.
std::vector<Tensor> Checkpoint::State::gradients_of(const Leaves& leaves, const StateDict& tensors) {
  std::vector<Tensor> gradients;
  std::string problems;
  std::unordered_set<std::string> known;
  for (const auto& [name, tensor] : leaves) {
    known.insert(name);
    const Tensor* saved = tensors.find(name);
    if (saved && (saved->shape() != tensor.shape() || saved->dtype() != tensor.dtype()))
      problems += "\n  '" + name + "' is " + describe(*saved) + ", the parameter is " + describe(tensor);
    else gradients.push_back(saved ? saved->to(tensor.device()) : Tensor());
  }
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(kGradient) && !known.contains(name))
      problems += "\n  '" + name + "' belongs to no parameter of this program";
  if (!problems.empty()) throw ValueError("the gradients are of other parameters" + problems);
  return gradients;
}

/// The state of all parts.  In the background: copies on the host, some of them not complete yet.
StateDict Checkpoint::State::collect(bool background, SourceLocation where) const {
  StateDict state;
  const auto kept = [background](const Tensor& tensor) {
    return !background && tensor.device().is_cpu() ? tensor.detach() : host_copy(tensor, background);
  };
  for (const auto& [name, leaf] : leaves())
    if (const Tensor grad = leaf.grad(); grad.defined()) state.set(name, kept(grad));
  for (const Named& named : parts)
    for (const auto& [key, tensor] : named.part.state()) {
      const std::string name = key.empty() ? named.name : named.name + "." + key;
      if (!tensor.defined() || !io::detail::is_utf8(name))
        throw ValueError("Checkpoint::save: the tensor '" + name + "' " +
                             (tensor.defined() ? "has a name that is not UTF-8\ngive it another name"
                                               : "is undefined\ngive it a value, or leave it out"),
                         where);
      state.set(name, kept(tensor));
    }
  return state;
}

/// ValueError unless the file has the parts of this program.
void Checkpoint::State::check_parts(const std::string& path, const detail::CheckpointFile& file,
                                    SourceLocation where) const {
  std::string problems;
  for (const auto& [name, part] : parts) {
    const auto saved = file.metadata.find(kPart + name);
    if (saved == file.metadata.end()) problems += "\n  '" + name + "' is not in the file";
    else if (saved->second != part.kind)
      problems += "\n  '" + name + "' is of class " + saved->second + " in the file, here of class " + part.kind;
  }
  for (const auto& [key, kind] : file.metadata)
    if (key.starts_with(kPart) && !places.contains(key.substr(std::string_view(kPart).size())))
      problems += "\n  '" + key.substr(std::string_view(kPart).size()) + "' of the file was not added here";
  if (!problems.empty())
    throw ValueError(
        "Checkpoint::resume: '" + path + "' has other parts than this program" + problems +
            "\nadd the same parts under the same names as the program that saved it, or use another folder",
        where);
}

void Checkpoint::State::load(const std::string& path, const detail::CheckpointFile& file, SourceLocation where) {
  check_parts(path, file, where);
  std::vector<StateDict> values(parts.size()), before(parts.size());
  for (const auto& [name, tensor] : file.tensors) {  // names of parts have no dot
    const std::size_t dot = std::min(name.find('.'), name.size());
    if (const auto place = places.find(name.substr(0, dot)); place != places.end())
      values[place->second].set(name.substr(std::min(dot + 1, name.size())), tensor);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const auto& [name, tensor] : parts[i].part.state())
      before[i].set(name, tensor.defined() ? host_copy(tensor, false) : tensor);
  }
  const std::string of_gradients = "checkpoint.grad";
  const Leaves owners = leaves();
  std::vector<Tensor> gradients;
  const std::string *loading = nullptr, *unrestored = nullptr;
  constexpr std::size_t kReserve = 1 << 20;
  auto reserve = std::make_unique<std::byte[]>(kReserve);  // so that a shortage of memory does not stop the way back
  const auto undo = [&] {
    reserve.reset();
    in_order([&](std::size_t i) {
      try {
        parts[i].part.load(before[i]);
      } catch (...) {  // whatever a class of the user's throws: the others are restored all the same
        unrestored = &parts[i].name;
      }
    });
    if (unrestored)
      warn("Checkpoint::resume: '" + *unrestored + "' could not be restored: resume again before you use it");
  };
  try {
    in_order([&](std::size_t i) {
      loading = &parts[i].name;
      parts[i].part.load(values[i]);
    });
    loading = &of_gradients;
    gradients = gradients_of(owners, file.tensors);
  } catch (const ValueError& error) {
    undo();
    throw ValueError("Checkpoint::resume: '" + *loading + "' of '" + path + "' does not fit\n" + error.what(), where);
  } catch (...) {
    undo();
    throw;
  }
  for (std::size_t i = 0; i < owners.size(); ++i) owners[i].second.set_grad(gradients[i]);
}

/// Ends the running save, and throws what it has thrown.
void Checkpoint::State::settle() {
  if (!running) return;
  if (running->thread.joinable()) running->thread.join();
  const std::unique_ptr<Running> done = std::move(running);
  if (done->error) std::rethrow_exception(done->error);
  best = done->best;
  number = done->file.number;
  own.push_back(done->file);
  remove_old();
}

void Checkpoint::State::remove_old() {
  const auto last_best = std::find_if(own.rbegin(), own.rend(), [](const File& file) { return file.best; });
  const std::int64_t kept = last_best == own.rend() ? -1 : last_best->number;
  for (auto file = own.begin(); own.end() - file > options.keep;) {
    if (file->number == kept) {
      ++file;
      continue;
    }
    const std::string path = path_of(*file);
    std::error_code failed;
    if (fs::remove(path, failed); failed) warn("Checkpoint: cannot remove '" + path + "': " + failed.message());
    file = own.erase(file);
  }
}

Checkpoint::Checkpoint(std::string folder, const CheckpointOptions& options, SourceLocation where) {
  if (options.keep < 1)
    throw ValueError("Checkpoint: keep must be at least 1, got " + std::to_string(options.keep) + "\nthe default is 2",
                     where);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed && !fs::is_directory(folder, failed) && !failed)
    failed = std::make_error_code(std::errc::not_a_directory);
  if (failed)
    throw IoError("Checkpoint: '" + folder + "' cannot be used as a folder\n  the system says: " + failed.message() +
                      "\ngive the path of a folder; it is made if it is missing, with those above it",
                  where);
  // A program may change its working directory between two saves.
  if (const fs::path whole = fs::absolute(folder, failed); !failed) folder = whole.string();
  state_ = std::make_unique<State>(std::move(folder), options);
  add("default_generator", default_generator(), where);
}

Checkpoint::~Checkpoint() {
  try {
    state_->settle();
  } catch (const std::exception& error) {
    warn(std::string("Checkpoint: the last save in the background has failed: ") + error.what());
  }
}

std::string Checkpoint::name_without_arguments(const std::type_info& type) {
  const std::string name = type_name(type);
  return name.substr(0, name.find('<'));
}

Checkpoint& Checkpoint::add_part(std::string name, Part part, SourceLocation where) {
  const bool known = state_->places.contains(name);
  const bool reserved = name == "checkpoint" || name == "__metadata__";
  if (known || reserved || name.empty() || name.find('.') != std::string::npos || !io::detail::is_utf8(name))
    throw ValueError("Checkpoint::add: the name '" + name +
                         (known ? "' is taken" : "' is empty, has a '.', is not UTF-8, or is the library's own") +
                         "\ngive each part a name of its own, e.g. \"model\"",
                     where);
  state_->parts.push_back({name, std::move(part)});
  state_->places.emplace(std::move(name), state_->parts.size() - 1);
  return *this;
}

Checkpoint& Checkpoint::add_number(std::string name, bool real, std::function<Number()> get,
                                   std::function<bool(const Number&)> set, SourceLocation where) {
  const DType dtype = real ? DType::float64 : DType::int64;
  return add_part(
      std::move(name),
      {.state =
           [get = std::move(get), real, dtype] {
             const Number n = get();
             return StateDict{{"", real ? full({}, n.real, {.dtype = dtype}) : full({}, n.whole, {.dtype = dtype})}};
           },
       .load =
           [set = std::move(set), real, dtype](const StateDict& values) {
             const Tensor* value = values.find("");
             if (!value || value->dtype() != dtype || value->numel() != 1)
               throw ValueError(std::string("it is ") + (value ? describe(*value) : "missing") + ", not one " +
                                std::string(name_of(dtype)));
             if (!set(real ? Number(value->item<double>()) : Number(value->item<std::int64_t>())))
               throw ValueError("it is " + std::to_string(value->item<std::int64_t>()) +
                                ", which its type in this program does not hold");
           }},
      where);
}

Checkpoint& Checkpoint::add(std::string name, Tensor& tensor, SourceLocation where) {
  return add_part(
      std::move(name),
      {.state =
           [&tensor] {
             return StateDict{{"", tensor}};
           },
       .leaves =
           [&tensor] {
             return tensor.defined() ? Leaves{{"", tensor}} : Leaves();
           },
       .load =
           [&tensor](const StateDict& values) {
             const Tensor* value = values.find("");
             if (!value || !tensor.defined() || value->dtype() != tensor.dtype() || !(value->shape() == tensor.shape()))
               throw ValueError(std::string("it is ") + (value ? describe(*value) : "missing") + ", here " +
                                (tensor.defined() ? describe(tensor) : "undefined"));
             raw::copy_to(value->to(tensor.device()), tensor.detach());
           }},
      where);
}

Checkpoint& Checkpoint::add(std::string name, StateDict& values, SourceLocation where) {
  return add_part(std::move(name),
                  {.state = [&values] { return values; },
                   .load =
                       [&values](const StateDict& loaded) {
                         StateDict next;
                         for (const auto& [key, tensor] : loaded) {
                           const Tensor* now = values.find(key);
                           next.set(key, now && now->defined() ? tensor.to(now->device()) : tensor);
                         }
                         values = std::move(next);
                       }},
                  where);
}

std::string Checkpoint::save(const CheckpointSaveOptions& options, SourceLocation where) {
  State& s = *state_;
  const CallSite site("Checkpoint::save", where);
  s.settle();
  s.find_number();
  const std::optional<double>& metric = options.metric;
  const bool is_best = metric && !std::isnan(*metric) &&
                       (!s.best || (s.options.higher_is_better ? *metric > *s.best : *metric < *s.best));
  const std::optional<double> best = is_best ? metric : s.best;
  StateDict tensors = s.collect(options.background, where);
  for (const auto& [name, value] : {std::pair(kMetric, metric), std::pair(kBest, best)})
    if (value) tensors.set(name, full({}, *value, {.dtype = DType::float64}));
  Metadata metadata;
  for (const auto& [name, part] : s.parts) metadata[kPart + name] = part.kind;

  const File file{s.number + 1, is_best};
  auto started = std::make_unique<State::Running>(State::Running{.file = file, .best = best});
  const std::string path = s.path_of(file);
  const auto write = [running = started.get(), path, tensors = std::move(tensors), metadata, where] {
    try {
      detail::write_checkpoint(path, tensors, metadata, where);
    } catch (...) { running->error = std::current_exception(); }
  };
  try {
    if (options.background) started->thread = std::thread(write);
  } catch (const std::system_error&) {  // no thread: written here
  }
  const bool here = !started->thread.joinable();
  if (here) write();
  s.running = std::move(started);
  if (here) s.settle();
  return path;
}

std::optional<ResumedCheckpoint> Checkpoint::resume(SourceLocation where) {
  State& s = *state_;
  const CallSite site("Checkpoint::resume", where);
  s.settle();
  std::vector<File> files = files_of(s.folder);
  const std::int64_t newest = files.empty() ? 0 : files.back().number;
  std::exception_ptr damage;
  const auto note = [&](const std::exception& error) {
    warn(std::string("Checkpoint::resume: a file cannot be used: ") + error.what());
    if (!damage) damage = std::current_exception();
  };
  for (; !files.empty(); files.pop_back()) {
    const std::string path = s.path_of(files.back());
    detail::CheckpointFile file;
    try {
      file = detail::read_checkpoint(path, where);
    } catch (const FormatError& error) {
      note(error);
      continue;
    } catch (const IoError& error) {
      note(error);
      continue;
    }
    const auto number = [&](const char* name) {
      const Tensor* value = file.tensors.find(name);
      return value ? std::optional(value->item<double>()) : std::nullopt;
    };
    ResumedCheckpoint found{path, files.back().number, number(kMetric), number(kBest)};
    s.load(path, file, where);  // nothing fails after it
    s.best = found.best;
    s.number = newest;
    s.own = std::move(files);
    return found;
  }
  if (damage) std::rethrow_exception(damage);
  return std::nullopt;
}

void Checkpoint::wait(SourceLocation where) {
  const CallSite site("Checkpoint::wait", where);
  state_->settle();
}

std::string Checkpoint::best_path() const {
  // Of the files that are complete, and the one that is being written.
  if (state_->running && state_->running->file.best) return state_->path_of(state_->running->file);
  const auto& own = state_->own;
  const auto found = std::find_if(own.rbegin(), own.rend(), [](const File& file) { return file.best; });
  return found == own.rend() ? "" : state_->path_of(*found);
}

std::string Checkpoint::found_path(SourceLocation where) const {
  const CallSite site("Checkpoint::found_path", where);
  const std::vector<File> files = files_of(state_->folder);
  if (files.empty()) return "";
  const auto best = std::find_if(files.rbegin(), files.rend(), [](const File& file) { return file.best; });
  return state_->path_of(best == files.rend() ? files.back() : *best);
}

}  // namespace minnow
