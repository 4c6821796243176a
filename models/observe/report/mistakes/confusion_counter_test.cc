#include "models/observe/report/mistakes/confusion_counter.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "comm/local.h"
#include "data/loading/loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"

namespace dtnn {
namespace {

using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::Patterns;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::testing::HasSubstr;

// What two ranks count: together, and each alone.
struct Counted {
  Confusion all, own;
};

// `samples`: of the validation. `own`: rank 0 has all of them, rank 1 none.
std::array<Counted, 2> CountWithTwoRanks(size_t samples, bool own = false) {
  std::array<Counted, 2> counted;
  std::vector<int64_t> indices(samples);
  std::iota(indices.begin(), indices.end(), 0);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    SessionOptions setup;
    setup.validation_split = 0;
    setup.training.communicator = &communicator;
    setup.loading.rank = communicator.rank();
    setup.loading.ranks = 2;
    TrainingSession session(PatternMlp(), setup);
    if (own) {
      session.validation = *Loader::Create(
          Patterns(60), Split::kTest, communicator.rank() == 0 ? indices : std::vector<int64_t>(),
          {.batch = 5});
    } else if (!indices.empty()) {
      session.validation =
          *Loader::Create(Patterns(60), Split::kTest, indices,
                          {.batch = 5, .rank = communicator.rank(), .ranks = communicator.size()});
    }
    ConfusionCounter all(&communicator, TensorFormat::kNHWC), own(nullptr, TensorFormat::kNHWC);
    const absl::Status trained = session.Train(2, {&all, &own});
    counted[size_t(communicator.rank())] = {all.confusion(), own.confusion()};
    return trained;
  });
  EXPECT_TRUE(status.ok()) << status;
  return counted;
}

TEST(ConfusionCounterTest, AllRanksHaveTheCountsOfAll) {
  const auto [zero, one] = CountWithTwoRanks(12);
  EXPECT_EQ(zero.own.samples() + one.own.samples(), 12) << "in the last epoch only";
  EXPECT_EQ(zero.own.samples(), 6);
  ASSERT_EQ(zero.all.counts.size(), 16u);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(zero.all.counts[i], zero.own.counts[i] + one.own.counts[i]) << i;
  }
  EXPECT_EQ(one.all.counts, zero.all.counts);
}

TEST(ConfusionCounterTest, ARankMayHaveNoSamplesOfAValidation) {
  const auto [zero, one] = CountWithTwoRanks(12, /*own=*/true);
  EXPECT_EQ(zero.own.samples(), 12);
  EXPECT_EQ(one.own.samples(), 0);
  EXPECT_EQ(zero.all.counts, zero.own.counts);
  EXPECT_EQ(one.all.counts, zero.own.counts);
  EXPECT_EQ(one.all.classes, 4);
}

TEST(ConfusionTest, LabelledPixelsAreCounted) {
  constexpr int64_t kImages = 2, kHeight = 2, kWidth = 3, kClasses = 3;
  const std::vector<int32_t> labels = {0, 1, 2, -1, 0, 1, 2, 2, -1, 1, 0, 0};
  const std::vector<int64_t> predicted = {0, 1, 1, 2, 0, 0, 2, 2, 0, 1, 0, 2};
  const Tensor targets = *Tensor::Zeros(DType::kInt32, {kImages, kHeight, kWidth});
  std::ranges::copy(labels, targets.data<int32_t>());
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const ImageExtents image = {kHeight, kWidth, kClasses};
    const Tensor predictions =
        *Tensor::Zeros(DType::kFloat64, SampleShape(image, format).Prepend(kImages));
    for (int64_t i = 0; i < kImages * kHeight * kWidth; ++i) {
      const int64_t n = i / (kHeight * kWidth), pixel = i % (kHeight * kWidth);
      const int64_t c = predicted[size_t(i)];
      const int64_t at = format == TensorFormat::kNHWC
                             ? i * kClasses + c
                             : (n * kClasses + c) * kHeight * kWidth + pixel;
      predictions.data<double>()[at] = 0.5;
    }
    Confusion confusion;
    CountPixels(predictions, targets, format, confusion);
    EXPECT_TRUE(confusion.pixels);
    EXPECT_THAT(confusion.counts, ::testing::ElementsAre(3, 0, 1, 1, 2, 0, 0, 1, 2));
    EXPECT_DOUBLE_EQ(confusion.IntersectionOverUnion(0), 3.0 / 5);
    EXPECT_DOUBLE_EQ(confusion.IntersectionOverUnion(1), 2.0 / 4);
    EXPECT_DOUBLE_EQ(confusion.IntersectionOverUnion(2), 2.0 / 4);
    const std::string page = FormatConfusion(confusion, {});
    EXPECT_THAT(page, HasSubstr("7 of 10 labelled pixels were classified correctly"));
    EXPECT_THAT(page, HasSubstr("0.6000"));
    EXPECT_THAT(page, HasSubstr("0.5333")) << "the mean";
  }
}

// So that all ranks take part in the sum.
TEST(ConfusionTest, ARankWithoutLabelledPixelsKnowsTheClasses) {
  const Tensor targets = *Tensor::Zeros(DType::kInt32, {1, 1, 2});
  std::fill_n(targets.data<int32_t>(), 2, -1);
  Confusion confusion;
  CountPixels(*Tensor::Zeros(DType::kFloat32, {1, 1, 2, 3}), targets, TensorFormat::kNHWC,
              confusion);
  EXPECT_EQ(confusion.classes, 3);
  EXPECT_EQ(confusion.samples(), 0);
  EXPECT_THAT(FormatConfusion(confusion, {}), HasSubstr("none"));
}

TEST(ConfusionCounterTest, WithoutValidationNothingIsCounted) {
  EXPECT_EQ(CountWithTwoRanks(0)[0].all.samples(), 0);
}

}  // namespace
}  // namespace dtnn
