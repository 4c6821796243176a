#include "models/observe/trace/chrome_trace.h"

#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "models/observe/trace/watts_between.h"
#include "tensor/errors.h"
#include "tensor/text/json_text.h"

namespace dtnn {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
// Between two values of samples per second.
constexpr int64_t kSpeedEvery = 10'000'000;  // nanoseconds

// Without the quotes.
std::string Inside(std::string_view name) {
  const std::string text = JsonText(name);
  return text.substr(1, text.size() - 2);
}

// Whether an arrow can begin or end in its slice, strictly inside.
bool HoldsArrow(const Event& event) { return event.flow != 0 && event.end - event.begin >= 2; }

// Arrows whose exchange and wait both hold one.
std::unordered_set<uint64_t> FindArrows(const std::vector<LoggedEvent>& events) {
  std::unordered_set<uint64_t> exchanges, arrows;
  for (const LoggedEvent& logged : events) {
    if (!HoldsArrow(logged.event)) continue;
    const uint64_t flow = logged.event.flow;
    if (logged.event.activity == Activity::kExchange) exchanges.insert(flow);
    if (logged.event.activity == Activity::kWaitForGradients && exchanges.contains(flow)) {
      arrows.insert(flow);
    }
  }
  return arrows;
}

}  // namespace

absl::StatusOr<ChromeTraceWriter> ChromeTraceWriter::Create(std::string_view path, int64_t origin,
                                                            std::span<const LayerFacts> layers) {
  DTNN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  ChromeTraceWriter writer(std::move(file), origin);
  for (const LayerFacts& layer : layers) {
    writer.layers_[layer.id] = {Inside(layer.name), layer};
  }
  writer.text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  return writer;
}

absl::Status ChromeTraceWriter::Flush(size_t more_than) {
  if (text_.size() <= more_than) return absl::OkStatus();
  const absl::Status status = file_.Append(text_);
  text_.clear();
  return status;
}

// An object up to its name and process.
void ChromeTraceWriter::Begin(std::string_view kind, std::string_view name, int64_t pid) {
  StrAppend(&text_, std::exchange(first_, false) ? "\n" : ",\n", "{\"ph\":\"", kind,
            "\",\"name\":\"", name, "\",\"pid\":", pid);
}

void ChromeTraceWriter::AddTime(std::string_view key, int64_t nanoseconds) {
  StrAppend(&text_, ",\"", key, "\":");
  absl::StrAppendFormat(&text_, "%d.%03d", nanoseconds / 1000, nanoseconds % 1000);
}

void ChromeTraceWriter::AddNames(const RankEvents& rank, int64_t pid) {
  Begin("M", "process_name", pid);
  StrAppend(&text_, ",\"args\":{\"name\":\"rank ", rank.rank, "\"}}");
  Begin("M", "process_sort_index", pid);
  StrAppend(&text_, ",\"args\":{\"sort_index\":", rank.rank, "}}");
  std::map<int32_t, bool> threads;  // whether it only reads
  for (const LoggedEvent& logged : rank.events) {
    const auto [thread, added] = threads.try_emplace(logged.thread, true);
    thread->second &= logged.event.activity == Activity::kReadData;
  }
  int loaders = 0;
  for (const auto& [thread, reads] : threads) {
    Begin("M", "thread_name", pid);
    StrAppend(&text_, ",\"tid\":", thread, ",\"args\":{\"name\":\"",
              reads ? StrCat("loader ", ++loaders) : "training", "\"}}");
  }
}

void ChromeTraceWriter::AddSlice(const LoggedEvent& logged, int64_t pid) {
  const Event& event = logged.event;
  const std::string_view activity = Name(event.activity);
  const auto layer = layers_.find(event.layer);
  std::string name;
  if (layer != layers_.end()) {
    name = StrCat(layer->second.name, " ", activity);
  } else if (event.layer >= 0) {
    name = StrCat("layer ", event.layer, " ", activity);
  } else {
    name = activity;
  }
  Begin("X", name, pid);
  StrAppend(&text_, ",\"tid\":", logged.thread);
  AddTime("ts", event.begin - origin_);
  AddTime("dur", event.end - event.begin);
  StrAppend(&text_, ",\"cat\":\"", activity, "\"");
  if (event.activity == Activity::kEnergy) {
    StrAppend(&text_, ",\"args\":{\"joules\":", double(event.bytes) * 1e-6, "}");
  } else if (event.bytes > 0) {
    StrAppend(&text_, ",\"args\":{\"bytes\":", event.bytes, "}");
  } else if (event.samples > 0 && event.layer < 0) {
    StrAppend(&text_, ",\"args\":{\"samples\":", event.samples, "}");
  } else if (event.samples > 0 && layer != layers_.end()) {
    AddWork(layer->second.facts, event);
  }
  text_ += '}';
}

// Arguments of a layer's pass: its operations, and the fewest bytes that must be moved.
void ChromeTraceWriter::AddWork(const LayerFacts& layer, const Event& event) {
  const bool backward = event.activity == Activity::kBackward;
  if (!backward && event.activity != Activity::kForward && event.activity != Activity::kInference) {
    return;
  }
  const auto samples = double(event.samples);
  absl::StrAppendFormat(&text_, ",\"args\":{\"Mflop\":%.6g,\"MB\":%.6g}",
                        samples * (backward ? layer.backward_flops : layer.forward_flops) * 1e-6,
                        samples * (backward ? layer.backward_bytes : layer.forward_bytes) * 1e-6);
}

// In the middle of its slice, to which it belongs thereby.
void ChromeTraceWriter::AddFlow(const LoggedEvent& logged, int64_t pid) {
  const Event& event = logged.event;
  const bool starts = event.activity == Activity::kExchange;
  Begin(starts ? "s" : "f", "sum of gradients", pid);
  StrAppend(&text_, ",\"tid\":", logged.thread);
  AddTime("ts", (event.begin + event.end) / 2 - origin_);
  // Flows are numbered by process.
  absl::StrAppendFormat(&text_, ",\"cat\":\"flow\",\"id\":\"%x\"%s}",
                        event.flow | uint64_t(pid) << 40, starts ? "" : ",\"bp\":\"e\"");
}

void ChromeTraceWriter::AddCounter(std::string_view name, std::string_view key, double value,
                                   int64_t time, int64_t pid) {
  Begin("C", name, pid);
  AddTime("ts", time - origin_);
  StrAppend(&text_, ",\"args\":{\"", key, "\":");
  absl::StrAppendFormat(&text_, "%.1f}}", value);
}

// The power since the previous reading.
void ChromeTraceWriter::AddPower(const Event& reading, int64_t pid) {
  const std::optional<double> watts = WattsBetween(energy_, reading);
  if (watts) AddCounter("power", "W", *watts, energy_.end, pid);
  energy_ = reading;
}

absl::Status ChromeTraceWriter::Add(const RankEvents& rank) {
  const int64_t pid = int64_t{rank.rank} + 1;
  dropped_ += rank.dropped;
  AddNames(rank, pid);
  const std::unordered_set<uint64_t> arrows = FindArrows(rank.events);
  int64_t samples = 0, since = 0;
  energy_ = {};
  for (const LoggedEvent& logged : rank.events) {
    const Event& event = logged.event;
    if (event.activity == Activity::kMemory) {
      AddCounter("memory", "MB", double(event.bytes) * 1e-6, event.begin, pid);
      continue;
    }
    AddSlice(logged, pid);
    if (event.activity == Activity::kEnergy) AddPower(event, pid);
    if (HoldsArrow(event) && arrows.contains(event.flow)) AddFlow(logged, pid);
    if (event.activity == Activity::kTraining) samples = since = 0;
    if (event.activity == Activity::kStep) {
      if (since == 0) since = event.begin;
      samples += event.samples;
      if (event.end - since >= kSpeedEvery) {
        AddCounter("speed", "samples/s", double(samples) * 1e9 / double(event.end - since),
                   event.end, pid);
        samples = 0;
        since = event.end;
      }
    }
    DTNN_RETURN_IF_ERROR(Flush(kPiece));
  }
  return Flush(kPiece);
}

absl::Status ChromeTraceWriter::Finish() {
  StrAppend(&text_, "\n],\"otherData\":{\"dropped events\":", dropped_, "}}\n");
  DTNN_RETURN_IF_ERROR(Flush(0));
  return file_.Commit();
}

}  // namespace dtnn
