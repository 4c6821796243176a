// Events as a JSON file for ui.perfetto.dev and chrome://tracing: a process per rank, a track per
// thread.
//
// What a thread does is a slice; an arrow leads from each exchange of gradients to the wait for it;
// counters show memory in use and samples per second. A layer's pass says its operations and the
// bytes it must move, in millions. Times are microseconds since `origin`, with the nanoseconds as
// decimals. About 130 bytes per event.

#ifndef DTNN_MODELS_OBSERVE_TRACE_CHROME_TRACE_H_
#define DTNN_MODELS_OBSERVE_TRACE_CHROME_TRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/observe/trace/layer_facts.h"
#include "models/observe/trace/rank_events.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {

class ChromeTraceWriter {
 public:
  // The file appears with Finish, and only as a whole. `origin`: a time of rank 0's clock before
  // which there is no event.
  static absl::StatusOr<ChromeTraceWriter> Create(std::string_view path, int64_t origin,
                                                  std::span<const LayerFacts> layers);
  // Once per rank.
  absl::Status Add(const RankEvents& rank);
  absl::Status Finish();

 private:
  ChromeTraceWriter(AtomicFile file, int64_t origin) : file_(std::move(file)), origin_(origin) {}

  void Begin(std::string_view kind, std::string_view name, int64_t pid);
  void AddNames(const RankEvents& rank, int64_t pid);
  void AddWork(const LayerFacts& layer, const Event& event);
  void AddSlice(const LoggedEvent& logged, int64_t pid);
  void AddFlow(const LoggedEvent& logged, int64_t pid);
  void AddPower(const Event& reading, int64_t pid);
  void AddCounter(std::string_view name, std::string_view key, double value, int64_t time,
                  int64_t pid);
  void AddTime(std::string_view key, int64_t nanoseconds);
  absl::Status Flush(size_t more_than);

  struct Layer {
    std::string name;  // as it stands in JSON
    LayerFacts facts;
  };

  AtomicFile file_;
  const int64_t origin_;
  std::unordered_map<int, Layer> layers_;  // by id
  std::string text_;                       // not written yet
  Event energy_;                           // the last reading of the rank
  bool first_ = true;
  int64_t dropped_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_CHROME_TRACE_H_
