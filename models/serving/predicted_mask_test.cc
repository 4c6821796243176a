#include "models/serving/predicted_mask.h"

#include <memory>
#include <string>
#include <vector>

#include "data/images/mask_values.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// A network whose probabilities rise with the channels of its images: the class of a pixel is the
// number of its largest channel.
class PredictedMaskTest : public ::testing::Test {
 protected:
  std::unique_ptr<Predictor> Load(const Graph& graph, const Preprocessing& preprocessing = {}) {
    const auto device = *DeviceContext::Create(Device::Cpu());
    const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 3);
    const Tensor& values = store->all_values();
    std::fill_n(values.data<float>(), values.num_elements(), 0.0f);
    if (values.num_elements() >= 9) {
      for (int64_t i = 0; i < 9; i += 4) values.data<float>()[i] = 9;
    }
    const std::string path = folder_ + "/m.safetensors";
    const absl::Status saved =
        SaveModel(path, {.graph = graph, .preprocessing = preprocessing}, *store, *device);
    EXPECT_TRUE(saved.ok()) << saved;
    auto predictor = Predictor::Load(path);
    EXPECT_TRUE(predictor.ok()) << predictor.status();
    return *std::move(predictor);
  }

  std::string folder_ = testing::NewFolder("predicted_mask");
};

constexpr Conv2dOptions kPixelwise = {.kernel = 1, .bias = false};

Graph LargestChannel(TensorFormat format, const ImageExtents& sample, int64_t window = 1) {
  GraphBuilder b("largest", format);
  b.Input(sample);
  if (window > 1) b.AveragePool2d({.window = window, .stride = window});
  return *b.Conv2d(3, kPixelwise).Softmax().Build();
}

// The class of each pixel is the channel that has a 1 there.
Tensor Samples(const Predictor& predictor, int64_t n, int64_t (*class_of)(int64_t, int64_t)) {
  const Graph& graph = predictor.model().graph;
  const ImageExtents sample = ExtentsOf(graph.input_shape(), graph.format());
  Tensor x = *predictor.NewSamples(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t y = 0; y < sample.height; ++y) {
      for (int64_t column = 0; column < sample.width; ++column) {
        const int64_t c = (class_of(y, column) + i) % 3, pixel = y * sample.width + column;
        const int64_t pixels = sample.height * sample.width;
        const int64_t at =
            graph.format() == TensorFormat::kNHWC ? pixel * 3 + c : c * pixels + pixel;
        x.data<float>()[i * pixels * 3 + at] = 1;
      }
    }
  }
  return x;
}

int64_t Diagonals(int64_t y, int64_t x) { return (y + 2 * x) % 3; }
int64_t Quarters(int64_t y, int64_t x) { return (y / 2 + 2 * (x / 2)) % 3; }

TEST_F(PredictedMaskTest, APixelHasItsLikeliestClass) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const auto predictor = Load(LargestChannel(format, {4, 6, 3}));
    ASSERT_TRUE(CheckPredictsMasks(*predictor).ok());
    const Tensor outputs = *predictor->Predict(Samples(*predictor, 2, Diagonals));
    for (const int64_t row : {0, 1}) {
      const auto mask = PredictedMask(*predictor, outputs, row, {4, 6, 3});
      ASSERT_TRUE(mask.ok()) << mask.status();
      EXPECT_EQ(mask->extents, (ImageExtents{4, 6, 1}));
      for (int64_t y = 0; y < 4; ++y) {
        for (int64_t x = 0; x < 6; ++x) {
          EXPECT_EQ(mask->pixels[size_t(y * 6 + x)], (Diagonals(y, x) + row) % 3);
        }
      }
    }
  }
}

// 0.5 of each side is kept, resized to 8 x 8, of which the network takes the middle 4 x 6.
TEST_F(PredictedMaskTest, TheMaskIsAsLargeAsTheImageWhateverTheNetworkSees) {
  const Preprocessing preprocessing = {.geometry =
                                           ImageGeometry{.geometry = {.crop = 0.5, .resize = 8}}};
  const auto predictor = Load(LargestChannel(TensorFormat::kNHWC, {4, 6, 3}), preprocessing);
  const Tensor outputs = *predictor->Predict(Samples(*predictor, 1, Diagonals));
  for (const ImageExtents& image : {ImageExtents{20, 40, 3}, ImageExtents{7, 5, 3}}) {
    const auto mask = PredictedMask(*predictor, outputs, 0, image);
    ASSERT_TRUE(mask.ok()) << mask.status();
    const Window window = CentralCrop({.crop = 0.5}, image);
    int seen = 0;
    for (int64_t y = 0; y < image.height; ++y) {
      for (int64_t x = 0; x < image.width; ++x) {
        const bool inside = y >= window.top && y < window.top + window.height && x >= window.left &&
                            x < window.left + window.width;
        // Its middle, in the square, and from the corner of the square's middle.
        const auto place = [](int64_t at, int64_t side, int64_t offset) {
          return int64_t((double(at) + 0.5) * 8 / double(side)) - offset;
        };
        const int64_t row = place(y - window.top, window.height, 2);
        const int64_t column = place(x - window.left, window.width, 1);
        const bool shown = inside && row >= 0 && row < 4 && column >= 0 && column < 6;
        seen += shown;
        EXPECT_EQ(mask->pixels[size_t(y * image.width + x)],
                  shown ? Diagonals(row, column) : kMaskWithoutClass)
            << y << " " << x;
      }
    }
    EXPECT_GT(seen, 0);
    EXPECT_LT(seen, image.height * image.width);
  }
}

TEST_F(PredictedMaskTest, OutputsOfHalfTheSizeAreEnlarged) {
  const auto predictor = Load(LargestChannel(TensorFormat::kNHWC, {4, 6, 3}, 2));
  const Tensor outputs = *predictor->Predict(Samples(*predictor, 1, Quarters));
  const auto mask = PredictedMask(*predictor, outputs, 0, {8, 12, 3});
  ASSERT_TRUE(mask.ok()) << mask.status();
  for (int64_t y = 0; y < 8; ++y) {
    for (int64_t x = 0; x < 12; ++x) {
      EXPECT_EQ(mask->pixels[size_t(y * 12 + x)], Quarters(y / 2, x / 2));
    }
  }
}

TEST_F(PredictedMaskTest, AnOutputThatIsNotFiniteIsAnError) {
  const auto predictor = Load(LargestChannel(TensorFormat::kNHWC, {4, 6, 3}));
  const Tensor outputs = *predictor->Predict(Samples(*predictor, 2, Diagonals));
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    outputs.data<float>()[4 * 6 * 3 + 7] = value;
    EXPECT_TRUE(PredictedMask(*predictor, outputs, 0, {4, 6, 3}).ok());
    EXPECT_THAT(std::string(PredictedMask(*predictor, outputs, 1, {4, 6, 3}).status().message()),
                HasSubstr("the network's output is NaN or infinite"));
  }
}

TEST_F(PredictedMaskTest, OtherNetworksAreRefused) {
  const auto refusal = [&](const Graph& graph) {
    return std::string(CheckPredictsMasks(*Load(graph)).message());
  };
  GraphBuilder classes("classes", TensorFormat::kNHWC);
  classes.Input({4, 6, 3}).Flatten().Fc(3).Softmax();
  EXPECT_EQ(refusal(*classes.Build()),
            "network classes gives no class for each pixel; its output is (3,) and its last layer "
            "Softmax, expected an image and Softmax");
  GraphBuilder values("values", TensorFormat::kNHWC);
  values.Input({4, 6, 3}).Conv2d(3, kPixelwise);
  EXPECT_EQ(refusal(*values.Build()),
            "network values gives no class for each pixel; its output is (4, 6, 3) and its last "
            "layer Conv2D, expected an image and Softmax");
  GraphBuilder many("many", TensorFormat::kNHWC);
  many.Input({2, 2, 3}).Conv2d(256, kPixelwise).Softmax();
  EXPECT_EQ(refusal(*many.Build()),
            "network many has 256 classes, but masks have values for 255 only");
}

}  // namespace
}  // namespace dtnn
