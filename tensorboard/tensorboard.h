#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>
#include <minnow/nn/module/module.h>
#include <minnow/tensor/in.h>

namespace minnow::tensorboard {

/// A hyperparameter: a number, a text, or true or false.
struct HParam {
  template <class T>
  requires std::integral<T> || std::floating_point<T> HParam(T number) {
    if constexpr (std::same_as<T, bool>) value = number;
    else value = static_cast<double>(number);
  }
  HParam(std::string text) : value(std::move(text)) {}
  HParam(const char* text) : value(std::string(text)) {}

  std::variant<double, bool, std::string> value;
};

/// Writes what TensorBoard shows of a run, as torch.utils.tensorboard.SummaryWriter.
///
///     tensorboard::Writer writer("runs/mnist");
///     writer.add_scalar("train/loss", loss, step);     // then, in a shell: tensorboard --logdir runs
///
/// A folder is a run; each Writer adds a file to it.  What was added is in the file when the call returns: others can
/// read it at once, and a killed program has lost nothing.  Tensors may be on any device; it is waited for.  Names and
/// texts are UTF-8, and a name is not empty: ValueError.  Each call may be an IoError, which leaves the file as it
/// was; but where the file was removed, what is added is lost without an error.  Thread-safe.  A Writer that was moved
/// from can be assigned to; its other functions throw ValueError.
class Writer {
 public:
  /// Makes the folder, and in it events.out.tfevents.TIME.HOST.PID.N.  IoError if that cannot be.
  explicit Writer(const std::string& folder, SourceLocation where = SourceLocation::current());
  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  /// The file.
  const std::string& path(SourceLocation where = SourceLocation::current()) const;

  /// A number, or a tensor with one element, kept as float32.  ShapeError for more elements.
  void add_scalar(const std::string& name, const TensorLike& value, std::int64_t step);

  /// How the elements of a tensor are distributed, in the buckets of TensorFlow: their limits are 0 and
  /// +-1e-12 * 1.1^n up to 1e20.  Larger elements count in the outermost buckets; NaN and infinities count nowhere,
  /// also not in the number of elements.  ValueError for a tensor without elements.
  void add_histogram(const std::string& name, const In& values, std::int64_t step);

  /// An image [C, H, W] with 1, 3 or 4 channels, or [H, W]: uint8, or floating-point in [0, 1], of which x * 255 is
  /// rounded; other values become the nearest of these, NaN 0.  DTypeError, ShapeError.
  void add_image(const std::string& name, const In& image, std::int64_t step);

  /// A text in Markdown.
  void add_text(const std::string& name, const std::string& markdown, std::int64_t step,
                SourceLocation where = SourceLocation::current());

  /// What the run was trained with, and its results, which are scalars too (of step 0).  They belong to this run;
  /// SummaryWriter makes another run of them.  Once for each Writer: ValueError.
  ///
  ///     writer.add_hparams({{"lr", 1e-3}, {"optimizer", "adam"}}, {{"hparam/accuracy", accuracy}});
  void add_hparams(const std::map<std::string, HParam>& hparams, const std::map<std::string, double>& metrics,
                   SourceLocation where = SourceLocation::current());

  /// The graph of a model: a node for each call of a module that calls no other, "Net/Sequential[features]/Conv2d[0]",
  /// with its class, options and output shapes.  An edge is a tensor that goes from one to another, also through
  /// operations between them, if these record gradients.  Runs forward in eval mode: once, or twice if it
  /// writes to views of its inputs, which are copies; modes are restored.
  /// What forward() throws.
  void add_graph(const nn::Module& model, const In& example);
  /// The same of a model that takes other inputs: writer.add_graph(net, [&] { net(tokens, mask); }).
  void add_graph(const nn::Module& model, const std::function<void()>& call,
                 SourceLocation where = SourceLocation::current());

  /// Waits until all that was added is on the disk.
  void flush(SourceLocation where = SourceLocation::current());

 private:
  class File;
  File& file(SourceLocation where) const;

  std::unique_ptr<File> file_;
};

/// A number that was added.
struct ScalarEvent {
  std::int64_t step = 0;
  double wall_time = 0;  ///< in seconds since 1970
  std::string name{};
  double value = 0;
};

/// The scalars of an event file, or of all event files in a folder, in the order of their names (which begin with the
/// time).  Reads each file to its end, or to where it was cut off or damaged; it may be written to.  Numbers that
/// TensorFlow 2 keeps as tensors are left out.  IoError; FormatError for a file that does not begin as an event file.
std::vector<ScalarEvent> read_scalars(const std::string& path, SourceLocation where = SourceLocation::current());

}  // namespace minnow::tensorboard
