#include <minnow/data/progress.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/system.h>

namespace minnow::data {
namespace {

constexpr int kBarWidth = 20;
constexpr std::size_t kDefaultColumns = 80;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

bool shown_on_terminal(const ProgressOptions& options) {
  if (options.terminal) return *options.terminal;
  const bool standard = !options.out || options.out == &std::cout;
  return (standard && ::isatty(STDOUT_FILENO)) || (options.out == &std::cerr && ::isatty(STDERR_FILENO));
}

std::size_t columns() {
  const std::size_t found = minnow::detail::terminal_columns();
  return found > 0 ? found : kDefaultColumns;
}

/// "1:05", "1:00:05".
std::string clock_text(double seconds) {
  const auto s = static_cast<long>(std::min(std::ceil(seconds), 359999.0));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string bar_text(std::int64_t done, std::int64_t total) {
  const auto full = static_cast<std::size_t>(total > 0 ? kBarWidth * done / total : kBarWidth);
  std::string bar(full, '=');
  if (full < kBarWidth) bar += '>';
  bar.resize(kBarWidth, ' ');
  return "[" + bar + "]  ";
}

}  // namespace

ProgressBar::ProgressBar(std::int64_t batches, ProgressOptions options, SourceLocation where)
    : options_(std::move(options)),
      out_(options_.out ? options_.out : &std::cout),
      terminal_(shown_on_terminal(options_)),
      interval_(options_.interval.value_or(terminal_ ? 0.1 : 10.0)),
      total_(batches) {
  if (batches < 0)
    throw ValueError("progress: the number of batches must be at least 0, got " + std::to_string(batches) +
                         "\ngive that of the loop",
                     where);
  if (!(interval_ >= 0))
    throw ValueError(
        fmt::format("progress: interval must be at least 0, got {}\nit is in seconds; 0 updates the line at each step",
                    interval_),
        where);
}

ProgressBar::ProgressBar(ProgressBar&& other) noexcept
    : options_(std::move(other.options_)),
      label_(std::move(other.label_)),
      out_(other.out_),
      terminal_(other.terminal_),
      interval_(other.interval_),
      total_(other.total_),
      first_(other.first_),
      done_(other.done_),
      samples_(other.samples_),
      active_(std::exchange(other.active_, false)),
      drawn_(other.drawn_),
      start_(other.start_),
      last_drawn_(other.last_drawn_),
      values_(std::move(other.values_)) {}

ProgressBar::~ProgressBar() {
  if (!active_ || drawn_ == 0) return;
  try {
    *out_ << '\n' << std::flush;
  } catch (...) {  // the stream may throw, a destructor must not
  }
}

void ProgressBar::start(std::string_view default_label, std::int64_t done) {
  if (active_ && drawn_ > 0) *out_ << '\n';
  label_ = options_.label.empty() ? std::string(default_label) : options_.label;
  first_ = done_ = done;
  samples_ = 0;
  drawn_ = 0;
  values_.clear();
  active_ = true;
  start_ = last_drawn_ = now();
}

void ProgressBar::step(std::int64_t samples) {
  ++done_;
  samples_ += samples;
  if (now() - last_drawn_ < interval_ || done_ >= total_) return;
  draw(false);
  last_drawn_ = now();
}

void ProgressBar::finish() {
  if (!active_) return;
  draw(true);
  active_ = false;
  for (auto& value : values_) value.tensor = Tensor();
}

ProgressBar::Value& ProgressBar::value_of(std::string_view name) {
  const auto found = std::find_if(values_.begin(), values_.end(), [&](const Value& v) { return v.name == name; });
  if (found != values_.end()) return *found;
  return values_.emplace_back(Value{std::string(name), 0, {}});
}

ProgressBar& ProgressBar::show(std::string_view name, double value) {
  Value& shown = value_of(name);
  shown.number = value;
  shown.tensor = Tensor();
  return *this;
}

ProgressBar& ProgressBar::show(std::string_view name, const Tensor& value, SourceLocation where) {
  if (!value.defined())
    throw ValueError("show: the tensor '" + std::string(name) + "' is undefined\nshow it after it was computed", where);
  if (value.numel() != 1)
    throw ShapeError("show: '" + std::string(name) + "' must have one element\n  value  " + describe(value) +
                         "\nreduce it first, e.g. by mean",
                     where);
  // A tensor without autograd state, so that the graph of the step can be freed.
  value_of(name).tensor =
      Tensor(value.storage(), value.dtype(), value.shape(), value.strides(), value.storage_offset());
  return *this;
}

double ProgressBar::elapsed() const { return now() - start_; }

double ProgressBar::images_per_second() const {
  const double seconds = elapsed();
  return seconds > 0 ? static_cast<double>(samples_) / seconds : 0;
}

std::string ProgressBar::line() const {
  std::string text = label_.empty() ? "" : label_ + "  ";
  if (terminal_) text += bar_text(done_, total_);
  const std::string total = std::to_string(total_);
  text += fmt::format("{:>{}}/{}", done_, total.size(), total);
  for (const auto& value : values_)
    text += fmt::format("  {} {:.4f}", value.name, value.tensor.defined() ? value.tensor.item<double>() : value.number);
  text += fmt::format("  {:.0f} images/s", images_per_second());
  if (done_ >= total_) return text + "  " + clock_text(elapsed());
  if (done_ == first_) return text;
  return text + "  ETA " +
         clock_text(elapsed() / static_cast<double>(done_ - first_) * static_cast<double>(total_ - done_));
}

void ProgressBar::draw(bool last) {
  std::string text = line();
  if (!terminal_) {
    *out_ << text << '\n' << std::flush;
    return;
  }
  text.resize(std::min(text.size(), columns() - 1));  // a wrapped line could not be redrawn
  const std::size_t length = text.size();
  if (drawn_ > length) text.append(drawn_ - length, ' ');
  *out_ << '\r' << text;
  if (last) *out_ << '\n';
  *out_ << std::flush;
  drawn_ = last ? 0 : length;
}

}  // namespace minnow::data
