// The work of training steps on a device that queues work: captured where it repeats, and then
// replayed as one operation (kernels/device/captured_work.h).
//
// The first step of a kind runs call by call, since first calls may allocate; the second is
// captured; from then on it is replayed. Where this cannot be, steps run call by call, and
// reason() says why.

#ifndef DTNN_MODELS_TRAINING_STEP_STEP_GRAPHS_H_
#define DTNN_MODELS_TRAINING_STEP_STEP_GRAPHS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "kernels/device/captured_work.h"
#include "kernels/device/context.h"
#include "tensor/dtype.h"

namespace dtnn {

class StepGraphs {
 public:
  // What the calls of a step depend on.
  struct Kind {
    int64_t samples = 0;
    DType targets = DType::kInt32;
    double gradient_scale = 1;
    // Whether it is the first of an update, whether it ends one, and whether its loss is watched.
    bool first = true, updates = true, watched = true;
    auto operator<=>(const Kind&) const = default;
  };

  // `reason` to capture nothing; empty: there is none.
  StepGraphs(DeviceContext& context, std::string reason)
      : context_(&context), reason_(std::move(reason)) {}

  // Queues the work of a step, which `work` does call by call.
  absl::Status Run(const Kind& kind, absl::FunctionRef<absl::Status()> work);
  // Before memory that steps use is freed or moved.
  void Clear() { steps_.clear(); }

  // Graphs so far, and why steps run without one; empty where they do not.
  int64_t captured() const { return captured_; }
  std::string_view reason() const {
    if (reason_.empty() && observed_) return "an observer waits for each layer";
    return reason_;
  }

 private:
  static constexpr size_t kMostKinds = 16;

  DeviceContext* context_;
  std::string reason_;
  bool observed_ = false;
  int64_t captured_ = 0;
  std::map<Kind, std::unique_ptr<CapturedWork>> steps_;  // null: has run once
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_STEP_STEP_GRAPHS_H_
