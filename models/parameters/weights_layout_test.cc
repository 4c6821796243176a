#include "models/parameters/weights_layout.h"

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;
using ::dtnn::testing::Values;
using enum WeightsLayout;

constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};

ParameterSpec Spec(ParameterLayout layout, const Shape& shape) {
  return {.name = "weights", .shape = shape, .initializer = {}, .layout = layout};
}

// A tensor whose elements tell where they belong: f(index of the axes of `shape`).
template <typename F>
Tensor Indexed(DType dtype, const Shape& shape, F&& f) {
  std::vector<double> values(size_t(shape.NumElements()));
  std::vector<int64_t> index(size_t(shape.rank()), 0);
  for (double& value : values) {
    value = f(index);
    for (int axis = shape.rank() - 1; axis >= 0 && ++index[size_t(axis)] == shape[axis]; --axis) {
      index[size_t(axis)] = 0;
    }
  }
  return TensorOf(dtype, shape, values);
}

using Index = std::vector<int64_t>;

// ci 2, kh 3, kw 4, co 5.
double FilterValue(int64_t ci, int64_t kh, int64_t kw, int64_t co) {
  return double(ci * 1000 + kh * 100 + kw * 10 + co);
}
Tensor Filter(DType dtype, WeightsLayout layout) {
  if (layout == kNHWC) {
    return Indexed(dtype, {2, 3, 4, 5},
                   [](const Index& i) { return FilterValue(i[0], i[1], i[2], i[3]); });
  }
  if (layout == kNCHW) {
    return Indexed(dtype, {5, 2, 3, 4},
                   [](const Index& i) { return FilterValue(i[1], i[2], i[3], i[0]); });
  }
  return Indexed(dtype, {5, 3, 4, 2},
                 [](const Index& i) { return FilterValue(i[3], i[1], i[2], i[0]); });
}

TEST(WeightsLayoutTest, FiltersGoFromEveryLayoutToEveryFormat) {
  for (const WeightsLayout layout : {kNHWC, kNCHW, kGpuNHWC}) {
    for (const TensorFormat format : kFormats) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        const Tensor from = Filter(DType::kInt32, layout);
        const Tensor expected = Filter(dtype, LayoutOf(format));
        const ParameterSpec spec = Spec(ParameterLayout::kFilter, expected.shape());
        EXPECT_EQ(ShapeInFile(spec, format, layout), from.shape());
        const Tensor to = testing::ZeroTensor(dtype, expected.shape());
        ConvertParameter(spec, from, layout, to, format, {});
        EXPECT_EQ(Values(to), Values(expected)) << Name(layout) << " to " << Name(format);
      }
    }
  }
}

TEST(WeightsLayoutTest, PointwiseFiltersAreTransposed) {
  const Tensor nhwc =
      Indexed(DType::kFloat32, {3, 5}, [](const Index& i) { return double(10 * i[0] + i[1]); });
  const Tensor nchw =
      Indexed(DType::kFloat32, {5, 3}, [](const Index& i) { return double(10 * i[1] + i[0]); });
  for (const TensorFormat format : kFormats) {
    const Tensor& expected = format == TensorFormat::kNHWC ? nhwc : nchw;
    const ParameterSpec spec = Spec(ParameterLayout::kFilter, expected.shape());
    for (const WeightsLayout layout : {kNHWC, kNCHW, kGpuNHWC}) {
      const Tensor& from = layout == kNCHW ? nchw : nhwc;
      EXPECT_EQ(ShapeInFile(spec, format, layout), from.shape());
      const Tensor to = testing::ZeroTensor(DType::kFloat32, expected.shape());
      ConvertParameter(spec, from, layout, to, format, {});
      EXPECT_EQ(Values(to), Values(expected));
    }
  }
}

// What goes by the features of a flattened image of height 2, width 3, 4 channels.
TEST(WeightsLayoutTest, RowsFollowTheOrderOfAFlattenedImage) {
  constexpr ImageExtents kImage = {2, 3, 4};
  for (const int64_t columns : {0, 1, 5}) {  // 0: a vector
    const auto value = [](int64_t h, int64_t w, int64_t c, int64_t column) {
      return double(h * 1000 + w * 100 + c * 10 + column);
    };
    const auto column = [](const Index& i) { return i.size() > 1 ? i[1] : 0; };
    const Shape shape = columns == 0 ? Shape{24} : Shape{24, columns};
    const Tensor nhwc = Indexed(DType::kFloat64, shape, [&](const Index& i) {
      return value(i[0] / 12, i[0] / 4 % 3, i[0] % 4, column(i));
    });
    const Tensor nchw = Indexed(DType::kFloat64, shape, [&](const Index& i) {
      return value(i[0] / 3 % 2, i[0] % 3, i[0] / 6, column(i));
    });
    const ParameterSpec spec =
        Spec(columns == 0 ? ParameterLayout::kFeatures : ParameterLayout::kFeatureRows, shape);
    for (const TensorFormat format : kFormats) {
      const Tensor& expected = format == TensorFormat::kNHWC ? nhwc : nchw;
      for (const WeightsLayout layout : {kNHWC, kNCHW, kGpuNHWC}) {
        const Tensor& from = layout == kNCHW ? nchw : nhwc;
        EXPECT_EQ(ShapeInFile(spec, format, layout), shape);
        EXPECT_EQ(NeedsFeatureOrigin(spec, format, layout),
                  (layout == kNCHW) != (format == TensorFormat::kNCHW));
        const Tensor to = testing::ZeroTensor(DType::kFloat64, shape);
        ConvertParameter(spec, from, layout, to, format, kImage);
        EXPECT_EQ(Values(to), Values(expected));
        // Features that are not an image's stay as they are.
        ConvertParameter(spec, from, layout, to, format, {1, 1, 24});
        EXPECT_EQ(Values(to), Values(from));
      }
    }
  }
}

TEST(WeightsLayoutTest, WhatIsFixedStaysInEveryDType) {
  const ParameterSpec spec = Spec(ParameterLayout::kFixed, {2, 3, 4});
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt32, DType::kInt64}) {
    const Tensor from = Indexed(
        dtype, {2, 3, 4}, [](const Index& i) { return double(i[0] * 100 + i[1] * 10 + i[2]); });
    EXPECT_EQ(ShapeInFile(spec, TensorFormat::kNHWC, kNCHW), spec.shape);
    const Tensor to = testing::ZeroTensor(DType::kFloat32, spec.shape);
    ConvertParameter(spec, from, kNCHW, to, TensorFormat::kNHWC, {});
    EXPECT_EQ(Values(to), Values(from));
  }
}

TEST(WeightsLayoutTest, TheOriginOfFeaturesIsFollowedThroughLayersThatKeepTheirOrder) {
  for (const TensorFormat format : kFormats) {
    GraphBuilder b("small", format);
    b.Input({4, 6, 3}).Conv2d(5).Flatten().Dropout(0.5).Relu().BatchNorm();
    b.Fc(7).BatchNorm().Relu().Fc(2);
    const Graph graph = *b.Build();
    const std::vector<std::optional<ImageExtents>> origins = FeatureOrigins(graph);
    ASSERT_EQ(origins.size(), 10u);
    EXPECT_EQ(origins[0], std::nullopt);
    EXPECT_EQ(origins[1], std::nullopt);
    for (size_t i = 2; i <= 5; ++i) EXPECT_EQ(origins[i], (ImageExtents{2, 4, 5})) << i;
    for (size_t i = 6; i <= 8; ++i) EXPECT_EQ(origins[i], (ImageExtents{1, 1, 7})) << i;
    EXPECT_EQ(origins[9], (ImageExtents{1, 1, 2}));
  }
}

TEST(WeightsLayoutTest, SumsKeepAnOrderThatAllTheirPathsHave) {
  GraphBuilder b("sums", TensorFormat::kNHWC);
  const GraphBuilder::Path drop = [](GraphBuilder& p) { p.Dropout(0.5); };
  const GraphBuilder::Path fc = [](GraphBuilder& p) { p.Fc(30); };
  b.Input({2, 3, 5}).Flatten().Add({drop, GraphBuilder::Identity()});
  const Graph same = *b.Build();
  EXPECT_EQ(FeatureOrigins(same).back(), (ImageExtents{2, 3, 5}));
  GraphBuilder c("sums", TensorFormat::kNHWC);
  c.Input({2, 3, 5}).Flatten().Add({fc, GraphBuilder::Identity()});
  const Graph mixed = *c.Build();
  EXPECT_EQ(FeatureOrigins(mixed).back(), std::nullopt);
}

}  // namespace
}  // namespace dtnn
