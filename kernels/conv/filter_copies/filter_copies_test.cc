// Copies of an arena of parameters on a GPU, against a cast of each element to the place
// where it belongs.

#include "kernels/conv/filter_copies/filter_copies.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using ::testing::HasSubstr;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

class FilterCopiesTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, GetParam());
    gpu_ = std::move(gpu);
  }
  // The copies, by the definition: filters (c, t, f) become (f, t, c).
  static std::vector<double> Expected(const Tensor& arena, DType to,
                                      const std::vector<FilterPlace>& filters) {
    std::vector<double> before(size_t(arena.num_elements()));
    for (size_t i = 0; i < before.size(); ++i) {
      const float x = arena.data<float>()[i];
      before[i] = to == DType::kFloat16 ? double(Float16(x)) : double(Bfloat16(x));
    }
    std::vector<double> after = before;
    for (const FilterPlace& each : filters)
      for (int64_t c = 0; c < each.channels; ++c)
        for (int64_t t = 0; t < each.taps; ++t)
          for (int64_t f = 0; f < each.filters; ++f) {
            after[size_t(each.offset + (f * each.taps + t) * each.channels + c)] =
                before[size_t(each.offset + (c * each.taps + t) * each.filters + f)];
          }
    return after;
  }

  std::unique_ptr<DeviceContext> gpu_;
};

TEST_P(FilterCopiesTest, FiltersChangeTheirOrderAndAllElseStays) {
  // First layers, 1x1, odd channels, more than a tile in either direction; neighbours and gaps;
  // what stays is longer than a piece.
  const std::vector<FilterPlace> filters = {{16, 3, 49, 64},     {9424, 65, 1, 130},
                                            {17888, 7, 9, 5},    {18203, 1, 9, 1},
                                            {24000, 128, 1, 64}, {32192, 64, 4, 67}};
  const int64_t size = 32192 + 64 * 4 * 67 + 5001;
  const Tensor host = RandomTensor(DType::kFloat32, {size}, 1), arena = Put(*gpu_, host);
  for (const DType to : {DType::kBfloat16, DType::kFloat16}) {
    std::vector<FilterPlace> unsorted(filters.rbegin(), filters.rend());
    const auto copies = CreateFilterCopies(*gpu_, DType::kFloat32, to, size, unsorted);
    ASSERT_EQ(copies.status(), absl::OkStatus());
    const Tensor made = Put(*gpu_, RandomTensor(to, {size}, 2));
    ASSERT_EQ((*copies)->Run(arena, made), absl::OkStatus());
    EXPECT_EQ(Values(Get(*gpu_, made)), Expected(host, to, filters));
  }
}

TEST_P(FilterCopiesTest, WithoutFiltersItIsACast) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  for (DeviceContext* const context : {cpu.get(), gpu_.get()}) {
    const Tensor host = RandomTensor(DType::kFloat32, {100}, 1);
    const Tensor made = Put(*context, RandomTensor(DType::kBfloat16, {100}, 2));
    const auto copies = CreateFilterCopies(*context, DType::kFloat32, DType::kBfloat16, 100, {});
    ASSERT_EQ(copies.status(), absl::OkStatus());
    ASSERT_EQ((*copies)->Run(Put(*context, host), made), absl::OkStatus());
    EXPECT_EQ(Values(Get(*context, made)), Expected(host, DType::kBfloat16, {}));
  }
}

TEST_P(FilterCopiesTest, OnGpusForImagesWithChannelsLast) {
  EXPECT_TRUE(CopiesFiltersChannelsLast(Device::Simulated(0), TensorFormat::kNHWC));
  EXPECT_TRUE(CopiesFiltersChannelsLast(Device::Cuda(0), TensorFormat::kNHWC));
  EXPECT_FALSE(CopiesFiltersChannelsLast(Device::Simulated(0), TensorFormat::kNCHW));
  EXPECT_FALSE(CopiesFiltersChannelsLast(Device::Cpu(), TensorFormat::kNHWC));
}

TEST_P(FilterCopiesTest, WhatDoesNotFitIsRefused) {
  const auto message = [&](DeviceContext& context, DType to, std::vector<FilterPlace> filters) {
    const auto made = CreateFilterCopies(context, DType::kFloat32, to, 100, std::move(filters));
    return std::string(made.status().message());
  };
  EXPECT_THAT(message(*gpu_, DType::kBfloat16, {{0, 2, 9, 3}, {53, 1, 1, 1}}),
              HasSubstr("the one from element 53 on begins before 54"));
  EXPECT_THAT(message(*gpu_, DType::kBfloat16, {{99, 1, 1, 2}}),
              HasSubstr("ends at element 101 of 100"));
  EXPECT_THAT(message(*gpu_, DType::kFloat32, {{0, 1, 1, 2}}),
              HasSubstr("expected float32 and a type of 16 bits"));
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_THAT(message(*cpu, DType::kBfloat16, {{0, 1, 1, 2}}), HasSubstr("on a GPU"));
  const auto copies =
      *CreateFilterCopies(*gpu_, DType::kFloat32, DType::kBfloat16, 100, {{0, 2, 9, 3}});
  const Tensor x = Put(*gpu_, RandomTensor(DType::kFloat32, {99}, 1));
  EXPECT_EQ(copies->Run(x, x).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Gpus, FilterCopiesTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param == Device::Cuda(0) ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
