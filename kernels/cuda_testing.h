// Tests of CUDA primitives: the same inputs through the CPU's primitive, through the CUDA primitive
// run by a host loop (anywhere), and through the CUDA primitive on a GPU where there is one.

#ifndef DTNN_KERNELS_CUDA_TESTING_H_
#define DTNN_KERNELS_CUDA_TESTING_H_

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/context.h"
#include "kernels/cuda_launch.h"
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

// The 32 lanes of a warp as host threads, which exchange values as a warp does (cuda_launch.h). A
// thread sanitizer sees a Sync that is missing.
class HostWarp {
 public:
  static constexpr int kLanes = 32;
  struct Shared {
    std::barrier<> meeting{kLanes};
    double values[kLanes] = {};
  };

  HostWarp(Shared* shared, int lane) : shared_(shared), lane_(lane) {}
  int64_t lane() const { return lane_; }
  int64_t size() const { return kLanes; }
  template <typename T>
  T Sum(T x) const {
    return Combine(x, [](T a, T b) { return a + b; });
  }
  template <typename T>
  T Max(T x) const {
    return Combine(x, [](T a, T b) { return a < b ? b : a; });
  }
  void Sync() const { shared_->meeting.arrive_and_wait(); }

 private:
  template <typename T, class Operation>
  T Combine(T x, Operation operation) const {
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      shared_->values[lane_] = double(x);
      Sync();
      x = operation(x, T(shared_->values[lane_ ^ distance]));
      Sync();
    }
    return x;
  }

  Shared* shared_;
  int lane_;
};

// A HostRunner whose rows are worked on by a HostWarp.
class HostWarpRunner : public HostRunner {
 public:
  template <class Body>
  absl::Status ForEachRow(std::string_view, int64_t rows, const Body& body) const {
    HostWarp::Shared shared;
    std::vector<std::thread> lanes;
    for (int lane = 0; lane < HostWarp::kLanes; ++lane) {
      lanes.emplace_back([&, lane] {
        for (int64_t row = 0; row < rows; ++row) body(row, HostWarp(&shared, lane));
      });
    }
    for (std::thread& lane : lanes) lane.join();
    return absl::OkStatus();
  }
};

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_CUDA_TESTING_H_
