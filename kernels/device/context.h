// Where a primitive runs: a device, and on a GPU its stream and library handles.
//
// Every primitive is created for one context and enqueues its work there; on the CPU a call returns
// when the work is done, on a GPU when it is queued. One context per thread of control; it must
// outlive the primitives made with it.

#ifndef DTNN_KERNELS_DEVICE_CONTEXT_H_
#define DTNN_KERNELS_DEVICE_CONTEXT_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/math_mode.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace dtnn {

class BestOf;
class KeptPlans;

class DeviceContext {
 public:
  // Unimplemented for a GPU in a build without --config=cuda; NotFound where the device is not
  // there; InvalidArgument for a DTNN_SIMD that this CPU does not know (simd/simd_target.h).
  static absl::StatusOr<std::unique_ptr<DeviceContext>> Create(Device device);
  virtual ~DeviceContext() = default;

  Device device() const { return device_; }

  // For plans that are compiled from now on. InvalidArgument for other modes than fp32 on a CPU.
  absl::Status SetMathMode(MathMode mode);
  MathMode math_mode() const { return math_mode_; }

  // What decides among the algorithms that libraries of the device have for the primitives made
  // from now on, by timing them; null: each library guesses. Outlives those calls.
  void SetTuner(BestOf* tuner) { tuner_ = tuner; }
  BestOf* tuner() const { return tuner_; }

  // Where the plans that libraries of the device make for the primitives made from now on are kept
  // from run to run; null: nowhere.
  void KeepPlans(std::shared_ptr<const KeptPlans> plans) { kept_plans_ = std::move(plans); }
  const KeptPlans* kept_plans() const { return kept_plans_.get(); }

  // Copies a dense tensor to another of the same size: host to host, or between host and this
  // device, in stream order. The host memory may be reused once Synchronize has returned.
  virtual absl::Status Copy(const Tensor& from, const Tensor& to);
  virtual absl::Status FillZero(const Tensor& tensor);
  // Waits until everything queued so far is done, and reports its errors.
  virtual absl::Status Synchronize() { return absl::OkStatus(); }

 protected:
  explicit DeviceContext(Device device) : device_(device) {}

 private:
  Device device_;
  MathMode math_mode_ = MathMode::kFp32;
  BestOf* tuner_ = nullptr;
  std::shared_ptr<const KeptPlans> kept_plans_;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_DEVICE_CONTEXT_H_
