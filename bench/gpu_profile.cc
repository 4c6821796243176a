#include "bench/gpu_profile.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/kernel_times.h"
#include "tensor/errors.h"
#include "tensor/gpu/launch_log.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

using gpu::LaunchLog;

constexpr int kSteps = 3;  // times, calls and bytes are means over these

std::string Demangled(const std::string& name) {
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr);
  if (text == nullptr) return name;
  const std::string demangled = text;
  std::free(text);
  return demangled;
}

// With room for what tells kernels of libraries apart: types and sizes of tiles.
std::string Shortened(std::string name) {
  constexpr size_t kMost = 90;
  if (name.starts_with("void ")) name.erase(0, 5);
  if (name.size() > kMost) name = name.substr(0, kMost - 3) + "...";
  return name;
}

// One step's calls by name, without times.
void AddLaunches(const std::vector<LaunchLog::Entry>& launches,
                 std::map<std::string, KernelLine>& lines) {
  for (const LaunchLog::Entry& entry : launches) {
    KernelLine& line = lines[entry.name];
    line.name = entry.name;
    line.own = true;
    ++line.calls;
    line.bytes += double(entry.read_bytes + entry.written_bytes);
  }
}

// Records of kSteps steps; those of our own kernels come in the order of a step's launches.
std::string AddRecords(const std::vector<KernelTimes::Record>& records,
                       const std::vector<LaunchLog::Entry>& launches,
                       std::map<std::string, KernelLine>& lines) {
  std::vector<const LaunchLog::Entry*> kernels;
  for (const LaunchLog::Entry& entry : launches) {
    if (entry.work == LaunchLog::Work::kKernel) kernels.push_back(&entry);
  }
  const auto is_own = [](const KernelTimes::Record& record) {
    return record.name.find("4dtnn") != record.name.npos;  // as the compiler mangles dtnn::
  };
  const int64_t own = std::count_if(records.begin(), records.end(), is_own);
  const bool known = own == kSteps * int64_t(kernels.size());
  size_t next = 0;
  for (const KernelTimes::Record& record : records) {
    std::string name;
    double bytes = 0;
    const std::string demangled = Demangled(record.name);
    if (!is_own(record)) {
      name = Shortened(demangled);
    } else {
      name = BodyName(demangled);
      if (known) {
        const LaunchLog::Entry& entry = *kernels[next++ % kernels.size()];
        name = StrCat(name, ": ", entry.name);
        bytes = double(entry.read_bytes + entry.written_bytes);
      }
    }
    KernelLine& line = lines[name];
    line.name = name;
    line.own = is_own(record);
    ++line.calls;
    line.seconds += record.end - record.start;
    line.bytes += bytes;
  }
  for (auto& [name, line] : lines) {
    line.calls = (line.calls + kSteps / 2) / kSteps;
    line.seconds /= kSteps, line.bytes /= kSteps;
  }
  if (known) return "";
  return StrCat("of our own kernels ", own, " ran in ", kSteps, " steps, but a step launches ",
                kernels.size(), ": bytes are unknown");
}

absl::StatusOr<std::unique_ptr<KernelTimes>> StartTimes() {
#ifdef DTNN_WITH_CUDA
  return KernelTimes::Start();
#else
  return absl::UnimplementedError("this build has no GPU support: build with --config=cuda");
#endif
}

}  // namespace

std::string BodyName(std::string_view demangled) {
  constexpr std::string_view kWrappers[] = {"void",       "const",           "dtnn",    "gpu",
                                            "RunFunctor", "EachElement",     "EachRow", "anonymous",
                                            "namespace",  "compiled_by_nvcc"};
  for (size_t begin = 0; begin < demangled.size();) {
    size_t end = begin;
    while (end < demangled.size() &&
           (std::isalnum(uint8_t(demangled[end])) || demangled[end] == '_')) {
      ++end;
    }
    const std::string_view word = demangled.substr(begin, end - begin);
    if (!word.empty() && std::isupper(uint8_t(word[0])) &&
        std::find(std::begin(kWrappers), std::end(kWrappers), word) == std::end(kWrappers)) {
      return std::string(word);
    }
    begin = end + 1;
  }
  return std::string(demangled);
}

absl::StatusOr<KernelProfile> ProfileStep(const ModelRunOptions& options) {
  std::unique_ptr<KernelTimes> times;
  if (options.device.type != DeviceType::kSimulated) {
    DTNN_ASSIGN_OR_RETURN(times, StartTimes());
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ModelRun> run, ModelRun::Create(options));
  DTNN_RETURN_IF_ERROR(run->PrepareForTraining());
  DTNN_RETURN_IF_ERROR(run->Train());
  std::vector<LaunchLog::Entry> launches;
  {
    LaunchLog log;
    DTNN_RETURN_IF_ERROR(run->Train());
    launches = log.Take();
  }
  DTNN_RETURN_IF_ERROR(run->Train());
  DTNN_RETURN_IF_ERROR(run->Synchronize());
  KernelProfile profile;
  std::map<std::string, KernelLine> lines;
  if (times == nullptr) {
    AddLaunches(launches, lines);
    profile.note = "a simulated GPU: calls and bytes without times";
  } else {
    DTNN_RETURN_IF_ERROR(times->Take().status());
    const Stopwatch watch;
    for (int step = 0; step < kSteps; ++step) DTNN_RETURN_IF_ERROR(run->Train());
    DTNN_RETURN_IF_ERROR(run->Synchronize());
    profile.step_seconds = watch.seconds() / kSteps;
    DTNN_ASSIGN_OR_RETURN(const std::vector<KernelTimes::Record> records, times->Take());
    profile.note = AddRecords(records, launches, lines);
  }
  if (options.graphs && !run->captured()) {
    StrAppend(&profile.note, profile.note.empty() ? "" : "; ",
              "steps run call by call: ", run->reason());
  }
  for (auto& [name, line] : lines) profile.lines.push_back(std::move(line));
  std::stable_sort(profile.lines.begin(), profile.lines.end(),
                   [](const KernelLine& a, const KernelLine& b) {
                     return std::pair(a.seconds, a.bytes) > std::pair(b.seconds, b.bytes);
                   });
  return profile;
}

std::string ToTable(const KernelProfile& profile) {
  std::string table =
      absl::StrFormat("%9s %6s %8s %7s  %s\n", "ms", "calls", "GB", "GB/s", "kernel");
  const auto add = [&](const KernelLine& line) {
    const bool rate = line.seconds > 0 && line.bytes > 0;
    table += absl::StrFormat("%9.3f %6d %8s %7s  %s\n", line.seconds * 1e3, line.calls,
                             line.own ? absl::StrFormat("%.3f", line.bytes / 1e9) : "",
                             rate ? absl::StrFormat("%.0f", line.bytes / line.seconds / 1e9) : "",
                             line.name);
  };
  KernelLine own, libraries;
  own.name = "all of our own", own.own = true, libraries.name = "all of libraries";
  for (const KernelLine& line : profile.lines) {
    add(line);
    KernelLine& sum = line.own ? own : libraries;
    sum.calls += line.calls, sum.seconds += line.seconds, sum.bytes += line.bytes;
  }
  add(own);
  add(libraries);
  if (profile.step_seconds > 0) {
    table += absl::StrFormat("a step: %.3f ms, of which %.3f ms in kernels\n",
                             profile.step_seconds * 1e3, (own.seconds + libraries.seconds) * 1e3);
  }
  if (!profile.note.empty()) StrAppend(&table, profile.note, "\n");
  return table;
}

std::string ToJsonLines(const KernelProfile& profile, const ModelRunOptions& options) {
  std::string lines;
  for (const KernelLine& line : profile.lines) {
    std::string name;
    for (const char c : line.name) {
      if (c == '"' || c == '\\') name += '\\';
      name += c;
    }
    lines += absl::StrFormat(
        R"({"model":"%s","batch":%d,"math_mode":"%s","kernel":"%s","own":%s,"calls":%d,"ms":%.4f,"bytes":%.0f})",
        options.model, options.batch, Name(options.math_mode), name, line.own ? "true" : "false",
        line.calls, line.seconds * 1e3, line.bytes);
    lines += "\n";
  }
  return lines;
}

}  // namespace dtnn
