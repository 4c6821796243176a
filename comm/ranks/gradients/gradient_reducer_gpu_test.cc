// Gradients of simulated GPUs, summed by ranks that are threads, each with a stream of its own:
// the same bits as those of CPUs. What is not ordered by an event, the simulator refuses.

#include <optional>
#include <vector>

#include "comm/local.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

constexpr int64_t kElements = 1000;

absl::StatusOr<std::unique_ptr<GradientReducer>> MakeReducer(
    Communicator& communicator, DeviceContext& context, const GradientReducerOptions& options) {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<ExchangeTwin> twin,
      GradientReducer::TwinFor(context, DType::kFloat32, kElements, options.bucket_bytes));
  EXPECT_EQ(twin == nullptr, context.device() == Device::Cpu());
  return std::make_unique<GradientReducer>(communicator, DType::kFloat32, kElements, options,
                                           std::move(twin));
}

// What `steps` steps leave, by rank; each begins with gradients that the device has just written.
std::vector<std::vector<double>> Sums(Device device, int ranks,
                                      const GradientReducerOptions& options) {
  std::vector<std::vector<double>> sums(static_cast<size_t>(ranks));
  const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(device));
    DTNN_ASSIGN_OR_RETURN(const auto reducer, MakeReducer(c, *context, options));
    const Tensor fresh = Put(*context, RandomTensor(DType::kFloat32, {kElements}, c.rank() + 1));
    const Tensor gradients = Put(*context, RandomTensor(DType::kFloat32, {kElements}, 9));
    const Tensor result = Put(*context, RandomTensor(DType::kFloat32, {kElements}, 9));
    for (int step = 0; step < 3; ++step) {
      DTNN_RETURN_IF_ERROR(reducer->Begin(gradients));
      int64_t end = kElements;
      for (const int64_t from : {int64_t{992}, int64_t{600}, int64_t{16}, int64_t{0}}) {
        const auto part = [&](const Tensor& whole) {
          return whole.Samples(from, end - from, TensorFormat::kNHWC);
        };
        DTNN_RETURN_IF_ERROR(context->Copy(part(fresh), part(gradients)));
        if (from > 0) reducer->Ready(from);
        end = from;
      }
      DTNN_RETURN_IF_ERROR(reducer->Finish([&](size_t bucket) {
        const auto [begin, last] = reducer->buckets()[bucket];
        const auto part = [begin = begin, count = last - begin](const Tensor& whole) {
          return whole.Samples(begin, count, TensorFormat::kNHWC);
        };
        return context->Copy(part(gradients), part(result));
      }));
    }
    sums[size_t(c.rank())] = Values(Get(*context, result));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return sums;
}

TEST(GradientReducerGpuTest, SameBitsAsOnCpus) {
  for (const int ranks : {1, 2, 4}) {
    for (const bool blocking : {true, false}) {
      for (const int64_t bytes : {64, 1000, 1 << 20}) {
        for (const std::optional<HalfType> wire :
             {std::optional<HalfType>(), {HalfType::kBfloat16}}) {
          const GradientReducerOptions options = {
              .bucket_bytes = bytes, .blocking = blocking, .wire = wire};
          const auto expected = Sums(Device::Cpu(), ranks, options);
          EXPECT_EQ(Sums(Device::Simulated(0), ranks, options), expected)
              << ranks << " ranks, buckets of " << bytes << (blocking ? ", blocking" : "");
          EXPECT_EQ(expected.front(), expected.back());
        }
      }
    }
  }
}

// The gradients may be written again after a step that was left, or that failed.
TEST(GradientReducerGpuTest, AStepMayBeLeft) {
  const absl::Status status = RunRanks(1, [&](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Simulated(0)));
    DTNN_ASSIGN_OR_RETURN(const auto reducer,
                          MakeReducer(c, *context, {.bucket_bytes = 64, .blocking = false}));
    const Tensor gradients = Put(*context, RandomTensor(DType::kFloat32, {kElements}, 1));
    DTNN_RETURN_IF_ERROR(reducer->Begin(gradients));
    reducer->Ready(500);
    DTNN_RETURN_IF_ERROR(reducer->Begin(gradients));
    DTNN_RETURN_IF_ERROR(context->FillZero(gradients));
    reducer->Ready(500);
    EXPECT_EQ(reducer->Finish([](size_t) { return absl::CancelledError("enough"); }).code(),
              absl::StatusCode::kCancelled);
    DTNN_RETURN_IF_ERROR(context->FillZero(gradients));
    return context->Synchronize();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GradientReducerGpuTest, AnErrorBeforeFinishEndsTheStepAndNotTheNext) {
  const absl::Status status = RunRanks(1, [&](Communicator& c) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const auto context, DeviceContext::Create(Device::Simulated(0)));
    DTNN_ASSIGN_OR_RETURN(const auto reducer,
                          MakeReducer(c, *context, {.bucket_bytes = 64, .blocking = false}));
    const Tensor on_host = RandomTensor(DType::kFloat32, {kElements}, 1);
    const auto ignore = [](size_t) { return absl::OkStatus(); };
    DTNN_RETURN_IF_ERROR(reducer->Begin(on_host));
    reducer->Ready(500);
    EXPECT_EQ(reducer->Finish(ignore).code(), absl::StatusCode::kInvalidArgument);
    DTNN_RETURN_IF_ERROR(reducer->Begin(Put(*context, on_host)));
    reducer->Ready(500);
    return reducer->Finish(ignore);
  });
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace dtnn
