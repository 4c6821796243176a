// The order of filters for cuDNN, on a simulated GPU: what cannot be seen without a GPU otherwise.

#include "kernels/conv/gpu/cudnn/filter_order.h"

#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/gpu/runner.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn::cudnn {
namespace {

using conv::FilterView;
using testing::Get;
using testing::IntegerTensor;
using testing::Put;
using testing::Values;

Conv2dSpec Spec(int64_t channels, int64_t filters, Pair kernel, int64_t groups, TensorFormat format,
                TensorFormat filter_format) {
  Conv2dSpec spec;
  spec.batch = 1, spec.height = spec.width = 9;
  spec.channels = channels, spec.filters = filters, spec.kernel = kernel, spec.groups = groups;
  spec.format = format, spec.filter_format = filter_format, spec.dtype = DType::kFloat64;
  return spec;
}

// Where the parameters have the element, by the contract of conv2d.h; and where cuDNN has it.
int64_t StoredAt(const Conv2dSpec& s, int64_t f, int64_t c, int64_t a, int64_t b) {
  const int64_t channels = s.channels / s.groups, kh = s.kernel.vertical, kw = s.kernel.horizontal;
  return s.filter_format == TensorFormat::kNHWC ? ((c * kh + a) * kw + b) * s.filters + f
                                                : ((f * channels + c) * kh + a) * kw + b;
}
int64_t UsedAt(const Conv2dSpec& s, int64_t f, int64_t c, int64_t a, int64_t b) {
  const int64_t channels = s.channels / s.groups, kh = s.kernel.vertical, kw = s.kernel.horizontal;
  return s.format == TensorFormat::kNHWC ? ((f * kh + a) * kw + b) * channels + c
                                         : ((f * channels + c) * kh + a) * kw + b;
}

std::vector<Conv2dSpec> Specs() {
  std::vector<Conv2dSpec> specs;
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const TensorFormat filter : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      for (const auto& [channels, filters, kernel, groups] :
           std::vector<std::tuple<int64_t, int64_t, Pair, int64_t>>{{3, 5, Pair(2, 3), 1},
                                                                    {1, 4, 3, 1},
                                                                    {6, 1, 3, 1},
                                                                    {1, 1, Pair(1, 3), 1},
                                                                    {4, 6, 1, 1},
                                                                    {6, 4, 3, 2},
                                                                    {5, 5, 3, 5},
                                                                    {1, 1, 1, 1}}) {
        specs.push_back(Spec(channels, filters, kernel, groups, format, filter));
      }
    }
  }
  return specs;
}

TEST(FilterOrderTest, ThereAndBack) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  const GpuRunner runner(*gpu);
  int reordered = 0;
  for (const Conv2dSpec& spec : Specs()) {
    const FilterView<double> view = UsedFilter<double>(nullptr, spec);
    for (int64_t f = 0; f < spec.filters; ++f)
      for (int64_t c = 0; c < spec.channels / spec.groups; ++c)
        for (int64_t a = 0; a < spec.kernel.vertical; ++a)
          for (int64_t b = 0; b < spec.kernel.horizontal; ++b) {
            ASSERT_EQ(view.At(a, b, c, f) - view.data, UsedAt(spec, f, c, a, b));
          }
    if (!IsReordered(spec)) continue;
    ++reordered;
    const Tensor host = IntegerTensor(DType::kFloat64, spec.FilterShape(), 1, 100);
    const Tensor stored = Put(*gpu, host), used = Put(*gpu, host);
    ASSERT_EQ(
        conv::Transpose(runner, "there", ToUsed(spec), /*accumulate=*/false,
                        static_cast<const double*>(stored.data<double>()), used.data<double>()),
        absl::OkStatus());
    const std::vector<double> before = Values(host), after = Values(Get(*gpu, used));
    for (int64_t f = 0; f < spec.filters; ++f)
      for (int64_t c = 0; c < spec.channels / spec.groups; ++c)
        for (int64_t a = 0; a < spec.kernel.vertical; ++a)
          for (int64_t b = 0; b < spec.kernel.horizontal; ++b) {
            ASSERT_EQ(after[size_t(UsedAt(spec, f, c, a, b))],
                      before[size_t(StoredAt(spec, f, c, a, b))])
                << spec.ToString();
          }
    // And back, added to what is there.
    ASSERT_EQ(
        conv::Transpose(runner, "back", ToUsed(spec).Inverse(), /*accumulate=*/true,
                        static_cast<const double*>(used.data<double>()), stored.data<double>()),
        absl::OkStatus());
    std::vector<double> doubled = before;
    for (double& value : doubled) value *= 2;
    EXPECT_EQ(Values(Get(*gpu, stored)), doubled) << spec.ToString();
  }
  EXPECT_GT(reordered, 8);
}

// What need not be reordered lies where cuDNN has it.
TEST(FilterOrderTest, OnlyOtherOrdersAreReordered) {
  for (const Conv2dSpec& spec : Specs()) {
    bool same = true;
    for (int64_t f = 0; f < spec.filters; ++f)
      for (int64_t c = 0; c < spec.channels / spec.groups; ++c)
        for (int64_t a = 0; a < spec.kernel.vertical; ++a)
          for (int64_t b = 0; b < spec.kernel.horizontal; ++b) {
            same = same && StoredAt(spec, f, c, a, b) == UsedAt(spec, f, c, a, b);
          }
    EXPECT_EQ(IsReordered(spec), !same) << spec.ToString();
  }
}

// A gradient of 16 bits is added in float32.
TEST(FilterOrderTest, GradientsInTheSameOrderAreStored) {
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  const GpuRunner runner(*gpu);
  for (const bool accumulate : {false, true}) {
    const Tensor host = testing::RandomTensor(DType::kBfloat16, {77}, 1);
    const Tensor before = testing::RandomTensor(DType::kFloat32, {77}, 2);
    const Tensor from = Put(*gpu, host), to = Put(*gpu, before);
    ASSERT_EQ(runner.ForEach("store", 77,
                             StoreFilterBody<Bfloat16, float>{accumulate, from.data<Bfloat16>(),
                                                              to.data<float>()}),
              absl::OkStatus());
    std::vector<double> expected = Values(host);
    if (accumulate) {
      for (size_t i = 0; i < 77; ++i) {
        expected[i] = double(before.data<float>()[i] + float(expected[i]));
      }
    }
    EXPECT_EQ(Values(Get(*gpu, to)), expected);
  }
}

}  // namespace
}  // namespace dtnn::cudnn
