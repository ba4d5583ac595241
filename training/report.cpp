#include <minnow/training/report.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>
#include <minnow/training/detail/machine.h>
#include <minnow/training/detail/png.h>
#include <minnow/training/detail/report_page.h>

namespace minnow::training {
namespace {

using Entries = std::vector<HistoryEntry>;
using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kMostPoints = 2000;  // of a curve
constexpr std::int64_t kMostClasses = 40;  // of a matrix that is shown whole
constexpr std::int64_t kMostPixels = 256;  // of a picture's sides
constexpr std::size_t kMostConfusions = 40;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (c == '\'') out += "&#39;";
    else out += c;
  }
  return out;
}
std::string section_of(const char* title, const std::string& body) {
  return body.empty() ? "" : fmt::format("<section><h2>{}</h2>\n{}</section>\n", title, body);
}
/// One row of cells, which are HTML already.
template <class... Cells> std::string row_of(const std::string& name, const Cells&... cells) {
  return "<tr><th>" + escaped(name) + "</th>" + (fmt::format("<td class=\"n\">{}</td>", cells) + ...) + "</tr>\n";
}

bool is_strange(const HistoryEntry& e) { return !std::isfinite(e.value); }
/// Where sign * value is largest, of those that are finite; the first one if there is none.
std::size_t extreme_of(std::span<const HistoryEntry> of, double sign) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < of.size(); ++i)
    if (!is_strange(of[i]) && (is_strange(of[best]) || sign * of[i].value > sign * of[best].value)) best = i;
  return best;
}

/// Of many points those that show the shape: of each stretch its ends, its lowest, its highest, and the first that is
/// NaN or infinite.
Entries thinned(const Entries& all) {
  constexpr std::size_t kStretches = kMostPoints / 5;
  if (all.size() <= kMostPoints) return all;
  Entries kept;
  for (std::size_t s = 0; s < kStretches; ++s) {
    const std::size_t begin = all.size() * s / kStretches, count = all.size() * (s + 1) / kStretches - begin;
    const std::span part = std::span(all).subspan(begin, count);
    const auto strange = static_cast<std::size_t>(std::find_if(part.begin(), part.end(), is_strange) - part.begin());
    std::array chosen{std::size_t{0}, extreme_of(part, -1), extreme_of(part, 1), std::min(strange, count - 1),
                      count - 1};
    std::sort(chosen.begin(), chosen.end());
    for (auto i = chosen.begin(), last = std::unique(i, chosen.end()); i != last; ++i) kept.push_back(part[*i]);
  }
  return kept;
}

/// The entries by name, in the order of their steps; names in the order in which they were logged first.
std::vector<Entries> curves_of(const History& history) {
  std::vector<Entries> curves;
  std::map<std::string_view, std::size_t> places;
  for (const HistoryEntry& e : history.entries()) {
    const auto [place, is_new] = places.emplace(e.name, curves.size());
    if (is_new) curves.emplace_back();
    curves[place->second].push_back(e);
  }
  for (Entries& curve : curves)
    std::stable_sort(curve.begin(), curve.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return curves;
}

std::string curves_section(const History& history) {
  std::string json, rows;
  std::int64_t epochs = 0, steps = 0;
  for (const Entries& all : curves_of(history)) {
    const auto strange = std::count_if(all.begin(), all.end(), is_strange);
    const Entries shown = thinned(all);
    std::string step, epoch, value;
    for (const HistoryEntry& e : shown) {
      const char* const comma = step.empty() ? "" : ",";
      step += fmt::format("{}{}", comma, e.step), epoch += fmt::format("{}{}", comma, e.epoch);
      value += comma + (std::isnan(e.value)   ? "null"
                        : std::isinf(e.value) ? (e.value > 0 ? "1e999" : "-1e999")
                                              : fmt::format("{:.6g}", e.value));
    }
    std::string name = io::detail::json_quoted(all[0].name);
    for (std::size_t at = 0; (at = name.find('<', at)) != std::string::npos;)
      name.replace(at, 1, "\\u003c");  // </script>
    json += fmt::format(
        "{}{{\"name\":{},\"count\":{},\"strange\":{},\"from\":{},\n\"steps\":[{}],\n\"epochs\":[{}],\n\"values\":[{}]}"
        "}",
        json.empty() ? "" : ",\n", name, all.size(), strange,
        strange > 0 ? std::find_if(all.begin(), all.end(), is_strange)->step : 0, step, epoch, value);
    const auto extreme = [&](double sign) {
      const HistoryEntry& e = all[extreme_of(all, sign)];
      return fmt::format("{:.5g} (step {})", e.value, e.step);
    };
    rows += row_of(all[0].name, all.size(), fmt::format("{:.5g}", all.back().value), extreme(-1), extreme(1));
    for (const HistoryEntry& e : all) epochs = std::max(epochs, e.epoch + 1), steps = std::max(steps, e.step);
  }
  if (json.empty()) return "";
  return section_of(
      "Curves",
      fmt::format("<p>{} steps in {} epochs</p>\n<div class=\"charts\"></div>\n<noscript><p>A script draws the curves; "
                  "their numbers are below.</p></noscript>\n<details><summary>As numbers</summary>"
                  "<div class=\"scroll\"><table>\n<tr><th>name</th><th class=\"n\">values</th><th class=\"n\">last</th>"
                  "<th class=\"n\">lowest</th><th class=\"n\">highest</th></tr>\n{}</table></div></details>\n"
                  "<script type=\"application/json\" id=\"curves\">[{}]</script>\n",
                  steps, epochs, rows, json));
}

std::string class_name(const ReportOptions& o, std::int64_t number) {
  const auto i = static_cast<std::size_t>(number);
  return number >= 0 && i < o.class_names.size() ? o.class_names[i] : std::to_string(number);
}

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "–"; }

/// A table of the whole matrix, with recall and precision.
std::string matrix_table(const ReportOptions& o, const std::vector<Numbers>& counts, const Numbers& wanted,
                         const Numbers& found) {
  std::string head = "<th>is \\ taken for</th>", rows, last = "<th>precision</th>";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto name = [&](std::size_t c) { return class_name(o, static_cast<std::int64_t>(c)); };
    head += fmt::format("<th{}><span>{}</span></th>", name(i).size() > 4 ? " class=\"tall\"" : "", escaped(name(i)));
    rows += "<tr><th>" + escaped(name(i)) + "</th>";
    for (std::size_t j = 0; j < counts.size(); ++j) {
      const auto n = static_cast<double>(counts[i][j]);
      // A power: of what is rare something can be seen.
      const double share = wanted[i] > 0 ? std::pow(n / static_cast<double>(wanted[i]), 0.4) : 0;
      rows += n == 0 ? "<td>·</td>"
                     : fmt::format("<td class=\"{}{}\" style=\"--a:{:.2f}\" title=\"{} taken for {}: {}\">{}</td>",
                                   i == j ? "hit" : "miss", share > 0.75 ? " full" : "", share, escaped(name(i)),
                                   escaped(name(j)), percent(n, static_cast<double>(wanted[i])), counts[i][j]);
    }
    const auto hits = static_cast<double>(counts[i][i]);
    rows += "<th>" + percent(hits, static_cast<double>(wanted[i])) + "</th></tr>\n";
    last += "<th>" + percent(hits, static_cast<double>(found[i])) + "</th>";
  }
  return "<div class=\"scroll\"><table class=\"matrix\">\n<thead><tr>" + head + "<th>recall</th></tr></thead>\n" +
         rows + "<tr>" + last + "<th></th></tr>\n</table></div>\n";
}

std::string confusion_section(const ReportOptions& o, SourceLocation where) {
  if (!o.confusion) return "";
  const Tensor all = o.confusion->counts();
  const std::int64_t classes = all.size(0);
  if (!o.class_names.empty() && std::ssize(o.class_names) != classes)
    throw ValueError(fmt::format("report: there are {} class_names, and the confusion matrix has {} classes\n"
                                 "give one for each class, or none",
                                 o.class_names.size(), classes),
                     where);
  std::vector<Numbers> counts;
  Numbers wanted(static_cast<std::size_t>(classes)), found = wanted;
  struct Confusion {
    std::int64_t count, is, taken;
  };
  std::vector<Confusion> worst;
  for (std::int64_t i = 0; i < classes; ++i) {
    counts.push_back(all.select(0, i).to_vector<std::int64_t>());
    for (std::int64_t j = 0; j < classes; ++j) {
      const std::int64_t n = counts.back()[static_cast<std::size_t>(j)];
      wanted[static_cast<std::size_t>(i)] += n, found[static_cast<std::size_t>(j)] += n;
      if (i != j && n > 0) worst.push_back({n, i, j});
    }
  }
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  if (worst.size() > kMostConfusions) worst.resize(kMostConfusions);
  std::int64_t samples = 0;
  for (const std::int64_t n : wanted) samples += n;
  if (samples == 0) return section_of("Confusion matrix", "<p>no samples</p>\n");
  std::string text = fmt::format("<p>accuracy {:.2f} %, F1 {:.4f} (mean of the classes), {} samples</p>\n",
                                 100 * o.confusion->accuracy(), o.confusion->f1(metrics::Average::macro), samples);
  if (classes <= kMostClasses) return section_of("Confusion matrix", text + matrix_table(o, counts, wanted, found));
  text += "<table>\n<tr><th>is</th><th class=\"n\">taken for</th><th class=\"n\">times</th></tr>\n";
  for (const Confusion& c : worst) text += row_of(class_name(o, c.is), escaped(class_name(o, c.taken)), c.count);
  return section_of("Most frequent confusions", text + "</table>\n");
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t b = 0; b < 3; ++b)
      group = group << 8 | (i + b < bytes.size() ? static_cast<unsigned char>(bytes[i + b]) : 0u);
    for (std::size_t d = 0; d < 4; ++d) text += i + d <= bytes.size() ? kDigits[group >> (18 - 6 * d) & 63] : '=';
  }
  return text;
}

/// An image [C, H, W] of float32; large ones are made smaller.
std::string picture_of(const Tensor& image, float low, float high) {
  const std::int64_t apart =
      std::max<std::int64_t>(1, (std::max(image.size(1), image.size(2)) + kMostPixels - 1) / kMostPixels);
  const Tensor small = image(all, slice({}, {}, apart), slice({}, {}, apart));
  const double from = low, to = high;  // their distance may be too large for a float32
  const Tensor shares = clamp((nan_to_num(small.to(DType::float64), from) - from) / (to - from), 0, 1);
  const std::string png = detail::encode_png((255 * shares + 0.5).to(DType::uint8));
  return fmt::format("<img{} alt=\"\" src=\"data:image/png;base64,{}\">", image.size(2) < 112 ? " class=\"small\"" : "",
                     base64(png));
}

void check_images(const ReportImages& of, SourceLocation where) {
  const std::int64_t count = of.images.dim() > 0 ? of.images.size(0) : 0;
  const auto is_list = [&](const Tensor& t) { return t.defined() && t.dim() == 1 && t.size(0) == count; };
  const std::int64_t channels = of.images.dim() == 4 ? of.images.size(1) : 0;
  if ((channels != 1 && channels != 3) || of.images.size(2) == 0 || of.images.size(3) == 0 || !is_list(of.labels) ||
      !is_list(of.predictions) || (of.losses.defined() && !is_list(of.losses)))
    throw ShapeError(
        "report: images are [N, C, H, W], where C is 1 or 3, and labels, predictions and losses [N]\n"
        "  images       " +
            describe(of.images) + "\n  labels       " + describe(of.labels) + "\n  predictions  " +
            describe(of.predictions) + "\n  losses       " + describe(of.losses) + "\ngive those of the same samples",
        where);
  if (of.images.dtype() != DType::uint8 && !of.images.is_floating_point())
    throw DTypeError(
        "report: images are uint8 or floating-point\n  images  " + describe(of.images) +
            (of.images.dtype() == DType::bool_ ? "\nconvert them: .to(float32)" : "\nconvert them: .to(uint8)"),
        where);
  if (of.labels.dtype() != DType::int64 || of.predictions.dtype() != DType::int64 ||
      (of.losses.defined() && !of.losses.is_floating_point()))
    throw DTypeError("report: labels and predictions are int64, losses floating-point\n  labels       " +
                         describe(of.labels) + "\n  predictions  " + describe(of.predictions) + "\n  losses       " +
                         describe(of.losses) + "\nconvert them: .to(int64), .to(float32)",
                     where);
  if (of.count < 0) throw ValueError(fmt::format("report: images.count is {}\ngive 0 or more", of.count), where);
}

std::string images_section(const ReportOptions& o, SourceLocation where) {
  const ReportImages& of = o.images;
  if (!of.images.defined()) return "";
  check_images(of, where);
  const Numbers labels = of.labels.to_vector<std::int64_t>(), predictions = of.predictions.to_vector<std::int64_t>();
  const std::vector<double> losses = of.losses.defined() ? of.losses.to_vector<double>() : std::vector<double>();
  std::vector<std::size_t> mistakes;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != predictions[i]) mistakes.push_back(i);
  const std::size_t all = mistakes.size();
  if (!losses.empty())
    std::stable_sort(mistakes.begin(), mistakes.end(), [&](std::size_t a, std::size_t b) {
      const bool nan_a = std::isnan(losses[a]), nan_b = std::isnan(losses[b]);  // what is worst
      return nan_a != nan_b ? nan_a : losses[a] > losses[b];
    });
  mistakes.resize(std::min(all, static_cast<std::size_t>(of.count)));
  std::vector<Tensor> images;
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (const std::size_t i : mistakes) {
    images.push_back(of.images.select(0, static_cast<std::int64_t>(i)).detach().cpu().to(DType::float32));
    for (const float v : images.back().to_vector<float>())
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
  if (of.images.dtype() == DType::uint8) low = 0, high = 255;
  else if ((low >= 0 && high <= 1) || low >= high) low = 0, high = 1;
  std::string text = fmt::format("<p>{} of {} are wrong{}</p>\n<div class=\"pictures\">\n", all, labels.size(),
                                 losses.empty() || all == 0 ? "" : "; those with the highest loss first");
  for (std::size_t m = 0; m < mistakes.size(); ++m) {
    const std::size_t i = mistakes[m];
    text += fmt::format("<figure>{}<figcaption><b>{} taken for {}</b>{}number {}</figcaption></figure>\n",
                        picture_of(images[m], low, high), escaped(class_name(o, labels[i])),
                        escaped(class_name(o, predictions[i])),
                        losses.empty() ? "" : fmt::format("loss {:.4g}, ", losses[i]), i);
  }
  return section_of("Worst mistakes", text + "</div>\n");
}

std::string times_section(const ReportOptions& o) {
  double sum = 0, most = 0;
  for (const auto& [name, seconds] : o.times) sum += seconds, most = std::max(most, seconds);
  std::string rows;
  for (const auto& [name, seconds] : o.times)
    rows += fmt::format(
        "<tr><th>{}</th><td class=\"n\">{:.2f} s</td><td class=\"n\">{}</td><td><div class=\"bar\" "
        "style=\"width:{:.1f}%\"></div></td></tr>\n",
        escaped(name), seconds, percent(seconds, sum), most > 0 ? 100 * seconds / most : 0.0);
  return section_of("Time by part", rows.empty() ? "" : "<table class=\"times\">\n" + rows + "</table>\n");
}

std::string facts_section(const ReportOptions& o, SourceLocation where) {
  std::string rows;
  auto facts = o.facts;
  for (auto& fact : detail::machine_facts(o.device, where)) facts.push_back(std::move(fact));
  for (const auto& [name, value] : facts)
    rows += "<tr><th>" + escaped(name) + "</th><td>" + escaped(value) + "</td></tr>\n";
  return section_of("Run and machine", "<table class=\"facts\">\n" + rows + "</table>\n");
}

}  // namespace

void report(const std::string& path, const History& history, const ReportOptions& o, SourceLocation where) {
  const std::string title = escaped(o.title.empty() ? "Training report" : o.title);
  const std::string layers =
      o.layers.empty() ? "" : "<div class=\"scroll\"><pre>" + escaped(o.layers) + "</pre></div>\n";
  const std::string curves = curves_section(history);
  const std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>" +
      title + "</title>\n<style>" + detail::kReportStyle + "</style>\n</head>\n<body>\n<main>\n<h1>" + title +
      "</h1>\n" + curves + confusion_section(o, where) + images_section(o, where) + times_section(o) +
      section_of("Layers", layers) + facts_section(o, where) + "</main>\n" +
      (curves.empty() ? "" : std::string("<script>") + detail::kReportScript + "</script>\n") + "</body>\n</html>\n";
  io::AtomicFile file("report", path, where);
  file.write(std::as_bytes(std::span(page)));
  file.commit();
}

}  // namespace minnow::training
