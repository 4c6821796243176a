#include "models/run/parts/class_weights.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Labels, and nothing to read.
class Labels : public Dataset {
 public:
  Labels(int64_t classes, std::vector<int32_t> labels, TargetKind kind = TargetKind::kClass)
      : classes_(classes), labels_(std::move(labels)), kind_(kind) {}

  std::string_view name() const override { return "labels"; }
  ImageExtents sample() const override { return {1, 1, 1}; }
  int64_t outputs() const override { return classes_; }
  TargetKind target_kind() const override { return kind_; }
  int64_t size(Split) const override { return int64_t(labels_.size()); }
  std::vector<int32_t> labels(Split split) const override {
    return split == Split::kTrain ? labels_ : std::vector<int32_t>();
  }
  std::vector<std::string> class_names() const override { return {"cat", "dog", "cow"}; }
  absl::Status Read(Split, std::span<const int64_t>, TensorFormat, const Tensor&,
                    const Tensor&) const override {
    return absl::UnimplementedError("no samples");
  }

 private:
  const int64_t classes_;
  const std::vector<int32_t> labels_;
  const TargetKind kind_;
};

RunOptions With(const std::string& weights) {
  RunOptions options;
  options.training.class_weights = weights;
  return options;
}

TEST(ClassWeightsTest, BalancedGivesEachClassTheSameSum) {
  // scikit-learn: compute_class_weight("balanced", classes=[0, 1, 2], y=[0, 0, 0, 1, 1, 2])
  const auto weights = MakeClassWeights(With("balanced"), Labels(3, {0, 0, 0, 1, 1, 2}), nullptr);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(*weights, ElementsAre(6 / (3 * 3.0), 6 / (3 * 2.0), 6 / (3 * 1.0)));
  EXPECT_EQ(DescribeClassWeights(Labels(2, {}), {1.5, 1.5}), "**** Class weights: all 1.5\n");
  EXPECT_EQ(DescribeClassWeights(Labels(3, {}), *weights),
            "**** Class weights: 0.6667 (class cat) to 2 (class cow)\n");
}

TEST(ClassWeightsTest, AClassWithoutSamplesDoesNotCount) {
  const auto weights = MakeClassWeights(With("balanced"), Labels(3, {0, 0, 0, 2}), nullptr);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(*weights, ElementsAre(4 / (2 * 3.0), 1, 4 / (2 * 1.0)));
}

TEST(ClassWeightsTest, SamplesOfAllRanksCount) {
  std::vector<std::vector<double>> weights(2);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    const bool first = communicator.rank() == 0;
    const Labels labels(3, first ? std::vector<int32_t>{0, 0, 0} : std::vector<int32_t>{1, 1, 2});
    auto made = MakeClassWeights(With("balanced"), labels, &communicator);
    if (made.ok()) weights[size_t(communicator.rank())] = *std::move(made);
    return made.status();
  });
  ASSERT_TRUE(status.ok()) << status;
  for (const auto& of_rank : weights) EXPECT_THAT(of_rank, ElementsAre(2 / 3.0, 1, 2));
}

TEST(ClassWeightsTest, OnlyThePartThatIsTrainedOnCounts) {
  const std::string path = ::testing::TempDir() + "parts.txt";
  std::ofstream(path) << "0,1,3\n2,4,5\n";
  const Labels labels(3, {0, 0, 0, 1, 1, 2});
  const auto weights = [&](const std::string& part) {
    RunOptions options = With("balanced");
    options.data.part = part;
    return *MakeClassWeights(options, labels, nullptr);
  };
  EXPECT_THAT(weights("1/2@file:" + path), ElementsAre(3 / (2 * 2.0), 3 / (2 * 1.0), 1));
  EXPECT_THAT(weights("2/2@file:" + path), ElementsAre(1, 1, 1));
  EXPECT_THAT(weights("1/6"), ElementsAre(1, 1, 1)) << "of one sample";
}

TEST(ClassWeightsTest, ARankWithoutItsPartDoesNotKeepOthersWaiting) {
  const absl::Status status = RunRanks(2, [](Communicator& communicator) {
    RunOptions options = With("balanced");
    if (communicator.rank() == 1) options.data.part = "1/2@file:none";
    const auto made = MakeClassWeights(options, Labels(2, {0, 1}), &communicator);
    EXPECT_EQ(made.ok(), communicator.rank() == 0) << made.status();
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ClassWeightsTest, AListIsTakenAsItIs) {
  EXPECT_THAT(*MakeClassWeights(With("1,2.5,0"), Labels(3, {}), nullptr), ElementsAre(1, 2.5, 0));
  EXPECT_TRUE(MakeClassWeights(With(""), Labels(3, {}), nullptr)->empty());
}

TEST(ClassWeightsTest, AFileIsTheSameOnAllRanks) {
  const auto write = [](const char* name, const char* text) {
    const std::string path = ::testing::TempDir() + name;
    std::ofstream(path) << text;
    return path;
  };
  const std::string path = write("weights.txt", "cow 3\ncat 1\ndog 2\n");
  const Labels labels(3, {0, 1, 2});
  EXPECT_THAT(*MakeClassWeights(With(path), labels, nullptr), ElementsAre(1, 2, 3));
  EXPECT_TRUE(CheckClassWeights(With(path), "labels", 0).ok());
  const std::string other = write("others.txt", "1\n2\n4\n");
  for (const auto& [second, error] :
       {std::pair(path, ""), std::pair(other, "has other weights in this file than rank 0"),
        std::pair(path + ".txt", "No such file")}) {
    std::vector<absl::Status> statuses(2);
    const absl::Status status = RunRanks(2, [&, &second = second](Communicator& communicator) {
      const int rank = communicator.rank();
      statuses[size_t(rank)] =
          MakeClassWeights(With(rank == 0 ? path : second), labels, &communicator).status();
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(std::string(statuses[1].message()), HasSubstr(error)) << second;
    EXPECT_EQ(statuses[1].ok(), second == path);
  }
}

TEST(ClassWeightsTest, AnyNumberFitsDataWhoseClassesAreNotKnownYet) {
  EXPECT_EQ(CheckClassWeights(With("1,2"), "labels", 0), absl::OkStatus());
  EXPECT_EQ(CheckClassWeights(With("1,2"), "labels", 2), absl::OkStatus());
  EXPECT_FALSE(CheckClassWeights(With("1,2"), "labels", 3).ok());
}

TEST(ClassWeightsTest, WhatMakesNoSenseIsRefused) {
  RunOptions other_loss = With("balanced");
  other_loss.training.loss = "binary_cross_entropy";
  const Labels labels(3, {0, 1, 2});
  const struct {
    RunOptions options;
    const Labels& dataset;
    const char* error;
  } cases[] = {
      {With("1,2"), labels,
       "RunOptions::training.class_weights: has 2 weights, but labels has 3 classes"},
      {With("1,2,3,4"), labels, "has 4 weights"},
      {With("1,-2,3"), labels, "\"-2\" is not a weight"},
      {With("1,,3"), labels, "\"\" is not a weight"},
      {With("1,nan,3"), labels, "\"nan\" is not a weight"},
      {With("1,inf,3"), labels, "\"inf\" is not a weight"},
      {With("none.txt"), labels, "RunOptions::training.class_weights: none.txt: "},
      {With("equal"), labels, "\"equal\" is not a weight; expected balanced, or"},
      {With("0,0,0"), labels, "nothing to learn"},
      {With("balanced"), Labels(3, {}), "are not known before they are read"},
      {With("balanced"), Labels(3, {}, TargetKind::kValues), "needs one class per sample"},
      {other_loss, labels, "needs RunOptions::training.loss=categorical_cross_entropy, not binary"},
  };
  for (const auto& c : cases) {
    const auto weights = MakeClassWeights(c.options, c.dataset, nullptr);
    EXPECT_THAT(std::string(weights.status().message()), HasSubstr(c.error));
    EXPECT_EQ(ExitCodeOf(weights.status()), kExitUsage) << weights.status();
  }
}

}  // namespace
}  // namespace dtnn
