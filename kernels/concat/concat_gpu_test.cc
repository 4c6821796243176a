#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/concat/concat.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::IntegerTensor;
using testing::Put;

class ConcatGpuTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  Shape Images(int64_t channels) const { return SampleShape({5, 7, channels}, format_).Prepend(3); }
  std::unique_ptr<Concat> Create(DeviceContext& context) const {
    return *CreateConcat(context, {.format = format_, .dtype = dtype_});
  }

  const TensorFormat format_ = std::get<1>(GetParam());
  const DType dtype_ = std::get<2>(GetParam());
  std::unique_ptr<DeviceContext> gpu_, cpu_ = *DeviceContext::Create(Device::Cpu());
};

const std::vector<std::vector<int64_t>> kChannels = {{1}, {1, 1}, {3, 5, 1}, {8, 16, 17, 40}};

TEST_P(ConcatGpuTest, SameAsCpu) {
  for (const std::vector<int64_t>& channels : kChannels) {
    for (const bool matrices : {false, true}) {
      int64_t all = 0;
      for (const int64_t count : channels) all += count;
      const auto shape = [&](int64_t count) { return matrices ? Shape{6, count} : Images(count); };
      // The whole is the middle of a wider tensor.
      const Tensor wide = IntegerTensor(dtype_, shape(all + 3), 1), device_wide = Put(*gpu_, wide);
      const Tensor y = wide.Channels(2, all, format_);
      const Tensor device_y = device_wide.Channels(2, all, format_);
      std::vector<Tensor> parts, device_parts;
      for (const int64_t count : channels) {
        parts.push_back(IntegerTensor(dtype_, shape(count), parts.size() + 2));
        device_parts.push_back(Put(*gpu_, parts.back()));
      }
      const auto expected = Create(*cpu_), concat = Create(*gpu_);
      ASSERT_EQ(expected->Forward(parts, y), absl::OkStatus());
      ASSERT_EQ(concat->Forward(device_parts, device_y), absl::OkStatus());
      EXPECT_TRUE(Close(Get(*gpu_, device_wide), wide, 0));
      // Gradients are added or written, and one of them is not wanted.
      bool accumulate[4] = {};
      for (size_t i = 0; i < parts.size(); ++i) accumulate[i] = i % 2 == 0;
      const std::span<const bool> flags(accumulate, parts.size());
      for (const bool skip : {false, true}) {
        const Tensor last = parts.back(), device_last = device_parts.back();
        if (skip) parts.back() = device_parts.back() = Tensor();
        ASSERT_EQ(expected->Backward(y, parts, flags), absl::OkStatus());
        ASSERT_EQ(concat->Backward(device_y, device_parts, flags), absl::OkStatus());
        parts.back() = last, device_parts.back() = device_last;
        for (size_t i = 0; i < parts.size(); ++i) {
          EXPECT_TRUE(Close(Get(*gpu_, device_parts[i]), parts[i], 0)) << i;
        }
      }
    }
  }
}

TEST_P(ConcatGpuTest, PartsInTheirPlaceAreLeft) {
  const Tensor host = IntegerTensor(dtype_, Images(5), 1), y = Put(*gpu_, host);
  const Tensor parts[] = {y.Channels(0, 2, format_), y.Channels(2, 3, format_)};
  const bool accumulate[] = {false, false};
  ASSERT_EQ(Create(*gpu_)->Forward(parts, y), absl::OkStatus());
  ASSERT_EQ(Create(*gpu_)->Backward(y, parts, accumulate), absl::OkStatus());
  EXPECT_TRUE(Close(Get(*gpu_, y), host, 0));
}

TEST_P(ConcatGpuTest, RefusesWhatDoesNotFit) {
  const auto concat = Create(*gpu_);
  const Tensor y = Put(*gpu_, IntegerTensor(dtype_, Images(5), 1));
  const Tensor host[] = {IntegerTensor(dtype_, Images(5), 1)};
  const Tensor narrow[] = {Put(*gpu_, IntegerTensor(dtype_, Images(4), 1))};
  const Tensor nothing[] = {Tensor()};
  EXPECT_EQ(concat->Forward(host, y).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(concat->Forward(narrow, y).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(concat->Forward(nothing, y).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(concat->Backward(y, narrow, {}).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    , ConcatGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
