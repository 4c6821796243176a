#include "data/datasets/npz_dataset.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npy_header.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

template <typename T>
Tensor Array(const Shape& shape, const std::vector<double>& values) {
  const Tensor tensor = Tensor::Zeros(DTypeOf<T>(), shape).value();
  EXPECT_EQ(tensor.num_elements(), int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = T(values[i]);
  return tensor;
}

// n samples of 2 channels, 3 x 2: value 12 i + e of sample i.
template <typename T>
Tensor Images(int64_t n, const Shape& sample = Shape{2, 3, 2}) {
  std::vector<double> values(size_t(n * sample.NumElements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = double(i);
  return Array<T>(sample.Prepend(n), values);
}

std::string Write(const NamedTensors& arrays, const std::string& folder = "npz") {
  const std::string path = testing::NewFolder(folder) + "/data.npz";
  EXPECT_EQ(WriteNpz(path, arrays), absl::OkStatus());
  return path;
}

absl::StatusOr<std::unique_ptr<Dataset>> Load(const NamedTensors& arrays,
                                              const NpzOptions& options = {}) {
  const std::string path = Write(arrays);
  return LoadNpzDataset({path, path}, options);
}

std::string Error(const NamedTensors& arrays, const NpzOptions& options = {},
                  absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const absl::Status status = Load(arrays, options).status();
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

// Reads samples 2 and 0 in both formats; `scale` is what the stored values become.
template <typename T>
void ExpectSamples(const Dataset& dataset, double scale) {
  const std::vector<int64_t> indices = {2, 0};
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Tensor x =
        Tensor::Zeros(DTypeOf<T>(), SampleShape(dataset.sample(), format).Prepend(2)).value();
    const Tensor targets =
        Tensor::Zeros(TargetDType(dataset, DTypeOf<T>()), TargetShape(dataset, 2)).value();
    ASSERT_EQ(dataset.Read(Split::kTrain, indices, format, x, targets), absl::OkStatus());
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t e = 0; e < 12; ++e) {
        const int64_t at = format == TensorFormat::kNHWC ? e % 6 * 2 + e / 6 : e;
        EXPECT_EQ(x.data<T>()[n * 12 + at], T(12 * indices[n] + e) * T(scale));
      }
    }
  }
}

std::vector<double> TargetsOf(const Dataset& dataset, Split split) {
  const int64_t n = dataset.size(split);
  std::vector<int64_t> all(n);
  for (int64_t i = 0; i < n; ++i) all[i] = i;
  const Tensor x =
      Tensor::Zeros(DType::kFloat64, SampleShape(dataset.sample(), TensorFormat::kNCHW).Prepend(n))
          .value();
  const Tensor targets =
      Tensor::Zeros(TargetDType(dataset, DType::kFloat64), TargetShape(dataset, n)).value();
  EXPECT_TRUE(dataset.Read(split, all, TensorFormat::kNCHW, x, targets).ok());
  if (dataset.target_kind() == TargetKind::kClass) {
    return {targets.data<int32_t>(), targets.data<int32_t>() + targets.num_elements()};
  }
  return {targets.data<double>(), targets.data<double>() + targets.num_elements()};
}

TEST(NpzDatasetTest, ImagesOfEveryTypeInBothFormats) {
  const Tensor y = Array<int64_t>(Shape{3}, {0, 1, 2});
  const auto reals = Load({{"x_train", Images<double>(3)}, {"y_train", y}}).value();
  EXPECT_EQ(reals->name(), "archive");
  EXPECT_EQ(reals->sample(), (ImageExtents{3, 2, 2}));
  EXPECT_EQ(reals->size(Split::kTrain), 3);
  EXPECT_EQ(reals->size(Split::kTest), 0);
  ExpectSamples<double>(*reals, 1);
  ExpectSamples<float>(*reals, 1);
  const auto floats = Load({{"x_train", Images<float>(3)}, {"y_train", y}}).value();
  ExpectSamples<double>(*floats, 1);
  ExpectSamples<float>(*floats, 1);
  const auto bytes = Load({{"x_train", Images<uint8_t>(3)}, {"y_train", y}}).value();
  ExpectSamples<double>(*bytes, 1.0 / 255);
  ExpectSamples<float>(*bytes, 1.0f / 255);
}

TEST(NpzDatasetTest, OneHotRowsAreClasses) {
  const Tensor train = Array<double>(Shape{3, 4}, {0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0});
  const auto dataset = Load({{"x_train", Images<float>(3)},
                             {"y_train", train},
                             {"x_test", Images<float>(1)},
                             {"y_test", Array<double>(Shape{1, 4}, {0, 0, 1, 0})}})
                           .value();
  EXPECT_EQ(dataset->target_kind(), TargetKind::kClass);
  EXPECT_EQ(dataset->outputs(), 4);
  EXPECT_THAT(TargetsOf(*dataset, Split::kTrain), ElementsAre(1, 3, 0));
  EXPECT_THAT(TargetsOf(*dataset, Split::kTest), ElementsAre(2));
  // One row of either split that is not makes values of all.
  for (const std::vector<double>& row :
       {std::vector<double>{0, 1, 1, 0}, {0, 0, 0, 0}, {0, 0.5, 0, 0}, {0, 0, 1, -1}}) {
    const auto values = Load({{"x_train", Images<float>(3)},
                              {"y_train", train},
                              {"x_test", Images<float>(1)},
                              {"y_test", Array<double>(Shape{1, 4}, row)}})
                            .value();
    EXPECT_EQ(values->target_kind(), TargetKind::kValues);
    EXPECT_EQ(values->outputs(), 4);
    EXPECT_EQ(TargetsOf(*values, Split::kTest), row);
    EXPECT_EQ(TargetsOf(*values, Split::kTrain)[7], 1);
  }
}

TEST(NpzDatasetTest, RealsAreValuesAndIntegersAreClasses) {
  const auto reals =
      Load({{"x_train", Images<float>(3)}, {"y_train", Array<float>(Shape{3}, {0.5, -1, 2})}})
          .value();
  EXPECT_EQ(reals->target_kind(), TargetKind::kValues);
  EXPECT_EQ(reals->outputs(), 1);
  EXPECT_THAT(TargetsOf(*reals, Split::kTrain), ElementsAre(0.5, -1, 2));
  const auto column =
      Load({{"x_train", Images<float>(2)}, {"y_train", Array<double>(Shape{2, 1}, {1, 1})}})
          .value();
  EXPECT_EQ(column->target_kind(), TargetKind::kValues) << "one column is not a class";
  const NamedTensors labels = {{"x_train", Images<float>(3)},
                               {"y_train", Array<uint8_t>(Shape{3}, {4, 0, 2})},
                               {"x_test", Images<float>(1)},
                               {"y_test", Array<uint8_t>(Shape{1}, {6})}};
  const auto classes = Load(labels).value();
  EXPECT_EQ(classes->target_kind(), TargetKind::kClass);
  EXPECT_EQ(classes->outputs(), 7) << "over both parts";
  EXPECT_THAT(TargetsOf(*classes, Split::kTrain), ElementsAre(4, 0, 2));
  EXPECT_EQ(Load(labels, {.classes = 10}).value()->outputs(), 10);
  EXPECT_THAT(Error(labels, {.classes = 5}),
              HasSubstr("y_test: the label of sample 0 is 6; expected 0 to 4"));
  EXPECT_THAT(
      Error({{"x_train", Images<float>(2)}, {"y_train", Array<int32_t>(Shape{2}, {0, -1})}}),
      HasSubstr("y_train: the label of sample 1 is -1"));
}

// What numpy.savez writes of labels of that type.
std::string WriteLabels(const char* descr, const Shape& shape, const std::string& bytes) {
  const std::string path = testing::NewFolder("npz_labels") + "/data.npz";
  EXPECT_EQ(WriteNpz(path, {{"x_train", Images<float>(3)}}, NpzCompression::kStored, {},
                     {{"y_train", NpyHeaderBytes(descr, shape) + bytes}}),
            absl::OkStatus());
  return path;
}

TEST(NpzDatasetTest, LabelsMayHaveAnyTypeOfIntegers) {
  for (const std::string descr :
       {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", ">u2", ">u8"}) {
    const size_t size = size_t(descr[2] - '0');
    for (const bool one_hot : {false, true}) {
      std::string bytes;
      for (const char value : one_hot ? std::string("\1\0\0\1\0\1", 6) : std::string("\0\1\1", 3)) {
        std::string number(size, '\0');
        number[descr[0] == '>' ? size - 1 : 0] = value;
        bytes += number;
      }
      const std::string path = WriteLabels(descr.c_str(), one_hot ? Shape{3, 2} : Shape{3}, bytes);
      const auto data = LoadNpzDataset({path, ""});
      ASSERT_TRUE(data.ok()) << data.status();
      EXPECT_EQ((*data)->target_kind(), TargetKind::kClass) << descr;
      EXPECT_EQ((*data)->outputs(), 2) << descr;
      EXPECT_THAT((*data)->labels(Split::kTrain), ElementsAre(0, 1, 1)) << descr;
    }
  }
  const std::string negative = WriteLabels("|i1", Shape{3}, std::string("\0\1\xff", 3));
  EXPECT_THAT(std::string(LoadNpzDataset({negative, ""}).status().message()),
              HasSubstr("y_train: the label of sample 2 is -1"));
}

TEST(NpzDatasetTest, ClassesWithoutSamplesAreWarnedOf) {
  const NamedTensors from_one = {{"x_train", Images<float>(3)},
                                 {"y_train", Array<int64_t>(Shape{3}, {1, 2, 3})},
                                 {"x_test", Images<float>(2)},
                                 {"y_test", Array<int64_t>(Shape{2}, {1, 5})}};
  EXPECT_THAT(Load(from_one).value()->warnings(),
              ElementsAre("archive: 3 of 6 classes have no training samples: 0, 4, 5",
                          "archive: 1 of 2 test samples is of classes without training samples: "
                          "5"));
}

TEST(NpzDatasetTest, AFolderIsToldWhatIsExpected) {
  const std::string folder = testing::NewFolder("npz_folder");
  for (const NpzPaths& paths : {NpzPaths{folder, folder}, NpzPaths{"", folder}}) {
    EXPECT_EQ(LoadNpzDataset(paths).status().message(),
              folder +
                  ": is a folder; expected one .npz file of the arrays x_train, y_train, "
                  "x_test and y_test");
  }
}

TEST(NpzDatasetTest, NumbersThatAreNoClassesAreRefused) {
  const NamedTensors sparse = {{"x_train", Images<float>(3)},
                               {"y_train", Array<int64_t>(Shape{3}, {5, 100005, 200005})}};
  EXPECT_THAT(Error(sparse),
              HasSubstr("y_train: its labels (5, 100005, 200005) would make 200006 classes, of "
                        "which 3 have samples; number the classes from 0 without gaps"));
  EXPECT_EQ(Load(sparse, {.classes = 300000}).value()->outputs(), 300000);  // as told
  const NamedTensors few = {{"x_train", Images<float>(3)},
                            {"y_train", Array<int64_t>(Shape{3}, {5, 7, 4095})}};
  EXPECT_EQ(Load(few).value()->outputs(), 4096);  // a share of larger data
}

TEST(NpzDatasetTest, ValuesBeyondFloat32AreRefused) {
  Tensor x = Images<double>(3);
  x.data<double>()[13] = -1e39;
  EXPECT_THAT(
      Error({{"x_train", x}, {"y_train", Array<int64_t>(Shape{3}, {0, 1, 0})}}),
      HasSubstr("x_train: sample 1 contains the value -1e+39, which is more than float32 holds"));
  x.data<double>()[13] = 3.4e38;
  EXPECT_TRUE(Load({{"x_train", x}, {"y_train", Array<int64_t>(Shape{3}, {0, 1, 0})}}).ok());
}

TEST(NpzDatasetTest, AColumnOfIntegersIsClasses) {
  for (const Tensor& y :
       {Array<uint8_t>(Shape{3, 1}, {4, 0, 2}), Array<int64_t>(Shape{3, 1}, {4, 0, 2})}) {
    const auto classes = Load({{"x_train", Images<float>(3)}, {"y_train", y}}).value();
    EXPECT_EQ(classes->target_kind(), TargetKind::kClass);
    EXPECT_EQ(classes->outputs(), 5);
    EXPECT_THAT(TargetsOf(*classes, Split::kTrain), ElementsAre(4, 0, 2));
  }
}

// What sample `index` holds at (channel 2, row 1, column 3), read in `format`.
double At213(const Dataset& dataset, int64_t index, TensorFormat format) {
  const ImageExtents& sample = dataset.sample();
  const Tensor x = Tensor::Zeros(DType::kFloat64, SampleShape(sample, format).Prepend(1)).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{1}).value();
  EXPECT_TRUE(dataset.Read(Split::kTrain, std::span(&index, 1), format, x, targets).ok());
  return format == TensorFormat::kNHWC
             ? x.data<double>()[(1 * sample.width + 3) * sample.channels + 2]
             : x.data<double>()[(2 * sample.height + 1) * sample.width + 3];
}

TEST(NpzDatasetTest, ChannelsMayComeLastAsKerasHasThem) {
  const Tensor y = Array<int32_t>(Shape{2}, {0, 1});
  constexpr int64_t kSide = 8, kElements = kSide * kSide * 3, kPlace = (1 * kSide + 3) * 3 + 2;
  const Shape last = {kSide, kSide, 3};
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const auto reals = Load({{"x_train", Images<float>(2, last)}, {"y_train", y}}).value();
    EXPECT_EQ(reals->sample(), (ImageExtents{kSide, kSide, 3}));
    EXPECT_EQ(At213(*reals, 1, format), double(kElements + kPlace));
    const auto bytes = Load({{"x_train", Images<uint8_t>(2, last)}, {"y_train", y}}).value();
    EXPECT_DOUBLE_EQ(At213(*bytes, 1, format), double(uint8_t(kElements + kPlace)) / 255);
    // The test split has them too.
    const auto both = Load({{"x_train", Images<float>(2, last)},
                            {"y_train", y},
                            {"x_test", Images<float>(2, last)},
                            {"y_test", y}})
                          .value();
    const auto read = [&](Split split) {
      const Tensor x =
          Tensor::Zeros(DType::kFloat32, SampleShape(both->sample(), format).Prepend(2)).value();
      const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{2}).value();
      EXPECT_TRUE(both->Read(split, std::vector<int64_t>{0, 1}, format, x, targets).ok());
      return std::vector<float>(x.data<float>(), x.data<float>() + 2 * kElements);
    };
    EXPECT_EQ(read(Split::kTest), read(Split::kTrain));
  }
}

TEST(NpzDatasetTest, WhereShapesDoNotTellTheUserMust) {
  const Tensor y = Array<int32_t>(Shape{2}, {0, 1});
  const auto sample = [&](const Shape& shape, const NpzOptions& options = {}) {
    return Load({{"x_train", Images<float>(2, shape)}, {"y_train", y}}, options).value()->sample();
  };
  EXPECT_EQ(sample({3, 8, 8}), (ImageExtents{8, 8, 3}));
  EXPECT_EQ(sample({1, 4, 4}), (ImageExtents{4, 4, 1}));
  EXPECT_EQ(sample({8, 8, 8}), (ImageExtents{8, 8, 8})) << "as documented";
  EXPECT_EQ(sample({5, 8, 2}), (ImageExtents{8, 2, 5}));
  EXPECT_EQ(sample({8, 8, 1}), (ImageExtents{8, 8, 1}));
  EXPECT_THAT(Error({{"x_train", Images<float>(2, {8, 20, 1})}, {"y_train", y}}),
              HasSubstr("x_train: is float32 of shape (2, 8, 20, 1), which could be 8 channels of "
                        "20 x 1 or images of 8 x 20 with 1 channel; "
                        "choose NCHW or NHWC by NpzOptions::format"));
  EXPECT_THAT(Error({{"x_train", Images<float>(2, {3, 8, 3})}, {"y_train", y}}),
              HasSubstr("could be 3 channels of 8 x 3 or images of 3 x 8 with 3 channels"));
  EXPECT_EQ(sample({3, 1, 1}), (ImageExtents{1, 1, 3})) << "3 numbers";
  EXPECT_EQ(sample({8, 20, 1}, {.format = TensorFormat::kNCHW}), (ImageExtents{20, 1, 8}));
  EXPECT_EQ(sample({8, 20, 1}, {.format = TensorFormat::kNHWC}), (ImageExtents{8, 20, 1}));
  EXPECT_EQ(sample({8, 8, 3}, {.format = TensorFormat::kNCHW}), (ImageExtents{8, 3, 8}));
}

TEST(NpzDatasetTest, PartsMayComeFromTwoFilesOrBeLeftOut) {
  const std::string train =
      Write({{"x_train", Images<float>(3)}, {"y_train", Array<int32_t>(Shape{3}, {0, 1, 1})}});
  const std::string test =
      Write({{"x_test", Images<float>(2)}, {"y_test", Array<int32_t>(Shape{2}, {0, 1})}},
            "npz_test_part");
  const auto both = LoadNpzDataset({train, test}).value();
  EXPECT_EQ(both->size(Split::kTrain), 3);
  EXPECT_EQ(both->size(Split::kTest), 2);
  EXPECT_EQ(LoadNpzDataset({train, ""}).value()->size(Split::kTest), 0);
  EXPECT_EQ(LoadNpzDataset({"", test}).value()->size(Split::kTrain), 0);
  EXPECT_EQ(LoadNpzDataset({"", ""}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadNpzDataset({test, test}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadNpzDataset({train, train + "x"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(LoadNpzDataset({"", train}).status().message()), HasSubstr("x_test"));
}

TEST(NpzDatasetTest, FormsAreChecked) {
  const Tensor x = Images<float>(3), y = Array<int32_t>(Shape{3}, {0, 1, 2});
  EXPECT_THAT(Error({{"x_train", x}}, {}, absl::StatusCode::kNotFound), HasSubstr("y_train"));
  EXPECT_THAT(
      Error({{"x_train", x}, {"y_train", y}, {"x_test", x}}, {}, absl::StatusCode::kNotFound),
      HasSubstr("y_test"));
  EXPECT_THAT(
      Error({{"x_train", Array<float>(Shape{3, 4}, std::vector<double>(12))}, {"y_train", y}}),
      HasSubstr("x_train: is float32 of shape (3, 4); expected (samples, channels, "));
  EXPECT_THAT(Error({{"x_train", Images<int32_t>(3)}, {"y_train", y}}),
              HasSubstr("x_train: is int32 of shape (3, 2, 3, 2)"));
  EXPECT_THAT(Error({{"x_train", Array<float>(Shape{0, 2, 2, 3}, {})},
                     {"y_train", Array<int32_t>(Shape{0}, {})}}),
              HasSubstr("(0, 2, 2, 3)"));
  EXPECT_THAT(Error({{"x_train", x}, {"y_train", Array<int32_t>(Shape{2}, {0, 1})}}),
              HasSubstr("y_train: is int32 of shape (2,); expected (3,), (3, outputs) or, of "
                        "pixels, (3, height, width)"));
  EXPECT_THAT(Error({{"x_train", x},
                     {"y_train", y},
                     {"x_test", Array<float>(Shape{1, 1, 1, 1}, {0})},
                     {"y_test", Array<int32_t>(Shape{1}, {0})}}),
              HasSubstr("both splits must have the same form"));
  EXPECT_THAT(Error({{"x_train", x},
                     {"y_train", y},
                     {"x_test", x},
                     {"y_test", Array<double>(Shape{3}, {0, 0, 0})}}),
              HasSubstr("both splits must have the same form"));
  EXPECT_THAT(Error({{"x_train", Images<uint8_t>(3)},
                     {"y_train", y},
                     {"x_test", Images<float>(3)},
                     {"y_test", y}}),
              HasSubstr("both splits must have the same form"));
  EXPECT_THAT(Error({{"x_train", x}, {"y_train", y}}, {.classes = -1}), HasSubstr("-1"));
  EXPECT_EQ(Load({{"x_train", x}, {"y_train", y}}, {.classes = 16777216}).value()->outputs(),
            16777216);
  EXPECT_EQ(Error({{"x_train", x}, {"y_train", y}}, {.classes = 16777217}),
            "archive: the number of classes must be 0 to 16777216, not 16777217");
  EXPECT_EQ(LoadNpzDataset({}, {}).status().message(), "archive: no .npz file was given");
}

TEST(NpzDatasetTest, ValuesMustBeFinite) {
  const Tensor x = Images<float>(3);
  const Tensor bad = Images<float>(3);
  bad.data<float>()[13] = NAN;
  const Tensor y = Array<double>(Shape{3}, {0, 1, INFINITY});
  EXPECT_THAT(Error({{"x_train", bad}, {"y_train", Array<int32_t>(Shape{3}, {0, 1, 2})}}),
              HasSubstr("x_train: sample 1 contains NaN or an infinite value"));
  EXPECT_THAT(Error({{"x_train", x}, {"y_train", y}}),
              HasSubstr("y_train: sample 2 contains NaN or an infinite value"));
}

TEST(NpzDatasetTest, EveryCutIsAnError) {
  const std::string path =
      Write({{"x_train", Images<uint8_t>(3)}, {"y_train", Array<uint8_t>(Shape{3}, {0, 1, 2})}});
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_TRUE(ParseNpzDataset(bytes, "input").ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(ParseNpzDataset(bytes.first(length), "input").ok()) << length;
  }
  EXPECT_FALSE(ParseNpzDataset(bytes, "input", {.max_bytes = 20}).ok());
}

TEST(NpzDatasetTest, IntegersOfPixelsAreClassesAndSomeHaveNone) {
  const NamedTensors arrays = {
      {"x_train", Images<float>(2)},
      {"y_train", Array<uint8_t>({2, 3, 2}, {0, 1, 2, 255, 0, 0, 1, 1, 1, 1, 1, 255})},
      {"x_test", Images<float>(1)},
      {"y_test", Array<uint8_t>({1, 3, 2}, {4, 0, 0, 0, 0, 0})}};
  const auto dataset = *Load(arrays);
  EXPECT_EQ(dataset->target_kind(), TargetKind::kPixels);
  EXPECT_EQ(dataset->outputs(), 5);
  EXPECT_TRUE(dataset->counts_classes());
  EXPECT_TRUE(dataset->labels(Split::kTrain).empty());
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{2, 2, 3, 2}).value();
  const Tensor y = Tensor::Zeros(DType::kInt32, TargetShape(*dataset, 2)).value();
  ASSERT_EQ(dataset->Read(Split::kTrain, std::vector<int64_t>{1, 0}, TensorFormat::kNCHW, x, y),
            absl::OkStatus());
  EXPECT_THAT(std::vector<int32_t>(y.data<int32_t>(), y.data<int32_t>() + 12),
              ElementsAre(1, 1, 1, 1, 1, -1, 0, 1, 2, -1, 0, 0));
}

TEST(NpzDatasetTest, NamesThePixelWithABadLabel) {
  const auto with = [](const Tensor& y) {
    return NamedTensors{{"x_train", Images<float>(2)}, {"y_train", y}};
  };
  const Tensor labels = Array<int32_t>({2, 3, 2}, {0, 1, 2, -1, 0, 0, 1, 1, 1, 7, 1, 1});
  EXPECT_THAT(Error(with(labels), {.classes = 3}),
              HasSubstr("y_train: the label of the pixel in row 1 and column 1 of sample 1 is 7; "
                        "expected 0 to 2, or -1 for none"));
  EXPECT_THAT(Error(with(Array<uint8_t>({2, 3, 2}, std::vector<double>(12, 255)))),
              EndsWith("y_train: no pixel has a label"));
  EXPECT_THAT(Error(with(Array<int32_t>({2, 2, 3}, std::vector<double>(12)))),
              HasSubstr("expected integers, a class for each of 3 x 2 pixels"));
  EXPECT_THAT(Error(with(Array<float>({2, 3, 2}, std::vector<double>(12)))),
              HasSubstr("expected integers, a class for each of 3 x 2 pixels"));
}

}  // namespace
}  // namespace dtnn
