#include <memory>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::Put;
using testing::RandomTensor;

void ExpectSameAsCpu(DeviceContext& context, GroupNormSpec spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  for (const auto& [image, groups] :
       {std::pair(ImageExtents{1, 1, 3}, int64_t{1}), std::pair(ImageExtents{3, 5, 6}, int64_t{3}),
        std::pair(ImageExtents{7, 8, 40}, int64_t{4})}) {
    spec.batch = 2;
    spec.positions = image.height * image.width;
    spec.channels = image.channels;
    spec.groups = groups;
    const auto expected = *CreateGroupNorm(*cpu, spec), norm = *CreateGroupNorm(context, spec);
    // Images are the middle of wider ones.
    const auto wide = [&](uint64_t seed) {
      return RandomTensor(
          spec.dtype,
          SampleShape({image.height, image.width, image.channels + 5}, spec.format).Prepend(2),
          seed);
    };
    const auto middle = [&](const Tensor& tensor) {
      return tensor.Channels(2, image.channels, spec.format);
    };
    const auto vector = [&](uint64_t seed) {
      return RandomTensor(spec.dtype, {image.channels}, seed);
    };
    const Tensor x = wide(1), dy = wide(2), y = wide(3), dx = wide(4), gamma = vector(5),
                 beta = vector(6), dgamma = vector(7), dbeta = vector(8);
    const Tensor device_x = Put(context, x), device_dy = Put(context, dy),
                 device_y = Put(context, y), device_dx = Put(context, dx),
                 device_gamma = Put(context, gamma), device_beta = Put(context, beta),
                 device_dgamma = Put(context, dgamma), device_dbeta = Put(context, dbeta);
    const auto workspace = [](const GroupNorm& of, Device device) {
      return *Tensor::Allocate(device, DType::kUint8, Shape{int64_t(of.workspace_bytes())});
    };
    const auto span = [](const Tensor& bytes) {
      return Workspace(bytes.raw_data(), size_t(bytes.num_elements()));
    };
    const Tensor host_space = workspace(*expected, Device::Cpu()),
                 device_space = workspace(*norm, context.device());
    ASSERT_EQ(expected->Forward(middle(x), gamma, beta, middle(y)), absl::OkStatus());
    ASSERT_EQ(norm->Forward(middle(device_x), device_gamma, device_beta, middle(device_y)),
              absl::OkStatus());
    EXPECT_TRUE(Close(Get(context, device_y), y, 1e-4)) << ToString(image);
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(expected->Backward(middle(x), middle(dy), gamma, middle(dx), accumulate, dgamma,
                                   dbeta, span(host_space)),
                absl::OkStatus());
      ASSERT_EQ(norm->Backward(middle(device_x), middle(device_dy), device_gamma, middle(device_dx),
                               accumulate, device_dgamma, device_dbeta, span(device_space)),
                absl::OkStatus());
      EXPECT_TRUE(Close(Get(context, device_dx), dx, 1e-3)) << ToString(image);
      EXPECT_TRUE(Close(Get(context, device_dgamma), dgamma, 1e-4)) << ToString(image);
      EXPECT_TRUE(Close(Get(context, device_dbeta), dbeta, 1e-4)) << ToString(image);
    }
  }
}

class GroupNormGpuTest : public ::testing::TestWithParam<std::tuple<TensorFormat, DType, bool>> {
 protected:
  GroupNormSpec spec() const {
    return {.per_pixel = std::get<2>(GetParam()),
            .format = std::get<0>(GetParam()),
            .dtype = std::get<1>(GetParam()),
            .epsilon = 1e-3};
  }
};

TEST_P(GroupNormGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  ExpectSameAsCpu(*gpu, spec());
}

TEST_P(GroupNormGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectSameAsCpu(*gpu, spec());
}

INSTANTIATE_TEST_SUITE_P(
    , GroupNormGpuTest,
    ::testing::Combine(::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64), ::testing::Bool()));

}  // namespace
}  // namespace dtnn
