#include "data/check_labels.h"

#include <utility>

#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

// Five samples of three classes, with the labels of its test split.
class Labelled : public testing::CountingDataset {
 public:
  explicit Labelled(std::vector<int32_t> labels) : CountingDataset(5), labels_(std::move(labels)) {}
  int64_t outputs() const override { return 3; }
  std::vector<int32_t> labels(Split split) const override {
    return split == Split::kTest ? labels_ : std::vector<int32_t>();
  }

 private:
  const std::vector<int32_t> labels_;
};

TEST(CheckLabelsTest, LabelsAreOneClassPerSample) {
  const auto check = [](std::vector<int32_t> labels) {
    const Labelled dataset(std::move(labels));
    EXPECT_EQ(CheckLabels(dataset, Split::kTrain), absl::OkStatus()) << "not known";
    return CheckLabels(dataset, Split::kTest);
  };
  EXPECT_EQ(check({0, 1, 2, 0, 2}), absl::OkStatus());
  EXPECT_EQ(check({0, 1, 2, -1, 2}),
            absl::InvalidArgumentError(
                "counting (test split): sample 3 has label -1, but there are 3 classes"));
  EXPECT_EQ(check({3, 1, 2, 0, 2}),
            absl::InvalidArgumentError(
                "counting (test split): sample 0 has label 3, but there are 3 classes"));
  EXPECT_EQ(check({0, 1}),
            absl::InvalidArgumentError("counting (test split): has 2 labels for 5 samples"));
}

}  // namespace
}  // namespace dtnn
