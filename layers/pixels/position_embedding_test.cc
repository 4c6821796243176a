#include "layers/pixels/position_embedding.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layers/testing/evaluate.h"
#include "layers/testing/gradient_check.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckGradients;
using ::dtnn::testing::Evaluated;
using ::dtnn::testing::IntegerTensor;
using ::dtnn::testing::Values;

class PositionEmbeddingLayerTest : public ::testing::TestWithParam<TensorFormat> {
 protected:
  static Shape Sample(int64_t h, int64_t w, int64_t c) {
    return SampleShape({h, w, c}, GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, PositionEmbeddingLayerTest,
                         ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW));

TEST_P(PositionEmbeddingLayerTest, Gradients) {
  EXPECT_TRUE(CheckGradients(PositionEmbeddingLayer(), {Sample(2, 3, 5)}, GetParam()));
  EXPECT_TRUE(CheckGradients(PositionEmbeddingLayer(), {Sample(1, 1, 1)}, GetParam()));
}

TEST_P(PositionEmbeddingLayerTest, EachElementHasItsOwnNumber) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16}) {
    const DType wide = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
    const Tensor x = IntegerTensor(dtype, Sample(3, 5, 7).Prepend(3), 1),
                 embedding = IntegerTensor(wide, {3 * 5 * 7}, 2);
    std::vector<double> expected = Values(x, GetParam());
    const std::vector<double> added = Values(embedding);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += added[i % added.size()];
    EXPECT_EQ(Evaluated(PositionEmbeddingLayer(), x, GetParam(), {embedding}), expected)
        << Name(dtype);
  }
}

TEST_P(PositionEmbeddingLayerTest, ShapesAndRefusals) {
  const Shape image = Sample(4, 5, 6), vector = {10};
  EXPECT_EQ(*PositionEmbeddingLayer().OutputShape({&image, 1}, GetParam()), image);
  EXPECT_EQ(PositionEmbeddingLayer().Parameters({&image, 1}, GetParam())[0].shape, Shape{120});
  EXPECT_NE(PositionEmbeddingLayer().OutputShape({&vector, 1}, GetParam()).status().message(), "");
}

}  // namespace
}  // namespace dtnn
