#include "models/onnx/import/axes.h"

#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

// 24 channels, 4 x 3 pixels.
const Axes kImage = AxesOfImage({24, 4, 3}, /*channels_last=*/false);

std::string Text(const std::optional<Axes>& axes) { return axes ? ToText(*axes) : "none"; }

TEST(AxesTest, AnImageIsFlattenedAndDividedAgain) {
  const auto pixels = Reshaped(kImage, {-1, 24, 12});
  EXPECT_EQ(Text(pixels), "(N, 24, 12)");
  EXPECT_EQ(*Reshaped(*pixels, {kBatchExtent, 24, 4, 3}), kImage);
  EXPECT_EQ(*Reshaped(*pixels, {7, -1, 4, 3}), kImage);  // a batch that the file fixes
  EXPECT_NE(*Reshaped(*pixels, {-1, 24, 3, 4}), kImage);
  const auto tokens = Transposed(*pixels, {0, 2, 1});
  EXPECT_EQ(Text(tokens), "(N, 12, 24)");
  EXPECT_EQ(*Reshaped(*tokens, {-1, 4, 3, 24}), AxesOfImage({24, 4, 3}, true));
}

// As torch.nn.MultiheadAttention does.
TEST(AxesTest, SamplesAndHeadsCanBeOneAxis) {
  const Axes rows = *Transposed(*Reshaped(kImage, {-1, 24, 12}), {2, 0, 1});
  EXPECT_EQ(Text(rows), "(12, N, 24)");
  const Axes heads = *Reshaped(rows, {12, -1, 4});
  EXPECT_EQ(Text(heads), "(12, N * 6, 4)");
  EXPECT_FALSE(ExtentsOf(heads).has_value());
  const Axes apart = *Reshaped(*Transposed(heads, {1, 0, 2}), {-1, 6, 12, 4});
  EXPECT_EQ(Text(apart), "(N, 6, 12, 4)");
  EXPECT_EQ(apart[1], ChannelAxis(6, 4));
  EXPECT_EQ(apart[3], ChannelAxis(4));
  EXPECT_EQ(*ExtentsOf(apart), (std::vector<int64_t>{kBatchExtent, 6, 12, 4}));
  EXPECT_EQ(*Reshaped(*Transposed(apart, {2, 0, 1, 3}), {12, -1, 24}), rows);
}

TEST(AxesTest, AxesOfOneElementComeAndGo) {
  const Axes one = AxesOfImage({1, 4, 3}, false);
  EXPECT_EQ(Text(Reshaped(one, {-1, 1, 12, 1, 1})), "(N, 1, 12, 1, 1)");
  EXPECT_EQ(*Reshaped(*Reshaped(one, {-1, 1, 12, 1, 1}), {kBatchExtent, 1, 4, 3}), one);
}

TEST(AxesTest, OtherShapesAreNone) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{-1, 5, 12},
                                            {-1, 24, 13},
                                            {-1, 24, 0},
                                            {-1, 24, -2},
                                            {24, kBatchExtent, 12},
                                            {-1, 24, -1},
                                            {kBatchExtent, 24, 6},
                                            {kBatchExtent, 24, 12, 2},
                                            {288, kBatchExtent},
                                            {-1, 36, 8}}) {
    EXPECT_EQ(Text(Reshaped(kImage, shape)), "none") << shape.size() << " " << shape[1];
  }
  std::vector<int64_t> many(kMostImageAxes + 1, 1);
  many[0] = -1;
  EXPECT_EQ(Text(Reshaped(kImage, many)), "none");
  many.pop_back();
  EXPECT_NE(Text(Reshaped(kImage, many)), "none");
  EXPECT_EQ(Text(Transposed(kImage, {0, 1, 2})), "none");
  EXPECT_EQ(Text(Transposed(kImage, {0, 1, 2, 2})), "none");
  EXPECT_EQ(Text(Transposed(kImage, {0, 1, 2, 4})), "none");
}

}  // namespace
}  // namespace dtnn
