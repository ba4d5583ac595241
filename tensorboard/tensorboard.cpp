#include <minnow/tensorboard/tensorboard.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensorboard/detail/event.h>
#include <minnow/training/detail/png.h>

namespace minnow::tensorboard {

void detail::require_utf8(const char* op, const std::string& text, SourceLocation where, bool may_be_empty) {
  if (text.empty() && !may_be_empty)
    throw ValueError(std::string(op) + ": \"\" is no name\ngive one, e.g. train/loss", where);
  if (io::detail::is_utf8(text)) return;
  std::string shown;  // the error itself is UTF-8
  for (const char c : text.substr(0, 80))
    shown += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  throw ValueError(std::string(op) + ": \"" + shown + "\" is not UTF-8\nconvert it", where);
}

namespace {

using detail::require_utf8;

using protozero::pbf_writer;

std::string scalar_of(const std::string& name, double value, std::int64_t step) {
  return detail::summary_of(name, step, [&](pbf_writer& v) { v.add_float(2, static_cast<float>(value)); });
}

/// Where the buckets begin and end.
const std::vector<double>& bucket_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> all;
    for (double v = 1e-12; v < 1e20; v *= 1.1) all.push_back(-v);
    std::reverse(all.begin(), all.end());
    all.push_back(0);
    for (auto i = static_cast<std::ptrdiff_t>(all.size()) - 2; i >= 0; --i)
      all.push_back(-all[static_cast<std::size_t>(i)]);
    return all;
  }();
  return edges;
}

/// HistogramProto.
std::string histogram_of(const std::vector<double>& values) {
  const std::vector<double>& edges = bucket_edges();
  std::vector<double> counts(edges.size() - 1);
  const std::size_t middle = edges.size() / 2;  // 0
  const double zero = static_cast<double>(middle), per_log = 1 / std::log(1.1);
  double num = 0, sum = 0, squares = 0, least = kInfinity, most = -kInfinity;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    // Near it by the logarithm: a search among all of them takes twice as long.
    const double steps = std::clamp(std::log(std::abs(x) * 1e12) * per_log, 0.0, zero - 1);
    auto at = static_cast<std::size_t>(zero + std::copysign(steps, x));
    while (at + 1 < counts.size() && x >= edges[at + 1]) ++at;
    while (at > 0 && x < edges[at]) --at;
    ++counts[at];
    ++num, sum += x, squares += x * x;
    least = std::min(least, x), most = std::max(most, x);
  }
  std::string bytes;
  pbf_writer histogram(bytes);
  if (num == 0) return bytes;
  histogram.add_double(1, least);
  histogram.add_double(2, most);
  histogram.add_double(3, num);
  histogram.add_double(4, sum);
  histogram.add_double(5, squares);
  const auto is_used = [](double count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_used);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), is_used).base();  // one behind it
  // Only where a bucket ends is kept: an empty one says where the first begins.
  std::vector<double> used{0};
  used.insert(used.end(), first, last);
  const auto limit = edges.begin() + (first - counts.begin());
  histogram.add_packed_double(6, limit, limit + static_cast<std::ptrdiff_t>(used.size()));
  histogram.add_packed_double(7, used.begin(), used.end());
  return bytes;
}

/// Bytes [C, H, W].
Tensor pixels_of(const In& image) {
  const Tensor& x = *image;
  const bool has_channels = x.dim() == 3 && (x.size(0) == 1 || x.size(0) == 3 || x.size(0) == 4);
  constexpr std::int64_t kMaxSide = 0x7fffffff;
  if (!(has_channels || x.dim() == 2) || x.numel() == 0 || x.size(-1) > kMaxSide || x.size(-2) > kMaxSide)
    throw ShapeError(message("an image must be [H, W] or [C, H, W] with 1, 3 or 4 channels, and have pixels",
                             {{"image", x}}, "add the images of a batch one by one"));
  if (x.dtype() != DType::uint8 && !x.is_floating_point())
    throw DTypeError(message("an image must be uint8 or floating-point", {{"image", x}},
                             x.dtype() == DType::bool_ ? "convert it: .to(float32)" : "convert it: .to(uint8)"));
  const Tensor planes = has_channels ? x.detach() : x.detach().unsqueeze(0);
  if (x.dtype() == DType::uint8) return planes;
  const std::vector<float> values = planes.to_vector<float>();
  Tensor bytes = empty(planes.shape(), DType::uint8);
  std::transform(values.begin(), values.end(), bytes.data<std::uint8_t>(), [](float v) {
    const float y = v * 255.0F + 0.5F;
    return static_cast<std::uint8_t>(y > 0 ? std::min(y, 255.0F) : 0);  // NaN becomes 0
  });
  return bytes;
}

/// HParamsPluginData of version 0 with one member.
std::string hparams_data(protozero::pbf_tag_type member, const std::string& message) {
  std::string bytes;
  pbf_writer(bytes).add_message(member, message);
  return bytes;
}

/// Experiment: HParamInfo name = 1, type = 4; MetricInfo name = 1 with tag = 2.
std::string experiment_of(const std::map<std::string, HParam>& hparams, const std::map<std::string, double>& metrics) {
  std::string bytes;
  pbf_writer experiment(bytes);
  for (const auto& [name, hparam] : hparams) {
    constexpr std::int32_t kTypes[] = {3, 2, 1};  // DATA_TYPE_FLOAT64, BOOL, STRING
    pbf_writer info(experiment, 4);
    info.add_string(1, name);
    info.add_enum(4, kTypes[hparam.value.index()]);
  }
  for (const auto& [name, value] : metrics) {
    pbf_writer info(experiment, 5), of(info, 1);
    of.add_string(2, name);
  }
  return bytes;
}

/// SessionStartInfo: a map of google.protobuf.Value, and the time.
std::string session_of(const std::map<std::string, HParam>& hparams) {
  std::string bytes;
  pbf_writer session(bytes);
  for (const auto& [name, hparam] : hparams) {
    pbf_writer entry(session, 1);
    entry.add_string(1, name);
    pbf_writer value(entry, 2);
    if (const auto* number = std::get_if<double>(&hparam.value)) value.add_double(2, *number);
    else if (const auto* text = std::get_if<std::string>(&hparam.value)) value.add_string(3, *text);
    else value.add_bool(4, std::get<bool>(hparam.value));
  }
  session.add_double(5, detail::now());
  return bytes;
}

}  // namespace

Writer::Writer(const std::string& folder, SourceLocation where) : file_(std::make_unique<File>(folder, where)) {
  file_->append(detail::event_of(0, [](pbf_writer& event) { event.add_string(3, "brain.Event:2"); }), where);
}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

Writer::File& Writer::file(SourceLocation where) const {
  if (!file_)
    throw ValueError("tensorboard::Writer: the writer was moved from\nuse the one that it was moved to", where);
  return *file_;
}
const std::string& Writer::path(SourceLocation where) const { return file(where).path(); }
void Writer::flush(SourceLocation where) { file(where).flush(where); }

void Writer::add_scalar(const std::string& name, const TensorLike& value, std::int64_t step) {
  const CallSite site("add_scalar", value.where);
  require_utf8("add_scalar", name, value.where);
  const double number = value.is_number() ? value.number.as_double() : value.tensor->item<double>();
  file(value.where).append(scalar_of(name, number, step), value.where);
}

void Writer::add_histogram(const std::string& name, const In& values, std::int64_t step) {
  const CallSite site("add_histogram", values.where);
  require_utf8("add_histogram", name, values.where);
  if (values->numel() == 0)
    throw ValueError(message("there are no elements", {{"values", *values}}, "leave an empty tensor out"));
  const std::string histogram = histogram_of(values->to_vector<double>());
  file(values.where)
      .append(detail::summary_of(name, step, [&](pbf_writer& v) { v.add_message(5, histogram); }), values.where);
}

void Writer::add_image(const std::string& name, const In& image, std::int64_t step) {
  const CallSite site("add_image", image.where);
  require_utf8("add_image", name, image.where);
  const Tensor pixels = pixels_of(image);
  const std::string png = training::detail::encode_png(pixels);
  const auto fill = [&](pbf_writer& value) {
    pbf_writer to(value, 4);
    to.add_int32(1, static_cast<std::int32_t>(pixels.size(1)));
    to.add_int32(2, static_cast<std::int32_t>(pixels.size(2)));
    to.add_int32(3, static_cast<std::int32_t>(pixels.size(0)));
    to.add_bytes(4, png);
  };
  file(image.where).append(detail::summary_of(name, step, fill), image.where);
}

void Writer::add_text(const std::string& name, const std::string& markdown, std::int64_t step, SourceLocation where) {
  require_utf8("add_text", name, where);
  require_utf8("add_text", markdown, where, true);
  const auto fill = [&](pbf_writer& value) {
    detail::add_plugin(value, "text", "");
    pbf_writer tensor(value, 8);
    tensor.add_enum(1, 7);  // DT_STRING
    {
      pbf_writer shape(tensor, 2), dim(shape, 2);
      dim.add_int64(1, 1);
    }
    tensor.add_bytes(8, markdown);
  };
  file(where).append(detail::summary_of(name + "/text_summary", step, fill), where);
}

void Writer::add_hparams(const std::map<std::string, HParam>& hparams, const std::map<std::string, double>& metrics,
                         SourceLocation where) {
  for (const auto& [name, hparam] : hparams) {
    require_utf8("add_hparams", name, where);
    if (const auto* text = std::get_if<std::string>(&hparam.value)) require_utf8("add_hparams", *text, where, true);
  }
  for (const auto& [name, value] : metrics) require_utf8("add_hparams", name, where);
  std::vector<std::string> records;
  const auto add = [&](const char* tag, const std::string& content) {
    records.push_back(detail::summary_of(tag, 0, [&](pbf_writer& v) { detail::add_plugin(v, "hparams", content); }));
  };
  add("_hparams_/experiment", hparams_data(2, experiment_of(hparams, metrics)));
  add("_hparams_/session_start_info", hparams_data(3, session_of(hparams)));
  std::string end;
  pbf_writer session(end);
  session.add_enum(1, 1);  // STATUS_SUCCESS
  session.add_double(2, detail::now());
  add("_hparams_/session_end_info", hparams_data(4, end));
  for (const auto& [name, value] : metrics) records.push_back(scalar_of(name, value, 0));
  file(where).append_hparams(records, where);
}

}  // namespace minnow::tensorboard
