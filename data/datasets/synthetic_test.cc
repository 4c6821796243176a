#include "data/datasets/synthetic.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "data/loading/split.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr ImageExtents kSample = {9, 7, 3};

std::unique_ptr<Dataset> Classes(uint64_t seed = 1, int64_t classes = 5) {
  return MakeSynthetic({.train_samples = 100,
                        .test_samples = 50,
                        .sample = kSample,
                        .classes = classes,
                        .pattern = SyntheticPattern::kClasses,
                        .seed = seed})
      .value();
}

struct Samples {
  std::vector<double> x;
  std::vector<int32_t> labels;
};

template <typename T = float>
Samples Read(const Dataset& dataset, Split split, const std::vector<int64_t>& indices,
             TensorFormat format = TensorFormat::kNHWC) {
  const Shape shape = SampleShape(dataset.sample(), format).Prepend(int64_t(indices.size()));
  const Tensor x = Tensor::Allocate(Device::Cpu(), DTypeOf<T>(), shape).value();
  Samples samples;
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{int64_t(indices.size())}).value();
  EXPECT_TRUE(dataset.Read(split, indices, format, x, targets).ok());
  const int32_t* labels = targets.data<int32_t>();
  samples.labels.assign(labels, labels + indices.size());
  samples.x.assign(x.data<T>(), x.data<T>() + x.num_elements());
  return samples;
}

// As bytes, of sample 7: figures of earlier runs are of the same images.
TEST(SyntheticTest, ImagesStayWhatTheyAre) {
  const Samples samples = Read<double>(*Classes(), Split::kTrain, {7});
  std::vector<int64_t> first, last;
  for (size_t i = 0; i < 24; ++i) {
    first.push_back(std::llround(samples.x[i] * 255));
    last.push_back(std::llround(samples.x[samples.x.size() - 24 + i] * 255));
  }
  EXPECT_EQ(samples.labels, std::vector<int32_t>{2});
  EXPECT_EQ(first, (std::vector<int64_t>{96,  116, 96,  82,  201, 132, 22,  182, 55, 17, 169, 35,
                                         174, 196, 156, 188, 165, 121, 148, 156, 99, 62, 130, 30}));
  EXPECT_EQ(last,
            (std::vector<int64_t>{165, 124, 184, 144, 117, 163, 120, 108, 168, 185, 147, 137,
                                  145, 110, 235, 108, 141, 147, 123, 156, 152, 119, 106, 199}));
}

TEST(SyntheticTest, DefaultIsZeros) {
  const auto dataset = MakeSynthetic({}).value();
  EXPECT_EQ(dataset->name(), "synthetic");
  EXPECT_EQ(dataset->size(Split::kTrain), 1000);
  EXPECT_EQ(dataset->size(Split::kTest), 100);
  EXPECT_EQ(dataset->sample(), (ImageExtents{32, 32, 3}));
  EXPECT_EQ(dataset->outputs(), 10);
  const Samples samples = Read(*dataset, Split::kTrain, {0, 999, 5});
  EXPECT_EQ(samples.x, std::vector<double>(3 * 32 * 32 * 3));
  EXPECT_EQ(samples.labels, std::vector<int32_t>(3));
}

TEST(SyntheticTest, ASampleDependsOnItsIndexOnly) {
  const Samples alone = Read(*Classes(), Split::kTrain, {42});
  const Samples among = Read(*Classes(), Split::kTrain, {3, 99, 42});
  const size_t elements = alone.x.size();
  EXPECT_EQ(std::vector<double>(among.x.begin() + 2 * elements, among.x.end()), alone.x);
  EXPECT_NE(Read(*Classes(), Split::kTrain, {47}).x, alone.x) << "another sample of the class";
  EXPECT_NE(Read(*Classes(), Split::kTest, {42}).x, alone.x);
  EXPECT_NE(Read(*Classes(2), Split::kTrain, {42}).x, alone.x);
}

TEST(SyntheticTest, FormatsAndTypesHoldTheSameValues) {
  const auto dataset = Classes();
  const Samples nhwc = Read(*dataset, Split::kTrain, {7}, TensorFormat::kNHWC);
  const Samples nchw = Read(*dataset, Split::kTrain, {7}, TensorFormat::kNCHW);
  const Samples wide = Read<double>(*dataset, Split::kTrain, {7}, TensorFormat::kNHWC);
  for (int64_t h = 0; h < 9; ++h) {
    for (int64_t w = 0; w < 7; ++w) {
      for (int64_t c = 0; c < 3; ++c) {
        const double value = nhwc.x[(h * 7 + w) * 3 + c];
        EXPECT_EQ(nchw.x[(c * 9 + h) * 7 + w], value);
        EXPECT_FLOAT_EQ(float(wide.x[(h * 7 + w) * 3 + c]), float(value));
      }
    }
  }
}

TEST(SyntheticTest, ValuesAreBytesOver255) {
  for (double value : Read<double>(*Classes(), Split::kTrain, AllIndices(100)).x) {
    ASSERT_GE(value, 0);
    ASSERT_LE(value, 1);
    ASSERT_NEAR(value * 255, std::round(value * 255), 1e-9);
  }
}

TEST(SyntheticTest, ClassesAreBalanced) {
  std::vector<int> counts(5);
  for (int32_t label : Read(*Classes(), Split::kTrain, AllIndices(100)).labels) ++counts[label];
  EXPECT_EQ(counts, std::vector<int>(5, 20));
}

TEST(SyntheticTest, ClassesAreLearnable) {
  // Class means of the training split classify the whole test split.
  const auto dataset = Classes();
  const size_t elements = 9 * 7 * 3;
  const Samples train = Read(*dataset, Split::kTrain, AllIndices(100));
  std::vector<std::vector<double>> means(5, std::vector<double>(elements));
  for (size_t i = 0; i < 100; ++i) {
    for (size_t e = 0; e < elements; ++e) {
      means[train.labels[i]][e] += train.x[i * elements + e] / 20;
    }
  }
  const Samples test = Read(*dataset, Split::kTest, AllIndices(50));
  for (size_t i = 0; i < 50; ++i) {
    int32_t nearest = -1;
    double least = std::numeric_limits<double>::max();
    for (int32_t label = 0; label < 5; ++label) {
      double distance = 0;
      for (size_t e = 0; e < elements; ++e) {
        const double difference = test.x[i * elements + e] - means[label][e];
        distance += difference * difference;
      }
      if (distance < least) least = distance, nearest = label;
    }
    EXPECT_EQ(nearest, test.labels[i]);
  }
}

TEST(SyntheticTest, RefusesNonsense) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const auto error = [](const SyntheticOptions& options) {
    return std::string(MakeSynthetic(options).status().message());
  };
  const std::string samples = "the number of synthetic samples must be 0 to 2^53, not ";
  EXPECT_EQ(error({.train_samples = -1}), samples + "-1");
  EXPECT_EQ(error({.test_samples = -2}), samples + "-2");
  EXPECT_EQ(error({.test_samples = kHuge}), samples + std::to_string(kHuge));
  const std::string possible =
      " are not possible; expected 1 or more of each, and fewer than 2^63 values";
  EXPECT_EQ(error({.sample = {0, 2, 3}}),
            "synthetic samples of 3 channels, height 0 and width 2" + possible);
  EXPECT_EQ(error({.sample = {1, 0, 3}}),
            "synthetic samples of 3 channels, height 1 and width 0" + possible);
  EXPECT_EQ(error({.sample = {1, 2, -3}}),
            "synthetic samples of -3 channels, height 1 and width 2" + possible);
  EXPECT_NE(error({.sample = {kHuge, kHuge, 2}}), "");
  for (const int64_t classes : {int64_t{0}, int64_t{1} << 31}) {
    EXPECT_EQ(error({.classes = classes}),
              "synthetic data need 1 to 2^31 - 1 classes, not " + std::to_string(classes));
  }
  EXPECT_TRUE(MakeSynthetic({.classes = (int64_t{1} << 31) - 1}).ok());
  EXPECT_TRUE(MakeSynthetic({.train_samples = int64_t{1} << 53}).ok());
  EXPECT_EQ(MakeSynthetic({.train_samples = (int64_t{1} << 53) + 1}).status().message(),
            "the number of synthetic samples must be 0 to 2^53, not 9007199254740993");
  EXPECT_TRUE(MakeSynthetic({.train_samples = 0, .sample = {1, 1, 1}, .classes = 1}).ok());
}

}  // namespace
}  // namespace dtnn
