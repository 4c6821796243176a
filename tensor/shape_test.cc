#include "tensor/shape.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::string ErrorOf(const std::vector<int64_t>& extents) {
  return std::string(Shape::Make(extents).status().message());
}

TEST(ShapeTest, DefaultIsAScalar) {
  const Shape shape;
  EXPECT_EQ(shape.rank(), 0);
  EXPECT_EQ(shape.NumElements(), 1);
  EXPECT_EQ(shape.ToString(), "()");
}

TEST(ShapeTest, PrintsAsAPythonTuple) {
  EXPECT_EQ((Shape{128}).ToString(), "(128,)");
  EXPECT_EQ((Shape{28, 28, 1}).ToString(), "(28, 28, 1)");
}

TEST(ShapeTest, MakeAgreesWithTheConstructor) {
  EXPECT_EQ(*Shape::Make(std::vector<int64_t>{2, 3, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(*Shape::Make({}), Shape());
  EXPECT_EQ((Shape{2, 3, 4}).NumElements(), 24);
}

TEST(ShapeTest, EqualityComparesRankAndExtents) {
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{0}), Shape());  // unused extents are 0 inside
}

TEST(ShapeTest, TakesTheMaximumRankAndNoMore) {
  EXPECT_EQ(Shape::Make(std::vector<int64_t>(Shape::kMaxRank, 1))->rank(), Shape::kMaxRank);
  EXPECT_THAT(ErrorOf(std::vector<int64_t>(Shape::kMaxRank + 1, 1)),
              HasSubstr("a shape has at most 6 dimensions, not 7"));
}

TEST(ShapeTest, RefusesNegativeExtents) {
  EXPECT_THAT(ErrorOf({3, -1}), HasSubstr("negative extent -1"));
  EXPECT_THAT(ErrorOf({0, -5}), HasSubstr("negative extent -5"));
  EXPECT_FALSE(Shape::Make(std::vector{std::numeric_limits<int64_t>::min()}).ok());
}

TEST(ShapeTest, RefusesProductsBeyond63Bits) {
  EXPECT_EQ(Shape::Make(std::vector<int64_t>{kHuge})->NumElements(), kHuge);
  EXPECT_THAT(ErrorOf({kHuge, 2}), HasSubstr("63 bits"));
  EXPECT_THAT(ErrorOf({int64_t{1} << 32, int64_t{1} << 31}), HasSubstr("63 bits"));
  // A product that wraps around to a small number.
  EXPECT_THAT(ErrorOf({int64_t{1} << 32, int64_t{1} << 32, 3}), HasSubstr("63 bits"));
}

TEST(ShapeTest, AZeroExtentHidesNoOverflow) {
  EXPECT_EQ(Shape::Make(std::vector<int64_t>{5, 0, 7})->NumElements(), 0);
  EXPECT_THAT(ErrorOf({0, kHuge, 2}), HasSubstr("63 bits"));
  EXPECT_THAT(ErrorOf({kHuge, 2, 0}), HasSubstr("63 bits"));
}

TEST(ShapeTest, PrependAndDropFirstAreInverse) {
  const Shape sample{28, 28, 1};
  const Shape batch = sample.Prepend(64);
  EXPECT_EQ(batch, (Shape{64, 28, 28, 1}));
  EXPECT_EQ(batch.DropFirst(), sample);
  EXPECT_EQ((Shape{7}).DropFirst(), Shape());
  EXPECT_EQ(Shape().Prepend(7), (Shape{7}));
}

}  // namespace
}  // namespace dtnn
