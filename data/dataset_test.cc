#include "data/dataset.h"

#include <array>
#include <cstdint>
#include <optional>
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
  EXPECT_THAT(Refusal(values, x, Must(Tensor::Zeros(DType::kFloat32, {2, 4}))),
              HasSubstr("need targets of shape (2, 3) and type float32"));
  EXPECT_THAT(Refusal(classes, x, Must(Tensor::Zeros(DType::kInt32, {3}))),
              HasSubstr("need targets of shape (2,) and type int32"));
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

// Gives bytes where pixels come one after another.
class OfBytes : public TwoPixels {
 public:
  using TwoPixels::TwoPixels;
  std::optional<TensorFormat> byte_format() const override { return TensorFormat::kNHWC; }
};

TEST(DatasetTest, BytesAreReadInTheirFormatOnly) {
  const OfBytes classes(TargetKind::kClass), values(TargetKind::kValues);
  const Tensor bytes = Must(Tensor::Zeros(DType::kUint8, {2, 1, 2, 1}));
  const Tensor labels = Must(Tensor::Zeros(DType::kInt32, {2}));
  EXPECT_EQ(Refusal(classes, bytes, labels), "");
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    EXPECT_EQ(Refusal(values, bytes, Must(Tensor::Zeros(dtype, {2, 3}))), "");
  }
  EXPECT_THAT(Refusal(values, Must(Tensor::Zeros(DType::kFloat32, {2, 1, 2, 1})),
                      Must(Tensor::Zeros(DType::kFloat64, {2, 3}))),
              HasSubstr("need targets of shape (2, 3) and type float32"))
      << "not bytes";
  EXPECT_THAT(Refusal(values, bytes, Tensor()),
              HasSubstr("need targets of shape (2, 3) and type float32"));
  EXPECT_THAT(Refusal(values, bytes, Must(Tensor::Zeros(DType::kInt32, {2, 3}))),
              HasSubstr("need targets of shape (2, 3) and type float32 in dense host memory"));
  EXPECT_THAT(Refusal(classes, Tensor(), labels),
              HasSubstr("need a float32, float64 or uint8 tensor of shape (2, 1, 2, 1), not an "
                        "empty one"));
  const Tensor planes = Must(Tensor::Zeros(DType::kUint8, {2, 1, 1, 2}));
  const absl::Status other = classes.Read(Split::kTrain, std::array<int64_t, 2>{0, 4},
                                          TensorFormat::kNCHW, planes, labels);
  EXPECT_THAT(std::string(other.message()),
              HasSubstr("need a float32 or float64 tensor of shape (2, 1, 1, 2), not uint8"));
}

TEST(DatasetTest, SamplesAreReadIntoDenseMemory) {
  const TwoPixels dataset(TargetKind::kValues);
  const Tensor wide = Must(Tensor::Zeros(DType::kFloat32, {2, 1, 2, 3}));
  const Tensor x = wide.Channels(1, 1, TensorFormat::kNHWC);
  ASSERT_FALSE(x.dense());
  const Tensor targets = Must(Tensor::Zeros(DType::kFloat32, {2, 3}));
  EXPECT_EQ(Refusal(dataset, x, targets),
            "two (train split): samples can be read into dense host memory only");
}

TEST(DatasetTest, AnIndexOutsideIsNamed) {
  const TwoPixels dataset(TargetKind::kClass);
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, {2, 1, 2, 1}));
  const Tensor labels = Must(Tensor::Zeros(DType::kInt32, {2}));
  EXPECT_EQ(dataset.Read(Split::kTest, std::array<int64_t, 2>{4, 5}, TensorFormat::kNHWC, x, labels)
                .message(),
            "two (test split): there is no sample 5 among 5");
}

TEST(DatasetTest, ADataSetAnswersAsMostDo) {
  const TwoPixels dataset(TargetKind::kClass);
  EXPECT_FALSE(dataset.counts_classes());
  EXPECT_TRUE(dataset.class_names().empty());
  EXPECT_TRUE(dataset.names_number_classes());
  EXPECT_TRUE(dataset.labels(Split::kTrain).empty());
  EXPECT_TRUE(dataset.groups(Split::kTrain).begins.empty());
  EXPECT_EQ(dataset.groups(Split::kTrain).at_once, 1);
  EXPECT_EQ(dataset.preprocessing().input, Preprocessing::Input::kBytes);
  EXPECT_EQ(dataset.preprocessing().geometry, ImageGeometry{});
  EXPECT_EQ(dataset.byte_format(), std::nullopt);
  EXPECT_TRUE(dataset.warnings().empty());
  EXPECT_FALSE(dataset.decodes());
}

}  // namespace
}  // namespace dtnn
