#include "bench/step_table.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "tensor/gpu/launch_log.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using gpu::LaunchLog;

constexpr std::string_view kFilterGradient = "convolution backward filter";
constexpr std::string_view kLibraryKernels[] = {"convolution", "convolution backward data",
                                                kFilterGradient, "plain",
                                                "product with an epilogue"};

bool IsLibrary(std::string_view name) {
  return std::ranges::find(kLibraryKernels, name) != std::end(kLibraryKernels);
}

// The simulated GPU computes a filter's gradient in parts, which a second launch adds up: as a
// library's, one call that reads what the first reads and writes what the second writes.
std::vector<LaunchLog::Entry> LibraryCalls(const std::vector<LaunchLog::Entry>& log) {
  std::vector<LaunchLog::Entry> calls;
  for (size_t i = 0; i < log.size(); ++i) {
    calls.push_back(log[i]);
    if (log[i].name == kFilterGradient && i + 1 < log.size()) {
      calls.back().written_bytes = log[++i].written_bytes;
    }
  }
  return calls;
}

}  // namespace

CardModel H100(MathMode mode) {
  CardModel card;
  card.library_flops_per_second = mode == MathMode::kFp32   ? 45e12
                                  : mode == MathMode::kTf32 ? 250e12
                                                            : 500e12;
  return card;
}

absl::StatusOr<StepTable> TableOfStep(const ModelRunOptions& options) {
  ModelRunOptions simulated = options;
  simulated.device = Device::Simulated(0);
  simulated.graphs = false;
  LaunchLog log(LaunchLog::Runs::kNothing);
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ModelRun> run, ModelRun::Create(simulated));
  DTNN_RETURN_IF_ERROR(run->PrepareForTraining());
  for (int step = 0; step < 2; ++step) {
    (void)log.Take();
    DTNN_RETURN_IF_ERROR(run->Train());
  }
  const std::vector<LaunchLog::Entry> calls = LibraryCalls(log.Take());

  const CardModel card = H100(options.math_mode);
  std::map<std::string, StepLine> lines;
  StepTable table;
  double library_seconds = 0;
  for (const LaunchLog::Entry& call : calls) {
    StepLine& line = lines[call.name];
    line.kernel = call.name;
    line.library = IsLibrary(call.name);
    ++line.launches;
    ++(call.work == LaunchLog::Work::kKernel ? table.launches : table.copies);
    line.read_bytes += double(call.read_bytes);
    line.written_bytes += double(call.written_bytes);
    const double bytes = double(call.read_bytes + call.written_bytes);
    (line.library ? table.library_bytes : table.own_bytes) += bytes;
    const double seconds = line.library ? card.library_start + bytes / card.library_bytes_per_second
                                        : card.own_start + bytes / card.own_bytes_per_second;
    line.predicted_seconds += seconds;
    (line.library ? library_seconds : table.predicted_seconds) += seconds;
  }
  // Which calls their operations hold up, and which their bytes, is not known.
  const double flops = 3 * 2 * double(run->graph().multiply_adds()) * double(options.batch);
  table.predicted_seconds += std::max(library_seconds, flops / card.library_flops_per_second);
  for (auto& [name, line] : lines) table.lines.push_back(std::move(line));
  std::ranges::stable_sort(table.lines, std::greater(), [](const StepLine& line) {
    return line.read_bytes + line.written_bytes;
  });
  return table;
}

std::string ToText(const StepTable& table) {
  std::string text = absl::StrFormat("%-34s %8s %10s %10s %8s\n", "kernel", "launches", "read MB",
                                     "written MB", "ms");
  for (const StepLine& line : table.lines) {
    text += absl::StrFormat("%-34s %8d %10.1f %10.1f %8.3f%s\n", line.kernel, line.launches,
                            line.read_bytes / 1e6, line.written_bytes / 1e6,
                            line.predicted_seconds * 1e3, line.library ? "  library" : "");
  }
  text += absl::StrFormat(
      "own kernels: %.2f GB, libraries: %.2f GB, %d launches, %d copies, %.2f ms predicted on an "
      "H100\n",
      table.own_bytes / 1e9, table.library_bytes / 1e9, table.launches, table.copies,
      table.predicted_seconds * 1e3);
  return text;
}

std::string ToJson(const StepTable& table, const ModelRunOptions& options) {
  return absl::StrFormat(
      R"({"model":"%s","batch":%d,"format":"%s","math_mode":"%s","own_bytes":%.0f,)"
      R"("library_bytes":%.0f,"launches":%d,"copies":%d,"predicted_ms":%.3f})",
      options.model, options.batch, Name(options.format), Name(options.math_mode), table.own_bytes,
      table.library_bytes, table.launches, table.copies, table.predicted_seconds * 1e3);
}

}  // namespace dtnn
