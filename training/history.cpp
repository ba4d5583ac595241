#include <minnow/training/history.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>

namespace minnow::training {
namespace {

constexpr std::string_view kHeader = "step,epoch,name,value\n";

enum class Format { csv, json };
Format format_of(const std::string& path, SourceLocation where) {
  if (path.ends_with(".csv")) return Format::csv;
  if (path.ends_with(".jsonl")) return Format::json;
  throw ValueError("History: '" + path + "' has no format\nlet it end with .csv or .jsonl", where);
}

std::string line_of(const HistoryEntry& e, Format format) {
  if (format == Format::json) {
    const std::string value = std::isnan(e.value)   ? "null"
                              : std::isinf(e.value) ? (e.value > 0 ? "1e999" : "-1e999")
                                                    : fmt::format("{}", e.value);
    return fmt::format("{{\"step\":{},\"epoch\":{},\"name\":{},\"value\":{}}}\n", e.step, e.epoch,
                       io::detail::json_quoted(e.name), value);
  }
  std::string name = e.name;
  if (name.find_first_of(",\"") != std::string::npos) {
    for (std::size_t at = 0; (at = name.find('"', at)) != std::string::npos; at += 2) name.insert(at, 1, '"');
    name = '"' + name + '"';
  }
  return fmt::format("{},{},{},{}\n", e.step, e.epoch, name, e.value);
}

/// Whether all of the text is a number, which `to` becomes.
template <class T> bool parse(std::string_view text, T& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  if constexpr (std::is_floating_point_v<T>)
    if (error == std::errc::result_out_of_range)
      to = text.front() == '-' ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  return end == text.data() + text.size() && (error == std::errc() || error == std::errc::result_out_of_range);
}

bool parse_csv(std::string_view line, HistoryEntry& e) {
  const std::size_t first = line.find(','), second = line.find(',', first + 1), last = line.rfind(',');
  if (first == std::string_view::npos || second == std::string_view::npos || last == second) return false;
  std::string_view name = line.substr(second + 1, last - second - 1);
  e.name = name;
  if (name.starts_with('"')) {
    if (name.size() < 2 || !name.ends_with('"')) return false;
    e.name = name.substr(1, name.size() - 2);
    for (std::size_t at = 0; (at = e.name.find("\"\"", at)) != std::string::npos; ++at) e.name.erase(at, 1);
  }
  return parse(line.substr(0, first), e.step) && parse(line.substr(first + 1, second - first - 1), e.epoch) &&
         parse(line.substr(last + 1), e.value) && e.step >= 0 && e.epoch >= 0 && !e.name.empty();
}

bool parse_json(std::string_view line, HistoryEntry& e) {
  constexpr std::string_view kValue = "\"value\":";
  const std::size_t at = line.rfind(kValue);
  if (at == std::string_view::npos || !line.ends_with('}')) return false;
  try {
    io::detail::JsonReader reader(line);
    int members = 0;
    reader.object("an object", [&](const std::string& name) {
      ++members;
      if (name == "step") e.step = reader.integer("a step");
      else if (name == "epoch") e.epoch = reader.integer("an epoch");
      else if (name == "name") e.name = reader.string("a name");
      else reader.skip_value();
    });
    reader.end();
    if (members != 4 || e.name.empty()) return false;
  } catch (const io::detail::Refusal&) { return false; }
  const std::string_view value = line.substr(at + kValue.size(), line.size() - 1 - at - kValue.size());
  if (value != "null") return parse(value, e.value);
  e.value = std::numeric_limits<double>::quiet_NaN();
  return true;
}

std::string text_of(const std::vector<HistoryEntry>& entries, Format format) {
  std::string text(format == Format::csv ? kHeader : "");
  for (const HistoryEntry& e : entries) text += line_of(e, format);
  return text;
}

void write_file(const std::string& path, const std::string& text, SourceLocation where) {
  io::AtomicFile file("History", path, where);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

std::string absolute(const std::string& path) {
  std::error_code failed;
  const auto whole = std::filesystem::absolute(path, failed);
  return failed ? path : whole.string();
}

/// Whether a last line without an end is the beginning of one that was written here.
bool is_cut_off(std::string_view rest, Format format, bool first) {
  const auto begins = [](std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with.substr(0, text.size());
  };
  if (format == Format::json) return begins(rest, "{\"step\":");
  return first ? begins(rest, kHeader) : rest.find_first_not_of("0123456789") == rest.find(',');
}

struct Content {
  std::vector<HistoryEntry> entries{};
  std::size_t size = 0;  ///< of the whole lines
  bool ends = true;      ///< whether the last of them has its end
};
Content content_of(const std::string& path, SourceLocation where) {
  const Format format = format_of(path, where);
  const io::InputFile file("History", path, where);
  std::string text(file.size(), '\0');
  text.resize(file.read_some(0, std::as_writable_bytes(std::span(text))));
  Content content;
  for (int number = 1; content.size < text.size(); ++number) {
    const std::size_t at = content.size, end = text.find('\n', at);
    const std::string_view line = std::string_view(text).substr(at, end == std::string::npos ? end : end - at);
    const bool is_first = format == Format::csv && number == 1;
    HistoryEntry e;
    const bool is_header = is_first && line == kHeader.substr(0, kHeader.size() - 1);
    const bool is_entry = !is_first && (format == Format::csv ? parse_csv(line, e) : parse_json(line, e));
    // A whole object needs no end; of a number, or a header, more may have followed.
    const bool may_be_whole = format == Format::json && is_entry;
    if (end == std::string::npos && !may_be_whole && is_cut_off(line, format, is_first)) break;
    if (!is_header && !is_entry)
      throw FormatError(
          fmt::format("History: '{}' is no history that minnow has written\n  line {} is {}\ngive another file", path,
                      number, io::detail::json_quoted(line.substr(0, 80))),
          where);
    if (is_entry) content.entries.push_back(std::move(e));
    content.ends = end != std::string::npos;
    content.size = content.ends ? end + 1 : text.size();
  }
  return content;
}

}  // namespace

/// A file that lines are appended to.
class History::File {
 public:
  File(const std::string& given, SourceLocation where) : path(absolute(given)), format(format_of(given, where)) {
    file_ = opened(where);
  }

  /// The entries of whole lines; what was cut off behind them is removed.
  std::vector<HistoryEntry> begin(SourceLocation where) {
    Content content = content_of(path, where);
    file_->cut(content.size, where);
    if (!content.ends) append("\n", where);
    if (content.size == 0 && format == Format::csv) append(kHeader, where);
    return std::move(content.entries);
  }
  void append(std::string_view text, SourceLocation where) { file(where).append(text, where); }
  void replace(const std::string& text, SourceLocation where) {
    file_.reset();  // not each Windows replaces an open file
    write_file(path, text, where);
    file(where);
  }

  const std::string path;
  const Format format;

 private:
  io::AppendFile& file(SourceLocation where) {
    if (!file_) {
      auto next = opened(where);
      next->cut(content_of(path, where).size, where);
      file_ = std::move(next);
    }
    return *file_;
  }
  std::unique_ptr<io::AppendFile> opened(SourceLocation where) const {
    auto file = std::make_unique<io::AppendFile>("History", path, where);
    if (!file->lock())
      throw IoError("History: '" + path +
                        "' is written to by another History\nuse one in one program; History::read() "
                        "only looks at a file",
                    where);
    return file;
  }

  std::unique_ptr<io::AppendFile> file_;
};

History::History() = default;
History::History(std::string path, SourceLocation where) : file_(std::make_unique<File>(std::move(path), where)) {
  entries_ = file_->begin(where);
}
History::~History() = default;
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;

void History::log(const std::string& name, double value, Place at, SourceLocation where) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.empty() || !io::detail::is_utf8(name) || std::any_of(name.begin(), name.end(), is_control))
    throw ValueError("History: " + io::detail::json_quoted(name) +
                         " is no name for a number\ngive words of UTF-8 without line breaks, e.g. train/loss",
                     where);
  if (at.step < 0 || at.epoch < 0)
    throw ValueError(fmt::format("History: step {} and epoch {}\nthey count from 0", at.step, at.epoch), where);
  entries_.push_back({at.step, at.epoch, name, value});
  if (file_) file_->append(line_of(entries_.back(), file_->format), where);
}

const std::vector<HistoryEntry>& History::entries() const { return entries_; }
std::vector<HistoryEntry> History::of(const std::string& name) const {
  std::vector<HistoryEntry> found;
  std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(found),
               [&](const HistoryEntry& e) { return e.name == name; });
  return found;
}

std::vector<HistoryEntry> History::read(const std::string& path, SourceLocation where) {
  return content_of(path, where).entries;
}

void History::keep_first(std::size_t count, SourceLocation where) {
  if (count >= entries_.size()) return;
  entries_.resize(count);
  if (file_) file_->replace(text_of(entries_, file_->format), where);
}

void History::save(const std::string& path, SourceLocation where) const {
  if (file_ && absolute(path) == file_->path)
    throw ValueError("History: '" + path + "' is its own file\neach entry is there already", where);
  write_file(path, text_of(entries_, format_of(path, where)), where);
}

}  // namespace minnow::training
