// Tests of the primitives of GPUs: the same inputs through the CPU's primitive and through the
// GPU's, on a simulated one anywhere and on one of NVIDIA's where there is one.
//
// With DTNN_TEST_DEVICE=cuda in the environment those on simulated GPUs are skipped. A test that
// has used one of NVIDIA's says so in the results, as property "gpu", so that a run without any is
// seen.

#ifndef DTNN_KERNELS_TESTING_GPU_TESTING_H_
#define DTNN_KERNELS_TESTING_GPU_TESTING_H_

#include <cstdlib>
#include <memory>
#include <string_view>

#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

// Declares `context`, a context of `device`, or skips the test with the reason.
#define DTNN_GPU_OR_SKIP_AT(context, device)                              \
  if (::dtnn::testing::LeftOut(device)) {                                 \
    GTEST_SKIP() << "DTNN_TEST_DEVICE=cuda: no simulated GPUs";           \
  }                                                                       \
  auto context##_or = ::dtnn::DeviceContext::Create(device);              \
  if (context##_or.status().code() == absl::StatusCode::kNotFound ||      \
      context##_or.status().code() == absl::StatusCode::kUnimplemented) { \
    GTEST_SKIP() << context##_or.status().message();                      \
  }                                                                       \
  ASSERT_TRUE(context##_or.ok()) << context##_or.status();                \
  ::dtnn::testing::NoteGpu(device);                                       \
  std::unique_ptr<::dtnn::DeviceContext> context = *std::move(context##_or)
// The same for the first of NVIDIA's GPUs.
#define DTNN_GPU_OR_SKIP(context) DTNN_GPU_OR_SKIP_AT(context, ::dtnn::Device::Cuda(0))

namespace dtnn::testing {

inline bool LeftOut(Device device) {
  const char* const only = std::getenv("DTNN_TEST_DEVICE");
  return device.type == DeviceType::kSimulated && only != nullptr &&
         std::string_view(only) == "cuda";
}
inline void NoteGpu(Device device) {
  if (device.type == DeviceType::kCuda) ::testing::Test::RecordProperty("gpu", device.ToString());
}

// A dense copy of a dense host tensor where the context's primitives find it, and back.
inline Tensor Put(DeviceContext& context, const Tensor& host) {
  const absl::StatusOr<Tensor> tensor =
      Tensor::Allocate(context.device(), host.dtype(), host.shape());
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(context.Copy(host, *tensor), absl::OkStatus());
  EXPECT_EQ(context.Synchronize(), absl::OkStatus());
  return *tensor;
}

inline Tensor Get(DeviceContext& context, const Tensor& tensor) {
  const Tensor host = *Tensor::Zeros(tensor.dtype(), tensor.shape());
  EXPECT_EQ(context.Copy(tensor, host), absl::OkStatus());
  EXPECT_EQ(context.Synchronize(), absl::OkStatus());
  return host;
}

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_TESTING_GPU_TESTING_H_
