#include "models/observe/report/mistakes/wrong_values.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/testing/page_checker.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckFragment;
using ::dtnn::testing::Pitched;
using ::dtnn::testing::TensorOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DType kFloat = DType::kFloat32;

void Add(WrongValuesFinder& finder, const Tensor& x, const Tensor& predictions,
         const Tensor& targets) {
  EXPECT_EQ(finder.Add({.x = x, .targets = targets, .count = x.shape()[0]}, predictions),
            absl::OkStatus());
}

// Samples that are numbered by their pixel.
Tensor Pixels(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.insert(values.end(), {0, double(i + 1)});
  return TensorOf(kFloat, Shape{count, 1, 2, 1}, values);
}

std::vector<std::string> WordsOf(const std::string& html) {
  const CheckedPage page = CheckFragment(html);
  EXPECT_THAT(page.problems, IsEmpty());
  std::vector<std::string> words;
  for (const auto* caption : page.root.All("figcaption")) words.push_back(caption->text);
  return words;
}

TEST(WrongValuesTest, TheLargestDeviationsComeFirst) {
  WrongValuesFinder finder(TensorFormat::kNHWC, /*labels=*/false, 2);
  const Tensor targets = TensorOf(kFloat, Shape{4, 1}, {1, 2, 3, 4});
  Add(finder, Pixels(4),
      Pitched(TensorOf(kFloat, Shape{4, 1}, {1.5, 12, 3, 3}), TensorFormat::kNHWC), targets);
  Add(finder, Pixels(4), TensorOf(kFloat, Shape{4, 1}, {1, 2, 0.5, 4}), targets);
  EXPECT_THAT(WordsOf(FormatWrongValues(finder.samples(), false, 1, {})),
              ElementsAre("predicted 12, is 2 (off by 10)", "predicted 0.5, is 3 (off by 2.5)"));
  EXPECT_EQ(finder.samples()[0].image.extents, (ImageExtents{1, 2, 1}));
  finder.Clear();
  EXPECT_THAT(finder.samples(), IsEmpty());
}

TEST(WrongValuesTest, OfSeveralQuantitiesTheWorstIsNamed) {
  WrongValuesFinder finder(TensorFormat::kNHWC, /*labels=*/false);
  Add(finder, Pixels(1), TensorOf(kFloat, Shape{1, 3}, {1, 2, 3}),
      TensorOf(kFloat, Shape{1, 3}, {0, 2, -5}));
  EXPECT_THAT(WordsOf(FormatWrongValues(finder.samples(), false, 3, {})),
              ElementsAre("Output 2: predicted 3, is -5 (off by 8)"));
  const std::vector<std::string> names = {"x", "y", "<z>"};
  EXPECT_THAT(WordsOf(FormatWrongValues(finder.samples(), false, 3, names)),
              ElementsAre("Output 2 (<z>): predicted 3, is -5 (off by 8)"));
}

TEST(WrongValuesTest, TheMostWrongLabelsComeFirstAndThenTheFarthestOff) {
  WrongValuesFinder finder(TensorFormat::kNHWC, /*labels=*/true);
  Add(finder, Pixels(4),
      TensorOf(kFloat, Shape{4, 5},
               {.4, .1, .9, .1, .1, /**/ .75, .25, .625, .9, 0.5, /**/ .6, .1, .1, .1, .1, /**/
                .9, .1, .1, .1, .1}),
      TensorOf(kFloat, Shape{4, 5},
               {0, 0, 1, 0, 0, /**/ 0, 1, 0, 0, 0, /**/ 0, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 0}));
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  EXPECT_THAT(WordsOf(FormatWrongValues(finder.samples(), true, 5, names)),
              ElementsAre("5 of 5 labels wrong: 3 (d) with 90.0 % is not there, 0 (a) with 75.0 % "
                          "is not there, 1 (b) with 25.0 % is there, and 2 more",
                          "1 of 5 labels wrong: 0 (a) with 90.0 % is not there",
                          "1 of 5 labels wrong: 0 (a) with 60.0 % is not there"))
      << "the first sample has no wrong label";
}

TEST(WrongValuesTest, SamplesThatAreNotImagesHaveWordsOnly) {
  WrongValuesFinder finder(TensorFormat::kNHWC, /*labels=*/false);
  Add(finder, TensorOf(kFloat, Shape{1, 4}, {1, 2, 3, 4}), TensorOf(kFloat, Shape{1, 1}, {1}),
      TensorOf(kFloat, Shape{1, 1}, {3}));
  const std::string html = FormatWrongValues(finder.samples(), false, 1, {});
  EXPECT_THAT(WordsOf(html), ElementsAre("predicted 1, is 3 (off by 2)"));
  EXPECT_THAT(CheckFragment(html).root.All("img"), IsEmpty());
}

TEST(WrongValuesTest, WhatIsRightOrNotFiniteOrAClassIsLeftOut) {
  for (const bool labels : {false, true}) {
    WrongValuesFinder finder(TensorFormat::kNHWC, labels);
    const Tensor x = Pixels(1);
    Add(finder, x, TensorOf(kFloat, Shape{1, 2}, {1, 0}), TensorOf(kFloat, Shape{1, 2}, {1, 0}));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Add(finder, x, TensorOf(kFloat, Shape{1, 2}, {nan, 9}), TensorOf(kFloat, Shape{1, 2}, {1, 0}));
    Add(finder, x, TensorOf(kFloat, Shape{1, 2}, {0, 1}), TensorOf(DType::kInt32, Shape{1}, {0}));
    EXPECT_THAT(finder.samples(), IsEmpty());
  }
}

}  // namespace
}  // namespace dtnn
