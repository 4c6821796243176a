#include <memory>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/pixel_product/testing/call.h"
#include "kernels/testing/gpu_testing.h"

namespace dtnn {
namespace {

using testing::Call;
using testing::Get;
using testing::Put;

class PixelProductGpuTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType>> {
 protected:
  // Small integers, whose sums are exact in any order.
  void ExpectSameAsCpu(DeviceContext& gpu) const {
    const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
    for (PixelProductSpec spec : testing::kSpecs) {
      spec.format = std::get<0>(GetParam());
      spec.dtype = std::get<1>(GetParam());
      const bool accumulate = spec.heads != 1;
      Call call(*cpu, spec, /*integers=*/true), other(gpu, spec, /*integers=*/true);
      other.ForAll([&](const Tensor& host) { return Put(gpu, host); });
      call.Run(accumulate);
      other.Run(accumulate);
      other.ForAll([&](const Tensor& device) { return Get(gpu, device); });
      EXPECT_EQ(other.Results(), call.Results());
    }
  }
};

TEST_P(PixelProductGpuTest, SameAsCpuOnASimulatedGpu) {
  DTNN_GPU_OR_SKIP_AT(gpu, Device::Simulated(0));
  ExpectSameAsCpu(*gpu);
}
TEST_P(PixelProductGpuTest, SameAsCpuOnCuda) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectSameAsCpu(*gpu);
}

INSTANTIATE_TEST_SUITE_P(
    , PixelProductGpuTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16)));

}  // namespace
}  // namespace dtnn
