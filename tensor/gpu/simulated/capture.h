// A graph of a simulated GPU while it is captured, and what CUDA calls the mistakes in that.

#ifndef DTNN_TENSOR_GPU_SIMULATED_CAPTURE_H_
#define DTNN_TENSOR_GPU_SIMULATED_CAPTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tensor/gpu/driver.h"
#include "tensor/gpu/simulated/happens_before.h"
#include "tensor/gpu/simulated/kernel_runner.h"

namespace dtnn::gpu {

class SimulatedStream;

// What a stream's thread does, with the thread's runner of kernels.
using Work = std::function<void(KernelRunner&)>;

enum class CaptureError : uint16_t {
  kIllegalState = 401,
  kUnsupported = 900,
  kInvalidated = 901,
  kMerge = 902,
  kUnmatched = 903,
  kUnjoined = 904,
  kIsolation = 905,
  kCapturedEvent = 907,
  kWrongThread = 908,
};

// FailedPrecondition: the name that CUDA gives the error, and `text`.
absl::Status ToStatus(CaptureError error, std::string_view text);

// Where a stream stands in a capture: after these nodes, which come after those of `clock`.
struct CapturePlace {
  std::vector<size_t> after;
  Clock clock;
};

struct GraphNode {
  Work work;
  std::vector<size_t> after;  // the nodes that it waits for
};

class SimulatedGraph : public Graph {
 public:
  SimulatedGraph(std::vector<GraphNode> nodes, std::vector<Touch> touches, std::string name)
      : nodes_(std::make_shared<std::vector<GraphNode>>(std::move(nodes))),
        touches_(std::move(touches)),
        name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const std::vector<Touch>& touches() const { return touches_; }
  // Does all nodes, in one of the orders that they allow.
  Work ToWork(const Philox& random) const;

 private:
  std::shared_ptr<const std::vector<GraphNode>> nodes_;
  std::vector<Touch> touches_;
  std::string name_;
};

class Capture {
 public:
  explicit Capture(SimulatedStream* origin)
      : origin_(origin), thread_(std::this_thread::get_id()), streams_{origin} {}

  SimulatedStream* origin() const { return origin_; }
  bool OfThisThread() const { return thread_ == std::this_thread::get_id(); }
  const std::vector<SimulatedStream*>& streams() const { return streams_; }
  void Join(SimulatedStream* stream) { streams_.push_back(stream); }
  void Leave(SimulatedStream* stream) { std::erase(streams_, stream); }

  // The first mistake spoils the capture; returns it.
  absl::Status Spoil(CaptureError error, std::string_view text);
  bool spoiled() const { return !mistake_.empty(); }
  bool ended() const { return ended_; }
  void End() { ended_ = true; }
  absl::Status CheckNotSpoiled() const;

  absl::Status Add(std::shared_ptr<const Operation> operation, CapturePlace& place,
                   std::span<const Touch> touches, Work work);
  std::unique_ptr<SimulatedGraph> ToGraph(std::string name);

 private:
  SimulatedStream* origin_;
  std::thread::id thread_;
  std::vector<SimulatedStream*> streams_;
  std::string mistake_;
  bool ended_ = false;
  std::vector<GraphNode> nodes_;
  std::vector<Touch> touches_;
  AccessHistory history_;
};

}  // namespace dtnn::gpu

#endif  // DTNN_TENSOR_GPU_SIMULATED_CAPTURE_H_
