#include "harness/harness.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

double seconds_now(const Settings& settings) {
  timespec now{};
  clock_gettime(settings.cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
}

double time_of(const std::function<void()>& step, int count, const Settings& settings) {
  settings.synchronize();
  const double start = seconds_now(settings);
  for (int i = 0; i < count; ++i) step();
  settings.synchronize();
  return (seconds_now(settings) - start) / count;
}

/// Seconds of a step: the median of `repeat` samples; each runs enough steps to take at least 20 ms.
double measure(const std::function<void()>& step, int repeat, const Settings& settings) {
  constexpr double kSample = 0.02;
  double once = time_of(step, 1, settings);
  if (settings.quick) return once;
  // The first run is a warm-up: on a GPU it may select algorithms for seconds.
  once = time_of(step, 1, settings);
  if (once < kSample) once = time_of(step, std::clamp(static_cast<int>(kSample / 4 / once), 1, 1000), settings);
  const int count = std::max(1, static_cast<int>(std::ceil(kSample / once)));
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) times.push_back(time_of(step, count, settings));
  return median(std::move(times));
}

/// JSON has no NaN and no infinity.
std::string in_json(double value) {
  char text[32] = "null";
  if (std::isfinite(value)) std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// The largest resident size of this program, in bytes; getrusage() counts what the process was before it, too.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024.0 * std::stod(line.substr(6));
  return 0;
}

/// False when it failed.
bool report(const Workload& workload, const Settings& settings, int repeat) {
  bool done = false;
  try {
    Settings own = settings;
    own.seed = repeat;
    const Ready ready = workload.prepare(own);
    double best = ready.seconds;
    std::string name;
    for (const Variant& v : ready.variants) {
      const double seconds = measure(v.step, repeat, settings);
      if (!name.empty() && seconds >= best) continue;
      best = seconds;
      name = v.name;
    }
    std::printf(R"({"name": "%s", "variant": "%s", "seconds": %s, "peak": %.0f, "values": [)", workload.name.c_str(),
                name.c_str(), in_json(best).c_str(), peak_memory());
    for (std::size_t i = 0; i < ready.values.size(); ++i)
      std::printf("%s%s", i ? ", " : "", in_json(ready.values[i]).c_str());
    std::printf("]}\n");
    done = true;
  } catch (const std::exception& error) {
    std::printf(R"({"name": "%s", "error": "%s"})"
                "\n",
                workload.name.c_str(), escaped(error.what()).c_str());
  }
  std::fflush(stdout);
  return done;
}

struct Arguments {
  Settings settings;
  std::string only;
  int repeat = 5;
  bool serve = false, list = false;
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  const char* data = std::getenv("MINNOW_DATA");
  if (data) a.settings.data = data;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--serve") a.serve = true;
    else if (option == "--list") a.list = true;
    else if (option == "--quick") a.settings.quick = true;
    else if (option == "--deterministic") a.settings.deterministic = true;
    else if (option == "--cpu-time") a.settings.cpu_time = true;
    else if (i + 1 < argc && option == "--device") a.settings.device = argv[++i];
    else if (i + 1 < argc && option == "--only") a.only = argv[++i];
    else if (i + 1 < argc && option == "--data") a.settings.data = argv[++i];
    else if (i + 1 < argc && option == "--files") a.settings.files = argv[++i];
    else if (i + 1 < argc && option == "--threads") a.settings.threads = std::atoi(argv[++i]);
    else if (i + 1 < argc && option == "--repeat") a.repeat = std::atoi(argv[++i]);
    else
      throw std::runtime_error(
          "usage: [--device D] [--threads N] [--data DIR] [--files DIR] [--repeat N] [--quick] [--cpu-time] "
          "[--only NAME | --serve | --list]");
  }
  return a;
}

/// Whether a workload is listed for the device.
bool listed(const Workload& w, const Settings& s) {
  if (w.devices == For::kAsked) return false;
  return w.devices == For::kAll || (w.devices == For::kCpu) == (s.device == "cpu");
}

void serve(const std::vector<Workload>& workloads, const Settings& settings,
           const std::function<void(const Settings&)>& clean_up) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name;
    int repeat = 5;
    words >> name >> repeat;
    const auto found =
        std::find_if(workloads.begin(), workloads.end(), [&](const Workload& w) { return w.name == name; });
    if (found == workloads.end()) {
      std::printf("{\"name\": \"%s\", \"error\": \"there is no such workload\"}\n", escaped(name).c_str());
      std::fflush(stdout);
    } else {
      report(*found, settings, repeat);
    }
    clean_up(settings);
  }
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

int run(int argc, char** argv, const std::vector<Workload>& workloads, const std::function<void(Settings&)>& start,
        const std::function<void(const Settings&)>& clean_up) {
  int status = 0;
  try {
    Arguments arguments = parse(argc, argv);
    if (arguments.list) {
      for (const Workload& w : workloads)
        if (listed(w, arguments.settings)) std::printf("%s\n", w.name.c_str());
      return 0;
    }
    start(arguments.settings);
    if (arguments.serve) {
      serve(workloads, arguments.settings, clean_up);
      return 0;
    }
    for (const Workload& w : workloads) {
      if (arguments.only.empty() ? !listed(w, arguments.settings) : w.name != arguments.only) continue;
      if (!report(w, arguments.settings, arguments.repeat)) status = 1;
      clean_up(arguments.settings);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return status;
}

float number(std::uint32_t seed, std::uint32_t i) {
  std::uint32_t x = (i + seed * 1000003u) * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return static_cast<float>(static_cast<double>(x) / 2147483648.0 - 1.0);
}

std::vector<float> numbers(std::uint32_t seed, std::int64_t n, double scale) {
  std::vector<float> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = number(seed, static_cast<std::uint32_t>(i)) * static_cast<float>(scale);
  return out;
}

std::vector<double> digest(const float* data, std::span<const std::int64_t> shape,
                           std::span<const std::int64_t> strides) {
  std::int64_t numel = 1;
  for (const std::int64_t size : shape) numel *= size;
  const std::int64_t count = std::min<std::int64_t>(997, numel);
  std::vector<double> out(2);
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t flat = k * numel / count, offset = 0;
    for (std::size_t d = shape.size(); d-- > 0; flat /= shape[d]) offset += flat % shape[d] * strides[d];
    const double value = data[offset];
    out[0] += value / static_cast<double>(count);
    out[1] += std::abs(value) / static_cast<double>(count);
    if (k % 143 == 71) out.push_back(value);
  }
  return out;
}

}  // namespace bench
