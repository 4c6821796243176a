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
// Sums are exact; medians (of an even number of times the upper one in the middle) are those of all
// calls while there is room for them, 4 million together, and of the calls until then afterwards.
// Counts the thread that made it.

#ifndef DTNN_MODELS_TRACE_SIMPLE_TRACE_H_
#define DTNN_MODELS_TRACE_SIMPLE_TRACE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "models/trace/layer_facts.h"
#include "tensor/trace/observer.h"

namespace dtnn {

class SimpleTrace : public Observer {
 public:
  static constexpr int64_t kMostTimes = int64_t{1} << 22;

  // Of these layers; what computes them may be known later.
  explicit SimpleTrace(std::span<const LayerFacts> layers, int64_t most_times = kMostTimes);

  void End(const Event& event) override;

  // The whole file. `layers`: the same ones, with their algorithms.
  std::string Text(std::span<const LayerFacts> layers) const;
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
  };

  std::vector<Row> Rows() const;

  const std::thread::id owner_ = std::this_thread::get_id();
  std::vector<LayerFacts> layers_;
  int ids_ = 0;                 // one more than the largest
  std::vector<Series> series_;  // per id and kind
  const int64_t room_;
  const std::unique_ptr<Time[]> times_;
  int64_t used_ = 0, dropped_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRACE_SIMPLE_TRACE_H_
