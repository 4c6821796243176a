#include "models/training/step/step_graphs.h"

#include <utility>

#include "tensor/errors.h"
#include "tensor/trace/observer.h"

namespace dtnn {

absl::Status StepGraphs::Run(const Kind& kind, absl::FunctionRef<absl::Status()> work) {
  // An observer wants to see each layer when it runs.
  if (CurrentObserver() != nullptr) observed_ = true;
  if (!reason_.empty() || CurrentObserver() != nullptr) return work();
  const auto found = steps_.find(kind);
  if (found == steps_.end()) {
    // Shares of ranks that never repeat, for example.
    if (steps_.size() >= kMostKinds) {
      reason_ = StrCat("there are more than ", kMostKinds, " kinds of steps");
      Clear();
    } else {
      steps_[kind] = nullptr;
    }
    return work();
  }
  if (found->second == nullptr) {
    absl::StatusOr<std::unique_ptr<CapturedWork>> captured = CapturedWork::Capture(*context_, work);
    // A step has run call by call: if that still works, it was the capture that failed.
    if (!captured.ok()) {
      reason_ = std::string(captured.status().message());
      Clear();
      return work();
    }
    found->second = *std::move(captured);
    ++captured_;
  }
  return found->second->Replay();
}

}  // namespace dtnn
