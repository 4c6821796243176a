#include "data/datasets/more_classes.h"

#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using testing::CountingDataset;

TEST(MoreClassesTest, NothingElseChanges) {
  const auto dataset = std::make_shared<CountingDataset>(7);
  const auto more = *WithClasses(dataset, 10);
  EXPECT_EQ(more->outputs(), 10);
  EXPECT_EQ(more->name(), "counting");
  EXPECT_EQ(more->sample(), dataset->sample());
  EXPECT_EQ(more->size(Split::kTrain), 7);
  const Tensor x = *Tensor::Zeros(DType::kFloat32, Shape{1, 2, 3, 1});
  const Tensor targets = *Tensor::Zeros(DType::kInt32, Shape{1});
  const int64_t index[] = {6};
  ASSERT_TRUE(more->Read(Split::kTrain, index, TensorFormat::kNHWC, x, targets).ok());
  EXPECT_EQ(targets.data<int32_t>()[0], 6);
  EXPECT_EQ(x.data<float>()[5], 6);
  EXPECT_EQ(*WithClasses(dataset, 7), dataset);
}

class Values : public CountingDataset {
 public:
  Values() : CountingDataset(7) {}
  TargetKind target_kind() const override { return TargetKind::kValues; }
};

TEST(MoreClassesTest, NeitherFewerNorOfValues) {
  EXPECT_EQ(WithClasses(std::make_shared<CountingDataset>(7), 6).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WithClasses(std::make_shared<Values>(), 8).status().message(),
            "counting: has 7 values per sample, which cannot become 8 classes");
}

}  // namespace
}  // namespace dtnn
