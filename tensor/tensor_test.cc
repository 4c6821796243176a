#include "tensor/tensor.h"

#include <limits>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};
constexpr int64_t kImages = 3, kHeight = 2, kWidth = 5, kChannels = 4;

// Images whose element (n, h, w, c) is the number n h w c, whatever the format.
double Element(int64_t n, int64_t h, int64_t w, int64_t c) {
  return double(1000 * n + 100 * h + 10 * w + c);
}

// What a view of images [n, n + images) and channels [c, c + channels) holds, in row-major order.
std::vector<double> Expected(int64_t n, int64_t images, int64_t c, int64_t channels,
                             TensorFormat format) {
  std::vector<double> values;
  const Shape sample = SampleShape({kHeight, kWidth, channels}, format);
  for (int64_t i = 0; i < images; ++i) {
    for (int64_t a = 0; a < sample[0]; ++a) {
      for (int64_t b = 0; b < sample[1]; ++b) {
        for (int64_t d = 0; d < sample[2]; ++d) {
          values.push_back(format == TensorFormat::kNHWC ? Element(n + i, a, b, c + d)
                                                         : Element(n + i, b, d, c + a));
        }
      }
    }
  }
  return values;
}

Tensor Images(TensorFormat format) {
  return testing::TensorOf(DType::kFloat32,
                           SampleShape({kHeight, kWidth, kChannels}, format).Prepend(kImages),
                           Expected(0, kImages, 0, kChannels, format));
}

Tensor Matrix() {
  std::vector<double> values(3 * 7);
  std::iota(values.begin(), values.end(), 0);
  return testing::TensorOf(DType::kFloat64, {3, 7}, values);
}

TEST(TensorTest, DefaultIsEmpty) { EXPECT_TRUE(Tensor().empty()); }

TEST(TensorTest, ZerosAreZeroAndDense) {
  const Tensor tensor = *Tensor::Zeros(DType::kInt64, {3, 5});
  EXPECT_EQ(testing::Values(tensor), std::vector<double>(15, 0.0));
  EXPECT_TRUE(tensor.dense());
  EXPECT_EQ(tensor.RowPitch(), 5);
  EXPECT_EQ(tensor.buffer()->size(), 15 * sizeof(int64_t));
}

TEST(TensorTest, NoElementsAndOneElementAreTensorsToo) {
  EXPECT_EQ(Tensor::Zeros(DType::kFloat32, {4, 0, 3})->num_elements(), 0);
  EXPECT_EQ(Tensor::Zeros(DType::kFloat32, {})->num_elements(), 1);
}

TEST(TensorTest, SizesBeyondTheAddressSpaceAreErrors) {
  for (int64_t extent : {std::numeric_limits<int64_t>::max(), int64_t{1} << 61}) {
    EXPECT_FALSE(Tensor::Allocate(Device::Cpu(), DType::kFloat64, Shape{extent}).ok()) << extent;
  }
}

TEST(TensorTest, CopiesSeeTheSameElements) {
  const Tensor tensor = *Tensor::Zeros(DType::kInt32, {2});
  const Tensor copy = tensor;
  copy.data<int32_t>()[1] = 7;
  EXPECT_EQ(tensor.data<int32_t>()[1], 7);
}

TEST(TensorTest, AViewKeepsTheMemoryAlive) {
  Tensor tensor = Matrix();
  const Tensor view = tensor.Samples(2, 1, TensorFormat::kNHWC);
  tensor = Tensor();
  EXPECT_EQ(testing::Values(view), (std::vector<double>{14, 15, 16, 17, 18, 19, 20}));
}

TEST(TensorTest, ViewOfABufferStartsAtTheOffset) {
  const Tensor all = *Tensor::Zeros(DType::kFloat64, {20});
  for (int i = 0; i < 20; ++i) all.data<double>()[i] = i;
  const Tensor view = Tensor::View(all.buffer(), 8 * 8, DType::kFloat64, {2, 2});
  EXPECT_EQ(testing::Values(view), (std::vector<double>{8, 9, 10, 11}));
}

TEST(TensorDeathTest, AViewBeyondItsTensorEndsWhatRunsUnderASanitizer) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const Tensor matrix = Matrix();
  EXPECT_DEATH(matrix.Samples(2, 3, TensorFormat::kNHWC), "Assertion");
#else
  GTEST_SKIP() << "assertions hold where sanitizers run";
#endif
}

TEST(TensorTest, SamplesOfDenseImages) {
  for (TensorFormat format : kFormats) {
    const Tensor view = Images(format).Samples(1, 2, format);
    EXPECT_TRUE(view.dense());
    EXPECT_EQ(view.shape()[0], 2);
    EXPECT_EQ(testing::Values(view, format), Expected(1, 2, 0, kChannels, format)) << Name(format);
  }
}

TEST(TensorTest, ChannelsAreAViewWithThePitchOfTheWhole) {
  for (TensorFormat format : kFormats) {
    const Tensor view = Images(format).Channels(1, 2, format);
    EXPECT_EQ(ExtentsOf(view.shape().DropFirst(), format), (ImageExtents{kHeight, kWidth, 2}));
    EXPECT_FALSE(view.dense());
    if (format == TensorFormat::kNHWC) {
      EXPECT_EQ(view.PixelPitch(), kChannels);
    } else {
      EXPECT_EQ(view.ImagePitch(), kChannels * kHeight * kWidth);
    }
    EXPECT_EQ(testing::Values(view, format), Expected(0, kImages, 1, 2, format)) << Name(format);
  }
}

TEST(TensorTest, SamplesAndChannelsCommute) {
  for (TensorFormat format : kFormats) {
    for (int64_t n = 0; n < kImages; ++n) {
      for (int64_t c = 0; c < kChannels; ++c) {
        const std::vector<double> expected = Expected(n, 1, c, 1, format);
        const Tensor images = Images(format);
        const Tensor samples_first = images.Samples(n, 1, format).Channels(c, 1, format);
        const Tensor channels_first = images.Channels(c, 1, format).Samples(n, 1, format);
        EXPECT_EQ(testing::Values(samples_first, format), expected) << n << " " << c;
        EXPECT_EQ(testing::Values(channels_first, format), expected) << n << " " << c;
      }
    }
  }
}

TEST(TensorTest, ChannelsOfChannelsCountFromTheView) {
  for (TensorFormat format : kFormats) {
    const Tensor view = Images(format).Channels(1, 3, format).Channels(1, 2, format);
    EXPECT_EQ(testing::Values(view, format), Expected(0, kImages, 2, 2, format)) << Name(format);
  }
}

TEST(TensorTest, AllChannelsOfADenseTensorAreDense) {
  for (TensorFormat format : kFormats) {
    const Tensor view = Images(format).Channels(0, kChannels, format);
    EXPECT_TRUE(view.dense());
    EXPECT_EQ(view.Reshaped({kImages * kHeight * kWidth * kChannels}).num_elements(), 120);
  }
}

TEST(TensorTest, ColumnsAndRowsOfAMatrix) {
  for (TensorFormat format : kFormats) {  // which a matrix does not heed
    const Tensor columns = Matrix().Channels(2, 3, format);
    EXPECT_EQ(columns.RowPitch(), 7);
    EXPECT_EQ(testing::Values(columns, format),
              (std::vector<double>{2, 3, 4, 9, 10, 11, 16, 17, 18}));
    const Tensor corner = columns.Samples(1, 2, format);
    EXPECT_EQ(testing::Values(corner, format), (std::vector<double>{9, 10, 11, 16, 17, 18}));
  }
}

TEST(TensorTest, EmptyRangesHaveNoElements) {
  for (TensorFormat format : kFormats) {
    EXPECT_EQ(Images(format).Samples(kImages, 0, format).num_elements(), 0);
    EXPECT_EQ(Images(format).Channels(kChannels, 0, format).num_elements(), 0);
  }
}

TEST(TensorTest, ReshapedKeepsTheOrderOfElements) {
  const Tensor tensor = Matrix();
  const Tensor reshaped = tensor.Reshaped({7, 3, 1});
  EXPECT_EQ(reshaped.shape(), (Shape{7, 3, 1}));
  EXPECT_EQ(testing::Values(reshaped), testing::Values(tensor));
  EXPECT_EQ(reshaped.raw_data(), tensor.raw_data());
}

}  // namespace
}  // namespace dtnn
