#include "models/onnx/shapes/axes.h"

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
  EXPECT_EQ(*Reshaped(*pixels, {7, -1, 4, 3}, /*batch=*/7), kImage);
  EXPECT_EQ(Text(Reshaped(*pixels, {7, -1, 4, 3}, /*batch=*/8)), "none");
  EXPECT_EQ(Text(Reshaped(*pixels, {1, -1, 4, 3})), "(1, N * 24, 4, 3)");
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
  EXPECT_EQ(*ExtentsOf(heads), (std::vector<int64_t>{12, BatchExtent(6), 4}));
  EXPECT_EQ(*Reshaped(rows, {12, BatchExtent(6), 4}), heads);
  EXPECT_EQ(*Reshaped(rows, {-1, BatchExtent(6), 4}), heads);
  EXPECT_EQ(*Reshaped(rows, {BatchExtent(12), 24}), *Reshaped(rows, {-1, 24}));
  for (const int64_t times : {int64_t{1}, int64_t{5}, int64_t{7}, int64_t{24}, kMostTimes}) {
    EXPECT_FALSE(Reshaped(rows, {12, BatchExtent(times), 4})) << times;
  }
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

// Channels, rows and columns of 24 channels of 4 x 3 pixels as one axis.
TEST(AxesTest, GatheredPlacesAreAxesInAnotherOrder) {
  const Axis all = (*Reshaped(kImage, {-1, 288}))[1];
  std::vector<int64_t> places(288);
  const auto gathered = [&](const std::vector<int64_t>& extents) {
    return Text(Gathered(all, extents, places));
  };
  for (int64_t i = 0; i < 288; ++i) places[size_t(i)] = i;
  EXPECT_EQ(gathered({24, 4, 3}), "(24, 4, 3)");
  EXPECT_EQ(gathered({6, 1, 4, 12, 1}), "(6, 1, 4, 12, 1)");
  EXPECT_EQ(gathered({5, 5}), "none");
  EXPECT_EQ(gathered({288, 2}), "none");
  EXPECT_EQ(gathered({-1, -288}), "none");
  EXPECT_EQ(gathered({36, 8}), "none");  // no product of factors
  for (int64_t i = 0; i < 288; ++i) places[size_t(i)] = i % 24 * 12 + i / 24;
  const auto turned = Gathered(all, {4, 3, 24}, places);
  ASSERT_TRUE(turned.has_value());
  EXPECT_EQ((*turned)[2], ChannelAxis(24));
  EXPECT_EQ((*turned)[0], kImage[2]);
  std::swap(places[5], places[6]);
  EXPECT_EQ(gathered({4, 3, 24}), "none");
  for (int64_t i = 0; i < 288; ++i) places[size_t(i)] = i / 2;  // some twice
  EXPECT_EQ(gathered({144, 2}), "none");
  places[1] = INT64_MAX;
  EXPECT_EQ(gathered({2, 144}), "none");
}

}  // namespace
}  // namespace dtnn
