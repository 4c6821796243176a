// The file of the original's simple tracer: how often each layer did what, for how long in all, and
// the median.
//
//   Event type;Event value;Event name;Calls;Total time;Median of times
//   Model;6;1_Conv2D_forward;750;0.4182;0.000551
//
// Times are seconds. Type Model has 5 kinds of events per layer, value = layer * 5 + kind; type
// Operations 37, value = layer * 37 + kind, of which a layer has those that name what computes it.
// A bucket of gradients, and an update, may cover several layers: it counts for the first of them.
//
// With a power meter, as the original's with PMlib: the joules of all calls, of all lines and of
// each one, and the mean number of samples that were taken during a call.
//   ...;Median of times;Joules;Line0;Line1;Mean of intermediate power samples
//
// Sums are exact; medians (of an even number of times the upper one in the middle) are those of all
// calls while there is room for them, 4 million together, and of the calls until then afterwards.
// Counts one thread.

#ifndef DTNN_MODELS_OBSERVE_TRACE_SIMPLE_TRACE_H_
#define DTNN_MODELS_OBSERVE_TRACE_SIMPLE_TRACE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "models/observe/trace/layer_facts.h"
#include "tensor/trace/observer.h"

namespace dtnn {

// What a power meter of so many lines has measured.
struct MeasuredEnergy {
  int64_t lines = 0;
  // For a span, in nanoseconds of TraceClock: sets the joules of each line, and returns how many
  // samples were taken meanwhile; nothing where the span was not measured.
  std::function<std::optional<int64_t>(int64_t begin, int64_t end, std::span<double> joules)> of;
};

struct SimpleTraceOptions {
  int64_t most_times = int64_t{1} << 22;
  bool keep_begins = false;  // of calls, 8 bytes each: energy is asked for
};

class SimpleTrace : public Observer {
 public:
  // For these layers; what computes them may be known later.
  explicit SimpleTrace(std::span<const LayerFacts> layers, const SimpleTraceOptions& options = {});

  // From now on counts what the calling thread does; at first, what that does which made it.
  void CountThisThread() { owner_ = std::this_thread::get_id(); }

  void End(const Event& event) override;

  // The whole file. `layers`: the same ones, with their algorithms.
  std::string Text(std::span<const LayerFacts> layers,
                   const MeasuredEnergy* energy = nullptr) const;
  int64_t most_times() const { return room_; }
  // Calls whose times are in no median.
  int64_t dropped() const { return dropped_; }

 private:
  struct Series {
    int64_t calls = 0, nanoseconds = 0;
  };
  struct Time {
    int32_t series;
    int64_t nanoseconds;
  };
  struct Row {
    Series sums;
    double median = 0;  // seconds
    // Of the calls that were measured: by line, and the samples that were taken during them.
    std::vector<double> joules = {};
    int64_t measured = 0, samples = 0;
  };

  std::vector<Row> Rows(const MeasuredEnergy* energy) const;
  void AddEnergy(const MeasuredEnergy& energy, std::vector<Row>& rows) const;

  std::atomic<std::thread::id> owner_ = std::this_thread::get_id();
  std::vector<LayerFacts> layers_;
  int ids_ = 0;                 // one more than the largest
  std::vector<Series> series_;  // per id and kind
  const int64_t room_;
  const std::unique_ptr<Time[]> times_;
  const std::unique_ptr<int64_t[]> begins_;  // null: they are not kept
  int64_t used_ = 0, dropped_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_SIMPLE_TRACE_H_
