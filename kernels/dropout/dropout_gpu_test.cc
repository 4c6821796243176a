#include "gtest/gtest.h"
#include "kernels/dropout/dropout.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::RandomTensor;

// Bit for bit: the same elements are dropped, and the others scaled alike.
void ExpectSameAsCpu(DeviceContext& context, Dropout& dropout, const DropoutSpec& spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<Dropout> expected = *CreateDropout(*cpu, spec);
  const Philox stream(0x123456789abcdef0, StreamId(RandomPurpose::kDropout, 5));
  const bool nhwc = spec.format == TensorFormat::kNHWC;
  for (const Shape& shape : {Shape{2, 7, 5, 3}, Shape{1, 1, 1, 1}, Shape{3, 8, 11, 13}}) {
    const Shape wide = nhwc ? Shape{shape[0], shape[1], shape[2], shape[3] + 5}
                            : Shape{shape[0], shape[1] + 5, shape[2], shape[3]};
    const auto middle = [&](const Tensor& tensor) {
      return tensor.Channels(2, shape[nhwc ? 3 : 1], spec.format);
    };
    // What follows the results, a sample more, stays as it is.
    const Shape more = {shape[0] + 1, shape[1], shape[2], shape[3]};
    const auto results = [&](const Tensor& y) { return y.Samples(0, shape[0], spec.format); };
    const Tensor x = RandomTensor(spec.dtype, wide, 1), y = RandomTensor(spec.dtype, more, 2);
    const Tensor device_x = Put(context, x), device_y = Put(context, y);
    for (const bool accumulate : {true, false}) {
      for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 35}) {
        ASSERT_EQ(expected->Run(middle(x), stream, offset, results(y), accumulate),
                  absl::OkStatus());
        ASSERT_EQ(dropout.Run(middle(device_x), stream, offset, results(device_y), accumulate),
                  absl::OkStatus());
        EXPECT_TRUE(testing::Close(Get(context, device_y), y, 0)) << "rate " << spec.rate;
      }
    }
  }
}

// Rows that are images of planes, and planes of more channels than a block has numbers.
void ExpectSamePlanesAsCpu(DeviceContext& context, DropoutSpec spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  for (const int64_t channels : {2, 3, 4, 5, 133}) {
    spec.pixels = 6;
    const Tensor x = RandomTensor(spec.dtype, {3, channels * spec.pixels}, 1);
    const Tensor y = RandomTensor(spec.dtype, {4, channels * spec.pixels}, 2);
    const Tensor device_y = Put(context, y);
    const auto results = [&](const Tensor& all) { return all.Samples(0, 3, spec.format); };
    ASSERT_EQ((*CreateDropout(*cpu, spec))->Run(x, Philox(1, 2), 8, results(y), true),
              absl::OkStatus());
    ASSERT_EQ((*CreateDropout(context, spec))
                  ->Run(Put(context, x), Philox(1, 2), 8, results(device_y), true),
              absl::OkStatus());
    EXPECT_TRUE(testing::Close(Get(context, device_y), y, 0)) << channels << " channels";
  }
}

// The step is read when the work runs, from where it then stands.
void ExpectToFollowTheStep(DeviceContext& context, const DropoutSpec& spec) {
  const auto dropout = *CreateDropout(context, spec);
  const Philox stream(1, 2);
  const Tensor x = Put(context, RandomTensor(spec.dtype, {5, 7}, 1));
  const Tensor by_step = Put(context, RandomTensor(spec.dtype, {5, 7}, 2));
  const Tensor by_offset = Put(context, RandomTensor(spec.dtype, {5, 7}, 3));
  for (const double step : {0.0, 3.0, 1e10}) {
    const Tensor number = Put(context, testing::TensorOf(DType::kInt64, {1}, {step}));
    ASSERT_EQ(dropout->Run(x, stream, {36, number}, by_step, false), absl::OkStatus());
    ASSERT_EQ(dropout->Run(x, stream, 36 * uint64_t(step), by_offset, false), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Get(context, by_step), Get(context, by_offset), 0)) << step;
    EXPECT_EQ(dropout->Run(x, stream, {6, number}, by_step, false).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

class DropoutGpuTest : public ::testing::TestWithParam<std::tuple<double, TensorFormat, DType>> {
 protected:
  DropoutSpec spec() const {
    return {std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam())};
  }
};

TEST_P(DropoutGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  ExpectSameAsCpu(*gpu, **CreateDropout(*gpu, spec()), spec());
  ExpectSamePlanesAsCpu(*gpu, spec());
}

TEST_P(DropoutGpuTest, FollowsTheStepThatStandsInMemory) {
  ExpectToFollowTheStep(**DeviceContext::Create(Device::Cpu()), spec());
  ExpectToFollowTheStep(**DeviceContext::Create(Device::Simulated(0)), spec());
}

TEST_P(DropoutGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  ExpectToFollowTheStep(*gpu, spec());
  const auto dropout = CreateDropout(*gpu, spec());
  ASSERT_EQ(dropout.status(), absl::OkStatus());
  ExpectSameAsCpu(*gpu, **dropout, spec());
  ExpectSamePlanesAsCpu(*gpu, spec());
}

INSTANTIATE_TEST_SUITE_P(, DropoutGpuTest,
                         ::testing::Combine(::testing::Values(0, 0.1, 0.5, 0.75, 1),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
