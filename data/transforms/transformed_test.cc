#include "data/transforms/transformed.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::CountingDataset;
using ::testing::HasSubstr;

// Sample i at (y, x), channel c: 1000 i + 100 y + 10 x + c. Linear, so that a resize without the
// edges is linear as well.
class Ramp : public Dataset {
 public:
  std::string_view name() const override { return "ramp"; }
  ImageExtents sample() const override { return {8, 6, 2}; }
  int64_t outputs() const override { return 3; }
  TargetKind target_kind() const override { return TargetKind::kValues; }
  std::vector<std::string> class_names() const override { return {"a", "b", "c"}; }
  int64_t size(Split) const override { return 5; }
  SampleGroups groups(Split) const override { return {{0, 2}, 2}; }
  bool counts_classes() const override { return true; }
  bool names_number_classes() const override { return false; }
  std::vector<int32_t> labels(Split split) const override {
    return split == Split::kTrain ? std::vector<int32_t>{2, 1} : std::vector<int32_t>{0};
  }
  std::vector<std::string> warnings() const override { return {"a warning"}; }
  Preprocessing preprocessing() const override {
    return {.input = Preprocessing::Input::kBgr, .geometry = ImageGeometry{}};
  }
  std::optional<TensorFormat> byte_format() const override { return TensorFormat::kNHWC; }

  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    absl::Status status = CheckRead(*this, split, indices, format, x, targets);
    if (!status.ok()) return status;
    for (size_t n = 0; n < indices.size(); ++n) {
      for (int64_t i = 0; i < 96; ++i) {
        const bool inner = format == TensorFormat::kNHWC;
        const int64_t c = inner ? i % 2 : i / 48, pixel = inner ? i / 2 : i % 48;
        const int64_t value = 1000 * indices[n] + 100 * (pixel / 6) + 10 * (pixel % 6) + c;
        DispatchFloating(x.dtype(), [&](auto zero) {
          x.data<decltype(zero)>()[int64_t(n) * 96 + i] = decltype(zero)(value);
        });
      }
      for (int64_t i = 0; i < 3; ++i) {
        DispatchFloating(x.dtype(), [&](auto zero) {
          targets.data<decltype(zero)>()[int64_t(n) * 3 + i] = decltype(zero)(indices[n] + i);
        });
      }
    }
    return absl::OkStatus();
  }
};

// As Ramp, of one channel and with a class for each pixel: 10 y + x + 1, or none in the first.
class PixelRamp : public Dataset {
 public:
  std::string_view name() const override { return "pixel ramp"; }
  ImageExtents sample() const override { return {8, 6, 1}; }
  int64_t outputs() const override { return 80; }
  TargetKind target_kind() const override { return TargetKind::kPixels; }
  int64_t size(Split) const override { return 5; }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    absl::Status status = CheckRead(*this, split, indices, format, x, targets);
    if (!status.ok()) return status;
    for (int64_t i = 0; i < targets.num_elements(); ++i) {
      const int32_t label = int32_t(10 * (i % 48 / 6) + i % 6 + 1 + indices[size_t(i / 48)]);
      targets.data<int32_t>()[i] = i % 48 == 0 ? kUnlabelledPixel : label;
      x.data<float>()[i] = float(label);
    }
    return absl::OkStatus();
  }
};

TEST(TransformedTest, ClassesOfPixelsGoWhereThePixelsGo) {
  for (const Geometry& geometry :
       {Geometry{.crop = 0.5}, Geometry{.resize = 3}, Geometry{.crop = 0.75, .resize = 13}}) {
    const auto seen = Transform(std::make_shared<PixelRamp>(), geometry).value();
    const auto [height, width, channels] = seen->sample();
    const Window window = CentralCrop(geometry, {8, 6, 1});
    const std::vector<int64_t> indices = {3, 1};
    const Tensor x = Tensor::Zeros(DType::kFloat32, {2, height, width, 1}).value();
    const Tensor targets = Tensor::Zeros(DType::kInt32, {2, height, width}).value();
    ASSERT_TRUE(seen->Read(Split::kTrain, indices, TensorFormat::kNHWC, x, targets).ok());
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x_place = 0; x_place < width; ++x_place) {
          const int64_t row =
              window.top + int64_t((double(y) + 0.5) * double(window.height) / double(height));
          const int64_t column =
              window.left + int64_t((double(x_place) + 0.5) * double(window.width) / double(width));
          const int64_t expected =
              row == 0 && column == 0 ? -1 : 10 * row + column + 1 + indices[size_t(n)];
          EXPECT_EQ(targets.data<int32_t>()[(n * height + y) * width + x_place], expected)
              << n << " " << y << " " << x_place;
        }
      }
    }
  }
}

TEST(TransformedTest, CropsBothFormats) {
  const auto cropped = Transform(std::make_shared<Ramp>(), {.crop = 0.5}).value();
  EXPECT_EQ(cropped->sample(), (ImageExtents{4, 2, 2}));
  EXPECT_EQ(cropped->name(), "ramp");
  EXPECT_EQ(cropped->outputs(), 3);
  EXPECT_EQ(cropped->target_kind(), TargetKind::kValues);
  EXPECT_THAT(cropped->class_names(), ::testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(cropped->size(Split::kTest), 5);
  EXPECT_THAT(cropped->groups(Split::kTest).begins, ::testing::ElementsAre(0, 2));
  EXPECT_TRUE(cropped->counts_classes());
  EXPECT_FALSE(cropped->names_number_classes());
  EXPECT_THAT(cropped->labels(Split::kTrain), ::testing::ElementsAre(2, 1));
  EXPECT_THAT(cropped->labels(Split::kTest), ::testing::ElementsAre(0));
  EXPECT_THAT(cropped->warnings(), ::testing::ElementsAre("a warning"));
  EXPECT_TRUE(cropped->decodes()) << "resizing takes long";
  EXPECT_EQ(cropped->byte_format(), std::nullopt) << "its values are computed";
  EXPECT_EQ(cropped->preprocessing().input, Preprocessing::Input::kBgr);
  EXPECT_EQ(cropped->preprocessing().geometry, (ImageGeometry{{.crop = 0.5}, /*of_values=*/true}));
  const std::vector<int64_t> indices = {3, 1};
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Tensor x =
        Tensor::Zeros(DType::kFloat32, SampleShape(cropped->sample(), format).Prepend(2)).value();
    const Tensor targets = Tensor::Zeros(DType::kFloat32, Shape{2, 3}).value();
    ASSERT_EQ(cropped->Read(Split::kTrain, indices, format, x, targets), absl::OkStatus());
    for (int64_t n = 0; n < 2; ++n) {
      for (int64_t i = 0; i < 16; ++i) {
        const bool inner = format == TensorFormat::kNHWC;
        const int64_t c = inner ? i % 2 : i / 8, pixel = inner ? i / 2 : i % 8;
        EXPECT_EQ(x.data<float>()[n * 16 + i],
                  float(1000 * indices[n] + 100 * (2 + pixel / 2) + 10 * (2 + pixel % 2) + c));
      }
      for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(targets.data<float>()[n * 3 + i], indices[n] + i);
    }
  }
}

TEST(TransformedTest, ResizesWhatTheCropLeft) {
  const auto resized = Transform(std::make_shared<Ramp>(), {.crop = 0.5, .resize = 2}).value();
  EXPECT_EQ(resized->sample(), (ImageExtents{2, 2, 2}));
  const Tensor x = Tensor::Zeros(DType::kFloat64, Shape{1, 2, 2, 2}).value();
  const Tensor targets = Tensor::Zeros(DType::kFloat64, Shape{1, 3}).value();
  ASSERT_TRUE(resized->Read(Split::kTrain, AllIndices(1), TensorFormat::kNHWC, x, targets).ok());
  // Four rows to two: weights 3/7, 3/7, 1/7 of rows 2, 3, 4; the width stays.
  const double top = (3 * 200 + 3 * 300 + 1 * 400) / 7.0;
  EXPECT_NEAR(x.data<double>()[0], top + 20, 1e-9);
  EXPECT_NEAR(x.data<double>()[3], top + 31, 1e-9);
  EXPECT_NEAR(x.data<double>()[4], 700 - top + 20, 1e-9);
}

// One thread reads of several data sets, types and formats in turn.
TEST(TransformedTest, OneReadLeavesNothingForTheNext) {
  const auto ramp = Transform(std::make_shared<Ramp>(), {.crop = 0.5}).value();
  const auto counting =
      Transform(std::make_shared<CountingDataset>(9, ImageExtents{4, 4, 1}), {.crop = 0.5}).value();
  const std::vector<int64_t> index = {3};
  for (int turn = 0; turn < 2; ++turn) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Tensor wide = Tensor::Zeros(dtype, Shape{1, 4, 2, 2}).value();
      const Tensor values = Tensor::Zeros(dtype, Shape{1, 3}).value();
      EXPECT_EQ(ramp->Read(Split::kTrain, index, TensorFormat::kNHWC, wide, values),
                absl::OkStatus());
      const Tensor small = Tensor::Zeros(dtype, Shape{1, 1, 2, 2}).value();
      const Tensor label = Tensor::Zeros(DType::kInt32, Shape{1}).value();
      EXPECT_EQ(counting->Read(Split::kTrain, index, TensorFormat::kNCHW, small, label),
                absl::OkStatus());
      DispatchFloating(dtype, [&](auto zero) {
        using T = decltype(zero);
        EXPECT_EQ(wide.data<T>()[0], 3220);
        EXPECT_EQ(wide.data<T>()[15], 3531);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(small.data<T>()[i], 3);
      });
    }
  }
}

// The extents stay, so that both need the same scratch memory.
TEST(TransformedTest, OneAfterTheOtherIsAsTwoResizes) {
  class SquarePixelRamp : public PixelRamp {
   public:
    ImageExtents sample() const override { return {8, 8, 1}; }
    absl::Status Read(Split, std::span<const int64_t> indices, TensorFormat, const Tensor& x,
                      const Tensor& targets) const override {
      for (int64_t i = 0; i < targets.num_elements(); ++i) {
        targets.data<int32_t>()[i] = int32_t(i % 64 + indices[size_t(i / 64)]);
        x.data<float>()[i] = float(targets.data<int32_t>()[i]);
      }
      return absl::OkStatus();
    }
  };
  const ImageExtents extents = {8, 8, 1};
  const Geometry half = {.crop = 0.5, .resize = 8};
  const auto ramp = std::make_shared<SquarePixelRamp>();
  const auto twice = *Transform(*Transform(ramp, half), half);
  ASSERT_EQ(twice->sample(), extents);
  const std::vector<int64_t> indices = {3, 1};
  const Tensor x = *Tensor::Zeros(DType::kFloat32, {2, 8, 8, 1});
  const Tensor targets = *Tensor::Zeros(DType::kInt32, {2, 8, 8});
  ASSERT_EQ(twice->Read(Split::kTrain, indices, TensorFormat::kNHWC, x, targets), absl::OkStatus());

  const Window window = CentralCrop(half, extents);
  for (size_t n = 0; n < 2; ++n) {
    std::vector<float> values(64), once(64), expected(64);
    std::vector<int32_t> labels(64), labels_once(64), expected_labels(64);
    std::iota(values.begin(), values.end(), float(indices[n]));
    std::iota(labels.begin(), labels.end(), int32_t(indices[n]));
    ResizeBilinear(std::span<const float>(values), extents, TensorFormat::kNHWC, window, 8, 8,
                   std::span<float>(once));
    ResizeBilinear(std::span<const float>(once), extents, TensorFormat::kNHWC, window, 8, 8,
                   std::span<float>(expected));
    ResizeNearest(std::span<const int32_t>(labels), extents, window, 8, 8,
                  std::span<int32_t>(labels_once));
    ResizeNearest(std::span<const int32_t>(labels_once), extents, window, 8, 8,
                  std::span<int32_t>(expected_labels));
    const float* const seen = x.data<float>() + n * 64;
    EXPECT_EQ(std::vector<float>(seen, seen + 64), expected) << n;
    const int32_t* const seen_labels = targets.data<int32_t>() + n * 64;
    EXPECT_EQ(std::vector<int32_t>(seen_labels, seen_labels + 64), expected_labels) << n;
  }
}

TEST(TransformedTest, NothingToDoIsTheDataSetItself) {
  const std::shared_ptr<const Dataset> ramp = std::make_shared<Ramp>();
  EXPECT_EQ(Transform(ramp, {}).value(), ramp);
  const std::shared_ptr<const Dataset> square =
      std::make_shared<CountingDataset>(3, ImageExtents{4, 4, 1});
  EXPECT_EQ(Transform(square, {.resize = 4}).value(), square);
  EXPECT_NE(Transform(square, {.crop = 0.5, .resize = 4}).value(), square);
}

TEST(TransformedTest, ErrorsPassThrough) {
  const auto failing = std::make_shared<CountingDataset>(5, ImageExtents{4, 4, 1}, 3);
  const auto resized = Transform(failing, {.resize = 2}).value();
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{2, 2, 2, 1}).value();
  const Tensor targets = Tensor::Zeros(DType::kInt32, Shape{2}).value();
  const std::vector<int64_t> bad = {0, 3}, outside = {0, 5};
  EXPECT_THAT(
      std::string(resized->Read(Split::kTrain, bad, TensorFormat::kNHWC, x, targets).message()),
      HasSubstr("on fire"));
  EXPECT_EQ(resized->Read(Split::kTrain, outside, TensorFormat::kNHWC, x, targets).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Transform(failing, {.crop = 0}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
