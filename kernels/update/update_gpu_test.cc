#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "kernels/update/update.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::RandomTensor;

constexpr int64_t kSize = 1003;

std::vector<UpdateSpec> Specs(DType dtype) {
  std::vector<UpdateSpec> specs = {
      {.momentum = 0},
      {.momentum = 0.9, .decay = 0.01},
      {.momentum = 0.9, .nesterov = true, .decay = 0.1},
      {.rule = UpdateRule::kRmsprop, .epsilon = 1e-3, .decay = 0.1},
      {.rule = UpdateRule::kAdam},
      {.rule = UpdateRule::kAdam, .beta1 = 0.9, .epsilon = 1e-3, .decay = 0.1},
      {.rule = UpdateRule::kNadam, .beta1 = 0.9, .epsilon = 1e-3, .decay = 0.1},
      {.rule = UpdateRule::kAdamw, .beta1 = 0.9, .epsilon = 1e-3, .decay = 0.1},
      {.decay = 0.1, .without_decay = {{0, 1}, {16, 64}, {64, 65}, {1000, kSize}}},
      {.without_decay = {{0, kSize}}},
      {.momentum = 0, .average_decay = 0.5},
      {.rule = UpdateRule::kAdam, .epsilon = 1e-3, .decay = 0.1, .average_decay = 0.999},
  };
  for (UpdateSpec& spec : specs) spec.dtype = dtype;
  return specs;
}

// Three steps on the same gradients as the CPU.
void ExpectSameAsCpu(DeviceContext& context, Update& update, const UpdateSpec& spec) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const std::unique_ptr<Update> expected = *CreateUpdate(*cpu, spec);
  const double epsilon = spec.dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                                       : std::numeric_limits<double>::epsilon();
  const Tensor w = RandomTensor(spec.dtype, {kSize}, 1), device_w = Put(context, w);
  std::vector<Tensor> slots, device_slots;
  for (int slot = 0; slot < spec.slots(); ++slot) {
    slots.push_back(testing::ZeroTensor(spec.dtype, {kSize}));
    device_slots.push_back(Put(context, slots.back()));
  }
  for (int64_t step = 1; step <= 3; ++step) {
    const Tensor g = RandomTensor(spec.dtype, {kSize}, uint64_t(step + 10));
    const UpdateStep at = {.learning_rate = 0.1, .step = step, .gradient_scale = 0.75};
    ASSERT_EQ(expected->Run(w, g, slots, at), absl::OkStatus());
    ASSERT_EQ(update.Run(device_w, Put(context, g), device_slots, at), absl::OkStatus());
    // The CPU contracts products and sums, the GPU does not: some roundings a step differ.
    EXPECT_TRUE(testing::Close(Get(context, device_w), w, 16 * epsilon * double(step)));
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      EXPECT_TRUE(testing::Close(Get(context, device_slots[slot]), slots[slot],
                                 4 * epsilon * double(step)));
    }
  }
}

class UpdateGpuTest : public ::testing::TestWithParam<DType> {};

TEST_P(UpdateGpuTest, SameAsCpuOnASimulatedGpu) {
  const std::unique_ptr<DeviceContext> gpu = *DeviceContext::Create(Device::Simulated(0));
  for (const UpdateSpec& spec : Specs(GetParam())) {
    ExpectSameAsCpu(*gpu, **CreateUpdate(*gpu, spec), spec);
  }
}

TEST_P(UpdateGpuTest, SameAsCpuOnAGpu) {
  DTNN_GPU_OR_SKIP(gpu);
  for (const UpdateSpec& spec : Specs(GetParam())) {
    const auto update = CreateUpdate(*gpu, spec);
    ASSERT_EQ(update.status(), absl::OkStatus());
    ExpectSameAsCpu(*gpu, **update, spec);
  }
}

INSTANTIATE_TEST_SUITE_P(, UpdateGpuTest, ::testing::Values(DType::kFloat32, DType::kFloat64));

}  // namespace
}  // namespace dtnn
