// Memory for a call on any device; on the host with a fence behind it.

#ifndef DTNN_KERNELS_TESTING_DEVICE_WORKSPACE_H_
#define DTNN_KERNELS_TESTING_DEVICE_WORKSPACE_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "kernels/workspace/workspace.h"
#include "tensor/tensor.h"
#include "tools/testing/fenced.h"

namespace dtnn::testing {

class DeviceWorkspace {
 public:
  DeviceWorkspace(Device device, size_t bytes)
      : on_host_(device.is_cpu()), bytes_(bytes), host_(on_host_ ? bytes : 0) {
    if (!on_host_) {
      memory_ = *Tensor::Allocate(device, DType::kUint8, Shape{int64_t(bytes) + 1});
    }
  }
  operator Workspace() const {  // NOLINT: it is one
    return on_host_ ? host_.Dirty() : Workspace(memory_.raw_data(), bytes_);
  }
  // Fails unless the call needs all bytes: one less is InvalidArgument.
  void ExpectNeeded(absl::FunctionRef<absl::Status(Workspace)> call) const {
    const Workspace all = *this;
    EXPECT_EQ(call(all), absl::OkStatus());
    if (bytes_ == 0) return;
    EXPECT_EQ(call(all.first(bytes_ - 1)).code(), absl::StatusCode::kInvalidArgument)
        << "a workspace of " << bytes_ - 1 << " bytes is accepted, needed are " << bytes_;
  }

 private:
  const bool on_host_;
  const size_t bytes_;
  const FencedWorkspace host_;
  Tensor memory_;
};

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_TESTING_DEVICE_WORKSPACE_H_
