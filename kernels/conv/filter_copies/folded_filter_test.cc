#include "kernels/conv/filter_copies/folded_filter.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

// A product is rounded once, and stands where the convolution reads it.
TEST(FoldedFilterTest, TimesTheScaleOfItsChannel) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kFloat16}) {
    for (const bool last : {false, true}) {
      for (const int64_t groups : {1, 2, 6}) {
        Conv2dSpec spec;
        spec.batch = 1, spec.height = spec.width = 5, spec.channels = spec.filters = 6;
        spec.kernel = Pair(3, 2), spec.groups = groups, spec.dtype = dtype;
        if (groups == 6) spec.filter_format = TensorFormat::kNCHW;  // as depthwise layers have it
        const Conv2dUse use = {.channels_last_filter = last};
        const Tensor filter = RandomTensor(DType::kFloat32, spec.FilterShape(), 1);
        const Tensor scale = RandomTensor(DType::kFloat32, {spec.filters}, 2);
        const Tensor folded = Put(*gpu, *Tensor::Zeros(dtype, use.FilterShape(spec)));
        const auto folding = *CreateFoldedFilter(*gpu, spec, use);
        ASSERT_EQ(folding->Run(Put(*gpu, filter), Put(*gpu, scale), folded), absl::OkStatus());
        const std::vector<double> actual = Values(Get(*gpu, folded));
        const int64_t channels = spec.channels / groups, taps = 6;
        for (int64_t f = 0; f < spec.filters; ++f)
          for (int64_t c = 0; c < channels; ++c)
            for (int64_t t = 0; t < taps; ++t) {
              const int64_t stored = groups == 6 ? f * taps + t : (c * taps + t) * spec.filters + f;
              const int64_t read = last ? (f * taps + t) * channels + c : stored;
              const float product = filter.data<float>()[stored] * scale.data<float>()[f];
              const double expected = dtype == DType::kBfloat16  ? double(Bfloat16(product))
                                      : dtype == DType::kFloat16 ? double(Float16(product))
                                                                 : double(product);
              ASSERT_EQ(actual[size_t(read)], expected) << spec.ToString();
            }
      }
    }
  }
}

TEST(FoldedFilterTest, OfOtherShapesIsRefused) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  Conv2dSpec spec;
  spec.batch = 1, spec.height = spec.width = 5, spec.channels = 2, spec.filters = 3;
  const auto folding = *CreateFoldedFilter(*gpu, spec, {});
  const Tensor filter = Put(*gpu, RandomTensor(DType::kFloat32, spec.FilterShape(), 1));
  EXPECT_EQ(folding->Run(filter, filter, filter).code(), absl::StatusCode::kInvalidArgument);
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(CreateFoldedFilter(*cpu, spec, {}).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace dtnn
