#include "models/observe/report/mistakes/wrong_images.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/mistakes/confusion.h"
#include "models/observe/report/testing/page_checker.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckFragment;
using ::dtnn::testing::Pitched;
using ::dtnn::testing::TensorOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor Classes(std::vector<double> values) {
  const Shape shape{int64_t(values.size())};
  return TensorOf(DType::kInt32, shape, values);
}

void Add(WrongImages& wrong, const Tensor& x, const Tensor& predictions, const Tensor& targets) {
  EXPECT_EQ(wrong.Add({.x = x, .targets = targets, .count = x.shape()[0]}, predictions),
            absl::OkStatus());
}

TEST(ConfusionTest, CountsTrueAndPredictedClasses) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{4, 3},
                            {.1, .2, .7, .5, .3, .2, .1, .8, .1, .4, .4, .2});  // 2, 0, 1, tie: 0
  Confusion confusion;
  Count(Pitched(p, TensorFormat::kNHWC), Classes({2, 1, 1, 1}), confusion);
  Count(p, Classes({2, 1, 1, 1}), confusion);
  EXPECT_THAT(confusion.counts, ElementsAre(0, 0, 0, 4, 2, 0, 0, 0, 2));
  EXPECT_EQ(confusion.samples(), 8);
  EXPECT_EQ(confusion.right(), 4);
  const std::vector<std::string> names = {"cat", "<dog>", "cow"};
  const CheckedPage page = CheckFragment(FormatConfusion(confusion, names));
  EXPECT_THAT(page.problems, IsEmpty());
  const auto rows = NumbersOf(*page.root.All("table")[0]);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1][1], 4);
  EXPECT_EQ(rows[1][2], 2);
  EXPECT_THAT(page.root.text, HasSubstr("4 of 8 samples were classified correctly (50.00 %)"));
  EXPECT_THAT(page.root.text, HasSubstr("1 (<dog>)"));
}

TEST(ConfusionTest, OfManyClassesTheMostFrequentConfusionsAreShown) {
  Confusion confusion = {.classes = 25, .counts = std::vector<int64_t>(625)};
  for (size_t i = 0; i < 25; ++i) confusion.counts[i * 26] = 100;
  confusion.counts[3 * 25 + 7] = 5;
  confusion.counts[24 * 25 + 0] = 12;
  const CheckedPage page = CheckFragment(FormatConfusion(confusion, {}));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_EQ(NumbersOf(*page.root.All("table")[0]),
            (std::vector<std::vector<double>>{{24, 0, 12}, {3, 7, 5}}));
}

TEST(ConfusionTest, OtherTargetsAreNotCounted) {
  Confusion confusion;
  Count(TensorOf(DType::kFloat32, Shape{1, 2}, {.1, .9}),
        TensorOf(DType::kFloat32, Shape{1, 2}, {0, 1}), confusion);
  Count(TensorOf(DType::kFloat32, Shape{1, 1}, {.9}), Classes({0}), confusion);
  EXPECT_EQ(confusion.classes, 0);
}

// Two images of 1 x 2 pixels and 3 channels, the second in the other format's order.
TEST(WrongImagesTest, TheMostCertainOnesStayAndLookAsTheyWere) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{4, 2}, {.4, .6, .1, .9, .2, .8, .3, .7});
  const Tensor truth = Classes({0, 0, 1, 0});  // wrong: 0 (.6), 1 (.9), 3 (.7)
  std::vector<double> values(4 * 6);
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i % 6) - 2;  // 0, 51, ..., 255
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Shape shape = format == TensorFormat::kNHWC ? Shape{4, 1, 2, 3} : Shape{4, 3, 1, 2};
    WrongImages wrong(format, 2);
    Add(wrong, TensorOf(DType::kFloat32, shape, values), p, truth);
    ASSERT_EQ(wrong.images().size(), 2u);
    EXPECT_NEAR(wrong.images()[0].certainty, .9, 1e-6);
    EXPECT_NEAR(wrong.images()[1].certainty, .7, 1e-6);
    EXPECT_EQ(wrong.images()[0].predicted, 1);
    const Image& image = wrong.images()[0].image;
    EXPECT_EQ(image.extents, (ImageExtents{1, 2, 3}));
    if (format == TensorFormat::kNHWC) {
      EXPECT_THAT(image.pixels, ElementsAre(0, 51, 102, 153, 204, 255));
    } else {
      EXPECT_THAT(image.pixels, ElementsAre(0, 102, 204, 51, 153, 255));
    }
    const CheckedPage page = CheckFragment(FormatWrongImages(wrong.images(), {}));
    EXPECT_THAT(page.problems, IsEmpty());
    EXPECT_EQ(page.root.All("img")[0]->Attribute("alt"), "Looks like 1 with 90.0 %, is 0");
    std::string png;
    ASSERT_TRUE(absl::Base64Unescape(page.root.All("img")[0]->Attribute("src").substr(22), &png));
    const auto decoded = DecodeImage(
        std::span(reinterpret_cast<const uint8_t*>(png.data()), png.size()), "thumbnail");
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->pixels, image.pixels);
  }
}

TEST(WrongImagesTest, LargeImagesBecomeSmall) {
  const Tensor x =
      TensorOf(DType::kFloat64, Shape{1, 200, 130, 5}, std::vector<double>(200 * 130 * 5, 3.0));
  WrongImages wrong(TensorFormat::kNHWC);
  Add(wrong, x, TensorOf(DType::kFloat64, Shape{1, 2}, {.1, .9}), Classes({0}));
  ASSERT_EQ(wrong.images().size(), 1u);
  EXPECT_EQ(wrong.images()[0].image.extents, (ImageExtents{50, 33, 1}));
}

TEST(WrongImagesTest, WhatIsNoImageOrNoProbabilityIsLeftOut) {
  WrongImages wrong(TensorFormat::kNHWC);
  const Tensor p = TensorOf(DType::kFloat32, Shape{1, 2}, {.1, .9});
  Add(wrong, TensorOf(DType::kFloat32, Shape{1, 4}, {1, 2, 3, 4}), p, Classes({0}));
  const Tensor x = TensorOf(DType::kFloat32, Shape{1, 1, 2, 1}, {1, 2});
  Add(wrong, x, TensorOf(DType::kFloat32, Shape{1, 2}, {.1, 9}), Classes({0}));
  Add(wrong, x, p, TensorOf(DType::kFloat32, Shape{1, 2}, {1, 0}));
  Add(wrong, x, p, Classes({1}));
  EXPECT_TRUE(wrong.images().empty());
}

}  // namespace
}  // namespace dtnn
