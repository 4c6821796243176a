#include "data/dataset.h"

#include <array>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

class TwoPixels : public Dataset {
 public:
  explicit TwoPixels(TargetKind kind) : kind_(kind) {}
  std::string_view name() const override { return "two"; }
  ImageExtents sample() const override { return {.height = 1, .width = 2, .channels = 1}; }
  int64_t outputs() const override { return 3; }
  TargetKind target_kind() const override { return kind_; }
  int64_t size(Split) const override { return 5; }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    return CheckRead(*this, split, indices, format, x, targets);
  }

 private:
  TargetKind kind_;
};

std::string Refusal(const Dataset& dataset, const Tensor& x, const Tensor& targets) {
  const absl::Status status =
      dataset.Read(Split::kTrain, std::array<int64_t, 2>{0, 4}, TensorFormat::kNHWC, x, targets);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(DatasetTest, TargetsHaveTheShapeAndTypeOfTheirKind) {
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, {2, 1, 2, 1}));
  const TwoPixels classes(TargetKind::kClass), values(TargetKind::kValues);
  const Tensor labels = Must(Tensor::Zeros(DType::kInt32, {2}));
  const Tensor numbers = Must(Tensor::Zeros(DType::kFloat32, {2, 3}));
  EXPECT_EQ(Refusal(classes, x, labels), "");
  EXPECT_EQ(Refusal(values, x, numbers), "");
  EXPECT_THAT(Refusal(classes, x, numbers), HasSubstr("need targets of shape (2,) and type int32"));
  EXPECT_THAT(Refusal(classes, x, Must(Tensor::Zeros(DType::kFloat32, {2}))),
              HasSubstr("need targets of shape (2,) and type int32"));
  EXPECT_THAT(Refusal(values, x, Must(Tensor::Zeros(DType::kFloat64, {2, 3}))),
              HasSubstr("need targets of shape (2, 3) and type float32"));
  EXPECT_THAT(Refusal(values, x, Tensor()), HasSubstr("need targets of shape (2, 3)"));
}

TEST(DatasetTest, SamplesHaveTheirShapeAndAreNumbered) {
  const TwoPixels dataset(TargetKind::kClass);
  const Tensor labels = Must(Tensor::Zeros(DType::kInt32, {2}));
  for (const DType dtype : {DType::kUint8, DType::kInt32, DType::kBfloat16}) {
    EXPECT_THAT(Refusal(dataset, Must(Tensor::Zeros(dtype, {2, 1, 2, 1})), labels),
                HasSubstr("two (train split): 2 samples need a float32 or float64 tensor of shape "
                          "(2, 1, 2, 1)"));
  }
  EXPECT_THAT(Refusal(dataset, Must(Tensor::Zeros(DType::kFloat32, {2, 2, 1, 1})), labels),
              HasSubstr("not float32 (2, 2, 1, 1)"));
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, {2, 1, 2, 1}));
  for (const int64_t index : {-1, 5}) {
    EXPECT_TRUE(absl::IsOutOfRange(dataset.Read(Split::kTest, std::array<int64_t, 2>{0, index},
                                                TensorFormat::kNHWC, x, labels)));
  }
}

}  // namespace
}  // namespace dtnn
