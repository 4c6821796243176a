// Tests of CUDA primitives: the same inputs through the CPU's primitive, through the CUDA primitive
// run by a host loop (anywhere), and through the CUDA primitive on a GPU where there is one.

#ifndef DTNN_KERNELS_CUDA_TESTING_H_
#define DTNN_KERNELS_CUDA_TESTING_H_

#include <memory>

#include "gtest/gtest.h"
#include "kernels/context.h"
#include "tensor/tensor.h"

// Declares `context`, a context of the first GPU, or skips the test with the reason.
#define DTNN_GPU_OR_SKIP(context)                                             \
  auto context##_or = ::dtnn::DeviceContext::Create(::dtnn::Device::Cuda(0)); \
  if (context##_or.status().code() == absl::StatusCode::kNotFound ||          \
      context##_or.status().code() == absl::StatusCode::kUnimplemented) {     \
    GTEST_SKIP() << context##_or.status().message();                          \
  }                                                                           \
  ASSERT_TRUE(context##_or.ok()) << context##_or.status();                    \
  const std::unique_ptr<::dtnn::DeviceContext> context = *std::move(context##_or)

namespace dtnn::testing {

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

#endif  // DTNN_KERNELS_CUDA_TESTING_H_
