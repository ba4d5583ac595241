#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/tensor.h>
#include <minnow/training/history.h>
#include <minnow/training/metrics.h>

namespace minnow::training {

/// Images that a model has classified, of which report() shows the worst mistakes.
struct ReportImages {
  /// [N, C, H, W], C is 1 or 3: uint8, or floating-point: from 0 to 1, or else stretched from the least to the largest
  /// value of those that are shown.
  Tensor images{};
  Tensor labels{}, predictions{};  ///< class numbers, int64 [N]
  Tensor losses{};                 ///< floating-point [N]; undefined: the first mistakes are shown
  std::int64_t count = 24;         ///< how many are shown at most
};

struct ReportOptions {
  std::string title{};
  std::vector<std::string> class_names{};               ///< by class number; empty: the numbers
  std::optional<metrics::ConfusionMatrix> confusion{};  ///< of the data that the model was tested with
  ReportImages images{};
  std::string layers{};                                      ///< what nn::summary() says
  std::vector<std::pair<std::string, double>> times{};       ///< seconds by part, e.g. {{"data", 1.5}, {"forward", 20}}
  std::vector<std::pair<std::string, std::string>> facts{};  ///< more rows about the run, e.g. {{"rate", "0.001"}}
  Device device{};                                           ///< on which it was computed
};

/// Writes one HTML file about a training, which needs no network: curves of the history (names that end alike, such as
/// train/loss and valid/loss, share one; of more than 2,000 points those are kept that show its shape, with all
/// extremes), what is in the options, the memory, the machine and the command line.  IoError, and the file is as it
/// was; ShapeError, DTypeError or ValueError for images, labels and names that do not fit; IndexError as
/// ConfusionMatrix::counts().  Waits for devices.
///
///     training::report("report.html", history, {.confusion = matrix, .layers = nn::summary(net, {1, 1, 28, 28})});
void report(const std::string& path, const History& history, const ReportOptions& options = {},
            SourceLocation where = SourceLocation::current());

}  // namespace minnow::training
