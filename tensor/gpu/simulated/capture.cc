#include "tensor/gpu/simulated/capture.h"

#include <algorithm>

#include "tensor/errors.h"

namespace dtnn::gpu {
namespace {

const char* NameOf(CaptureError error) {
  switch (error) {
    case CaptureError::kIllegalState:
      return "cudaErrorIllegalState";
    case CaptureError::kUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case CaptureError::kInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case CaptureError::kMerge:
      return "cudaErrorStreamCaptureMerge";
    case CaptureError::kUnmatched:
      return "cudaErrorStreamCaptureUnmatched";
    case CaptureError::kUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    case CaptureError::kIsolation:
      return "cudaErrorStreamCaptureIsolation";
    case CaptureError::kCapturedEvent:
      return "cudaErrorCapturedEvent";
    case CaptureError::kWrongThread:
      return "cudaErrorStreamCaptureWrongThread";
  }
  return "";
}

}  // namespace

absl::Status ToStatus(CaptureError error, std::string_view text) {
  return FailedPrecondition(text, " (", NameOf(error), ", ", int(error), ")");
}

Work SimulatedGraph::ToWork(const Philox& random) const {
  return [nodes = nodes_, random](KernelRunner& runner) {
    std::vector<size_t> waits(nodes->size());  // for so many nodes
    std::vector<std::vector<size_t>> before(nodes->size());
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes->size(); ++i) {
      waits[i] = (*nodes)[i].after.size();
      if (waits[i] == 0) ready.push_back(i);
      for (const size_t earlier : (*nodes)[i].after) before[earlier].push_back(i);
    }
    for (uint64_t done = 0; !ready.empty(); ++done) {
      std::swap(ready[random.Below(done, uint32_t(ready.size()))], ready.back());
      const size_t node = ready.back();
      ready.pop_back();
      (*nodes)[node].work(runner);
      for (const size_t later : before[node]) {
        if (--waits[later] == 0) ready.push_back(later);
      }
    }
  };
}

absl::Status Capture::Spoil(CaptureError error, std::string_view text) {
  const absl::Status status = ToStatus(error, text);
  if (mistake_.empty()) mistake_ = std::string(status.message());
  return status;
}

absl::Status Capture::CheckNotSpoiled() const {
  if (!spoiled()) return absl::OkStatus();
  return ToStatus(CaptureError::kInvalidated, StrCat("the capture was spoiled before: ", mistake_));
}

absl::Status Capture::Add(std::shared_ptr<const Operation> operation, CapturePlace& place,
                          std::span<const Touch> touches, Work work) {
  DTNN_RETURN_IF_ERROR(CheckNotSpoiled());
  DTNN_RETURN_IF_ERROR(history_.Add(std::move(operation), place.clock, touches));
  touches_.insert(touches_.end(), touches.begin(), touches.end());
  nodes_.push_back({std::move(work), place.after});
  place.after = {nodes_.size() - 1};
  return absl::OkStatus();
}

std::unique_ptr<SimulatedGraph> Capture::ToGraph(std::string name) {
  return std::make_unique<SimulatedGraph>(std::move(nodes_), std::move(touches_), std::move(name));
}

}  // namespace dtnn::gpu
