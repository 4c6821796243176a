#include "data/formats/record_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

constexpr ImageExtents kSample = {.height = 2, .width = 3, .channels = 2};
constexpr int64_t kPixels = 12;

RecordFormat Classes() { return {.name = "test", .sample = kSample, .outputs = 4}; }
RecordFormat Values() {
  return {.name = "test", .sample = kSample, .outputs = 1, .kind = TargetKind::kValues};
}

// Pixel p of sample `number` is 20 * number + p.
Bytes Pixels(int number) {
  Bytes pixels(kPixels);
  for (int64_t p = 0; p < kPixels; ++p) pixels[p] = uint8_t(20 * number + p);
  return pixels;
}

LoadedFile File(const std::string& where, const std::vector<int>& numbers,
                const std::vector<Bytes>& labels) {
  Bytes bytes;
  for (size_t i = 0; i < numbers.size(); ++i) {
    bytes.insert(bytes.end(), labels[i].begin(), labels[i].end());
    const Bytes pixels = Pixels(numbers[i]);
    bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  }
  return {where, std::move(bytes)};
}

Bytes Real(float value) {
  Bytes bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

template <typename T>
void ExpectSamples(const Dataset& dataset, Split split, const std::vector<int64_t>& indices,
                   const std::vector<int>& numbers, const std::vector<double>& labels) {
  const int64_t n = int64_t(indices.size());
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Tensor x = Tensor::Zeros(DTypeOf<T>(), SampleShape(kSample, format).Prepend(n)).value();
    const Tensor targets =
        Tensor::Zeros(TargetDType(dataset, DTypeOf<T>()), TargetShape(dataset, n)).value();
    ASSERT_EQ(dataset.Read(split, indices, format, x, targets), absl::OkStatus());
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t p = 0; p < kPixels; ++p) {
        const int64_t channel = p / 6, pixel = p % 6;
        const int64_t at = format == TensorFormat::kNHWC ? pixel * 2 + channel : p;
        EXPECT_EQ(x.data<T>()[i * kPixels + at], T(20 * numbers[i] + p) * (T(1) / 255));
      }
      if (dataset.target_kind() == TargetKind::kClass) {
        EXPECT_EQ(targets.data<int32_t>()[i], labels[i]);
      } else {
        EXPECT_EQ(targets.data<T>()[i], T(labels[i]));
      }
    }
  }
}

TEST(RecordFileTest, FilesFollowEachOther) {
  const auto dataset = MakeRecordDataset(Classes(),
                                         {File("a", {0, 1}, {{3}, {0}}), File("b", {2}, {{1}}),
                                          File("c", {3, 4, 5}, {{2}, {1}, {0}})},
                                         {File("d", {6}, {{2}})})
                           .value();
  EXPECT_EQ(dataset->size(Split::kTrain), 6);
  EXPECT_EQ(dataset->labels(Split::kTrain), (std::vector<int32_t>{3, 0, 1, 2, 1, 0}));
  EXPECT_EQ(dataset->size(Split::kTest), 1);
  EXPECT_EQ(dataset->outputs(), 4);
  EXPECT_EQ(dataset->target_kind(), TargetKind::kClass);
  const std::vector<int64_t> indices = {5, 0, 2, 2, 3, 1, 4};
  const std::vector<int> numbers = {5, 0, 2, 2, 3, 1, 4};
  const std::vector<double> labels = {0, 3, 1, 1, 2, 0, 1};
  ExpectSamples<float>(*dataset, Split::kTrain, indices, numbers, labels);
  ExpectSamples<double>(*dataset, Split::kTrain, indices, numbers, labels);
  ExpectSamples<float>(*dataset, Split::kTest, {0}, {6}, {2});
}

TEST(RecordFileTest, APartMayBeMissing) {
  const auto dataset = MakeRecordDataset(Classes(), {}, {File("d", {6}, {{2}})}).value();
  EXPECT_EQ(dataset->size(Split::kTrain), 0);
  EXPECT_EQ(dataset->size(Split::kTest), 1);
}

// As when a mapped file is written to.
TEST(RecordFileTest, LabelsStayWhatWasChecked) {
  for (const bool real : {false, true}) {
    const Bytes label = real ? Real(3) : Bytes{3};
    const LoadedFile whole = File("a", {0, 1}, {label, label});
    auto bytes = std::make_shared<Bytes>(whole.bytes.view().begin(), whole.bytes.view().end());
    const auto dataset =
        MakeRecordDataset(real ? Values() : Classes(), {{"a", FileBytes(bytes, *bytes)}}, {})
            .value();
    std::fill_n(bytes->begin(), label.size(), uint8_t{255});
    ExpectSamples<float>(*dataset, Split::kTrain, {0, 1}, {0, 1}, {3, 3});
  }
}

TEST(RecordFileTest, ValuesAreBytesOrReals) {
  const auto bytes =
      MakeRecordDataset(Values(), {File("a", {0, 1}, {{200}, {7}})}, {File("b", {2}, {{9}})})
          .value();
  EXPECT_EQ(bytes->target_kind(), TargetKind::kValues);
  EXPECT_TRUE(bytes->labels(Split::kTrain).empty()) << "they are not classes";
  ExpectSamples<float>(*bytes, Split::kTrain, {1, 0}, {1, 0}, {7, 200});
  const auto reals = MakeRecordDataset(Values(), {File("a", {0, 1}, {Real(-1.5f), Real(1e6f)})},
                                       {File("b", {2}, {Real(0.25f)})})
                         .value();
  ExpectSamples<float>(*reals, Split::kTrain, {1, 0}, {1, 0}, {1e6, -1.5});
  ExpectSamples<double>(*reals, Split::kTest, {0}, {2}, {0.25});
}

TEST(RecordFileTest, ClassesAreBytes) {
  const absl::Status status =
      MakeRecordDataset(Classes(), {File("reals", {0}, {Real(1)})}, {}).status();
  EXPECT_EQ(status.message(),
            "reals: contains 16 bytes, which is not a whole number of records of 13 bytes; is the "
            "download complete?");
}

TEST(RecordFileTest, LengthsAndLabelsAreChecked) {
  const auto error = [](const RecordFormat& format, LoadedFile file) {
    const absl::Status status =
        MakeRecordDataset(format, {File("good", {0}, {{1}})}, {std::move(file)}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const LoadedFile whole = File("bad", {0, 1}, {{1}, {2}});
  for (size_t length = 0; length < whole.bytes.size(); ++length) {
    if (length == kPixels + 1) continue;
    const LoadedFile cut = {"bad", Bytes(whole.bytes.data(), whole.bytes.data() + length)};
    EXPECT_THAT(error(Classes(), cut), HasSubstr("bad: contains " + std::to_string(length) +
                                                 " bytes, which is not a whole number of records"));
  }
  Bytes longer(whole.bytes.view().begin(), whole.bytes.view().end());
  longer.push_back(0);
  EXPECT_THAT(error(Classes(), {"bad", longer}), HasSubstr("records of 13 bytes"));
  EXPECT_THAT(error(Classes(), File("bad", {0, 1}, {{3}, {4}})),
              HasSubstr("bad: the label of record 1 is 4; expected 0 to 3"));
  using Limits = std::numeric_limits<float>;
  for (const float value : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    const absl::Status status =
        MakeRecordDataset(Values(), {File("bad", {0, 1}, {Real(1), Real(value)})}, {}).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("bad: the value of record 1 is not finite"));
  }
}

TEST(RecordFileTest, ReadChecksItsArguments) {
  const auto dataset = MakeRecordDataset(Classes(), {File("a", {0}, {{1}})}, {}).value();
  const Tensor x =
      Tensor::Zeros(DType::kFloat32, SampleShape(kSample, TensorFormat::kNHWC).Prepend(1)).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{1}).value();
  const std::vector<int64_t> outside = {1}, inside = {0};
  EXPECT_EQ(dataset->Read(Split::kTrain, outside, TensorFormat::kNHWC, x, targets).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(dataset->Read(Split::kTest, inside, TensorFormat::kNHWC, x, targets).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(dataset->Read(Split::kTrain, inside, TensorFormat::kNHWC, x, x).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
