#include "data/datasets/arrays/array_dataset.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two samples of 1 x 2 pixels and 3 channels.
template <typename T>
const std::vector<T>& Numbers() {
  static const std::vector<T> numbers = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};
  return numbers;
}

template <typename T>
SampleArrays Two() {
  return {.size = 2, .x = Numbers<T>().data(), .classes = {2, 0}};
}

ArrayOptions Options(DType dtype = DType::kFloat32) {
  return {.sample = {.height = 1, .width = 2, .channels = 3}, .dtype = dtype};
}

std::vector<float> Sample(const Dataset& data, int64_t index, TensorFormat format,
                          Split split = Split::kTrain) {
  const Tensor x =
      Must(Tensor::Zeros(DType::kFloat32, SampleShape(data.sample(), format).Prepend(1)));
  const Tensor y = Must(Tensor::Zeros(TargetDType(data, DType::kFloat32), TargetShape(data, 1)));
  Must(data.Read(split, std::vector<int64_t>{index}, format, x, y));
  return {x.data<float>(), x.data<float>() + 6};
}

std::string Refusal(SampleArrays train, ArrayOptions options) {
  return std::string(MakeArrayDataset(std::move(train), {}, std::move(options)).status().message());
}

TEST(ArrayDatasetTest, ReadsEveryTypeInBothFormats) {
  const auto check = [](SampleArrays arrays, DType dtype, float scale) {
    const auto data = Must(MakeArrayDataset({}, std::move(arrays), Options(dtype)));
    EXPECT_EQ(data->size(Split::kTrain), 0);
    EXPECT_EQ(data->size(Split::kTest), 2);
    EXPECT_EQ(data->outputs(), 3);
    EXPECT_THAT(
        Sample(*data, 1, TensorFormat::kNHWC, Split::kTest),
        ElementsAre(10 * scale, 11 * scale, 12 * scale, 13 * scale, 14 * scale, 15 * scale));
    EXPECT_THAT(
        Sample(*data, 1, TensorFormat::kNCHW, Split::kTest),
        ElementsAre(10 * scale, 13 * scale, 11 * scale, 14 * scale, 12 * scale, 15 * scale));
  };
  check(Two<float>(), DType::kFloat32, 1);
  check(Two<double>(), DType::kFloat64, 1);
  check(Two<uint8_t>(), DType::kUint8, 1.0f / 255);
}

TEST(ArrayDatasetTest, PlanesBecomePixels) {
  ArrayOptions options = Options();
  options.format = TensorFormat::kNCHW;
  const auto data = Must(MakeArrayDataset(Two<float>(), {}, options));
  EXPECT_THAT(Sample(*data, 0, TensorFormat::kNHWC), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(Sample(*data, 0, TensorFormat::kNCHW), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ArrayDatasetTest, ReadsThePlaceItWasGivenAndLetsGoOfIt) {
  const auto values = std::make_shared<std::vector<float>>(Numbers<float>());
  SampleArrays arrays = Two<float>();
  arrays.x = values->data();
  arrays.owner = values;
  {
    const auto data = Must(MakeArrayDataset(std::move(arrays), {}, Options()));
    EXPECT_EQ(values.use_count(), 2);
    (*values)[0] = 7;
    EXPECT_EQ(Sample(*data, 0, TensorFormat::kNHWC)[0], 7);
  }
  EXPECT_EQ(values.use_count(), 1);
}

TEST(ArrayDatasetTest, SamplesCanHaveValuesInsteadOfAClass) {
  SampleArrays arrays = {.size = 2, .x = Numbers<float>().data(), .values = {1, 2, 3, 4}};
  ArrayOptions options = Options();
  options.targets = TargetKind::kValues;
  options.outputs = 2;
  const auto data = Must(MakeArrayDataset(std::move(arrays), {}, options));
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, Shape{1, 1, 2, 3}));
  const Tensor y = Must(Tensor::Zeros(DType::kFloat32, TargetShape(*data, 1)));
  Must(data->Read(Split::kTrain, std::vector<int64_t>{1}, TensorFormat::kNHWC, x, y));
  EXPECT_EQ(y.data<float>()[0], 3);
  EXPECT_EQ(y.data<float>()[1], 4);
  EXPECT_THAT(data->labels(Split::kTrain), IsEmpty());
}

TEST(ArrayDatasetTest, DescribesItself) {
  ArrayOptions options = Options();
  const auto counted = Must(MakeArrayDataset(Two<float>(), {}, options));
  EXPECT_TRUE(counted->counts_classes());
  EXPECT_FALSE(counted->names_number_classes()) << "labels are numbers";
  EXPECT_EQ(counted->preprocessing().input, Preprocessing::Input::kValues);
  EXPECT_EQ(counted->byte_format(), std::nullopt);
  EXPECT_EQ(counted->warnings().size(), 1u) << "of class 1";
  options.name = "mine";
  options.outputs = 3;
  options.class_names = {"a", "b", "c"};
  options.dtype = DType::kUint8;
  options.format = TensorFormat::kNCHW;
  const auto named = Must(MakeArrayDataset(Two<uint8_t>(), Two<uint8_t>(), options));
  EXPECT_EQ(named->name(), "mine");
  EXPECT_FALSE(named->counts_classes());
  EXPECT_THAT(named->class_names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(named->preprocessing().input, Preprocessing::Input::kBytes);
  EXPECT_EQ(named->byte_format(), TensorFormat::kNCHW);
  EXPECT_THAT(named->labels(Split::kTest), ElementsAre(2, 0));
  EXPECT_EQ(named->size(Split::kTest), 2);
}

// A class of the test split alone.
TEST(ArrayDatasetTest, ClassesOfBothSplitsAreCounted) {
  SampleArrays test = Two<float>();
  test.classes = {7, 1};
  EXPECT_EQ(Must(MakeArrayDataset(Two<float>(), test, Options()))->outputs(), 8);
  EXPECT_EQ(Must(MakeArrayDataset(test, Two<float>(), Options()))->outputs(), 8);
}

TEST(ArrayDatasetTest, WhatIsWrongIsNamed) {
  SampleArrays few = Two<float>();
  few.classes = {0};
  EXPECT_EQ(Refusal(few, Options()),
            "y of the training split: has 1 targets; x of the training split has 2 samples, with "
            "1 each");
  SampleArrays negative = Two<float>();
  negative.classes = {0, -1};
  EXPECT_THAT(Refusal(negative, Options()),
              HasSubstr("y of the training split: the label of sample 1 is -1; expected 0 to "));
  EXPECT_EQ(MakeArrayDataset({}, few, Options()).status().message(),
            "y of the test split: has 1 targets; x of the test split has 2 samples, with 1 each");
  ArrayOptions two = Options();
  two.outputs = 2;
  EXPECT_THAT(Refusal(Two<float>(), two), HasSubstr("the label of sample 0 is 2; expected 0 to 1"));
  ArrayOptions many = Options();
  many.outputs = 16777216;
  EXPECT_EQ(Refusal(Two<float>(), many), "");
  many.outputs = 16777217;
  EXPECT_EQ(Refusal(Two<float>(), many), "y: 16777217 outputs; expected 1 to 16777216");
  SampleArrays high = Two<float>();
  high.classes = {0, 16777216};
  EXPECT_THAT(Refusal(high, Options()),
              HasSubstr("the label of sample 1 is 16777216; expected 0 to 16777215"));
  ArrayOptions named = Options();
  named.class_names = {"a", "b"};
  EXPECT_EQ(Refusal(Two<float>(), named), "class names: 2 for 3 outputs; expected one each");
  EXPECT_THAT(Refusal(Two<float>(), Options(DType::kInt32)), HasSubstr("x: is int32; expected"));
  ArrayOptions flat = Options();
  flat.sample.width = 0;
  EXPECT_THAT(Refusal(Two<float>(), flat), HasSubstr("x: samples of 1x0x3"));
  std::vector<double> bad(12, 1);
  bad[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Refusal({.size = 2, .x = bad.data(), .classes = {0, 1}}, Options(DType::kFloat64)),
            "x of the training split: sample 1 contains NaN or an infinite value");
  bad[7] = 1e300;
  EXPECT_EQ(Refusal({.size = 2, .x = bad.data(), .classes = {0, 1}}, Options(DType::kFloat64)),
            "x of the training split: sample 1 contains a value that float32 does not hold");
  std::vector<float> infinite(12, 1);
  infinite[0] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(MakeArrayDataset({}, {.size = 2, .x = infinite.data(), .classes = {0, 1}}, Options())
                .status()
                .message(),
            "x of the test split: sample 0 contains NaN or an infinite value");
  ArrayOptions values = Options();
  values.targets = TargetKind::kValues;
  EXPECT_EQ(Refusal({.size = 2, .x = Numbers<float>().data(), .values = {1, 2}}, values),
            "y: 0 outputs; expected 1 to 16777216");
  values.outputs = 2;
  EXPECT_EQ(Refusal({.size = 2, .x = Numbers<float>().data(), .values = {1, 2, 3}}, values),
            "y of the training split: has 3 targets; x of the training split has 2 samples, with "
            "2 each");
  EXPECT_EQ(Refusal({.size = 2, .x = Numbers<float>().data(), .values = {1, 2, NAN, 4}}, values),
            "y of the training split: sample 1 contains NaN or an infinite value");
}

}  // namespace
}  // namespace dtnn
