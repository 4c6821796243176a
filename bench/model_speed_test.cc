#include "bench/model_speed.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

ModelSpeedOptions Options(Device device) {
  return {.run = {.model = "simplecnn", .batch = 2, .device = device}, .seconds = 0};
}

TEST(ModelSpeedTest, MeasuresWhereItIsAsked) {
  for (const Device device : {Device::Cpu(), Device::Simulated(0)}) {
    for (const bool graphs : {true, false}) {
      ModelSpeedOptions options = Options(device);
      options.run.graphs = graphs;
      const auto speed = MeasureModel(options);
      ASSERT_TRUE(speed.ok()) << device.ToString() << ": " << speed.status();
      EXPECT_GT(speed->train_samples_per_second, 0);
      EXPECT_GT(speed->infer_samples_per_second, 0);
      EXPECT_GT(speed->memory_planned_bytes, 0);
      EXPECT_GT(speed->memory_peak_bytes, 0);
      EXPECT_EQ(speed->not_captured.empty(), graphs && device != Device::Cpu())
          << speed->not_captured;
    }
  }
}

TEST(ModelSpeedTest, OnePhaseAlone) {
  ModelSpeedOptions options = Options(Device::Simulated(0));
  options.training = false;
  const auto speed = MeasureModel(options);
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_EQ(speed->train_samples_per_second, 0);
  EXPECT_GT(speed->infer_samples_per_second, 0);
}

TEST(ModelSpeedTest, EightBitsAreForInferenceOnACpu) {
  ModelSpeedOptions options = Options(Device::Cpu());
  options.run.int8 = true;
  EXPECT_EQ(MeasureModel(options).status().message(), "int8 is for inference");
  options.training = false;
  const auto speed = MeasureModel(options);
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_GT(speed->infer_samples_per_second, 0);
  options.run.device = Device::Simulated(0);
  EXPECT_EQ(MeasureModel(options).status().message(), "8 bits are for inference on a CPU");
}

TEST(ModelSpeedTest, RefusesWhatTheDeviceCannot) {
  ModelSpeedOptions options = Options(Device::Cpu());
  options.run.math_mode = MathMode::kFp16;
  EXPECT_EQ(MeasureModel(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
