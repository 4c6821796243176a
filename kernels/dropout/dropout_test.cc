#include "kernels/dropout/dropout.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/dropout/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

const Philox kStream(0x123456789abcdef0, StreamId(RandomPurpose::kDropout, 7));

class DropoutTest : public ::testing::TestWithParam<DType> {
 protected:
  std::unique_ptr<Dropout> Create(double rate, TensorFormat format = TensorFormat::kNHWC) const {
    return *CreateDropout(*context_, {.rate = rate, .format = format, .dtype = GetParam()});
  }
  double tolerance() const {
    return GetParam() == DType::kFloat32 ? std::numeric_limits<float>::epsilon() : 1e-15;
  }
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(DropoutTest, DrawsTheStreamsNumbersForEveryLengthAndOffset) {
  for (const int64_t n : {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 1023, 1024, 1025, 20003}) {
    // Offsets across the boundary at which a counter needs its upper half.
    for (const uint64_t offset : {uint64_t{0}, uint64_t{8}, uint64_t{0x3fffffff0}}) {
      for (const bool accumulate : {false, true}) {
        const Tensor x = IntegerTensor(GetParam(), {n}, 1), y = IntegerTensor(GetParam(), {n}, 2);
        Doubles expected = Values(y);
        reference::Dropout(.25, kStream, offset, Values(x), expected, accumulate);
        ASSERT_TRUE(Create(.25)->Run(x, kStream, offset, y, accumulate).ok());
        EXPECT_TRUE(Close(Values(y), expected, 4 * tolerance(), tolerance())) << n;
      }
    }
  }
}

TEST_P(DropoutTest, NaNComesOutWhetherDroppedOrKept) {
  const Tensor x = NaNTensor(GetParam(), {33}), y = ZeroTensor(GetParam(), {33});
  for (const double rate : {0.0, .5, 1.0}) {
    ASSERT_TRUE(Create(rate)->Run(x, kStream, 0, y, false).ok());
    EXPECT_TRUE(KeepsNaN(Values(y), Values(x))) << rate;
  }
}

TEST_P(DropoutTest, PitchedViewsDrawTheNumbersOfDenseOnes) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Tensor x = IntegerTensor(GetParam(), {3, 7, 9, 11}, 1);
    Doubles expected(size_t(x.num_elements()));
    const bool planes = format == TensorFormat::kNCHW;
    reference::Dropout(.5, kStream, 12, Values(x), expected, false, planes ? 7 : 1,
                       planes ? 9 * 11 : 1);
    const Tensor y = Pitched(ZeroTensor(GetParam(), x.shape()), format);
    ASSERT_TRUE(Create(.5, format)->Run(Pitched(x, format), kStream, 12, y, false).ok());
    EXPECT_EQ(Values(y, format), expected);
    ASSERT_TRUE(Create(.5, format)->Run(x, kStream, 12, x, false).ok());
    EXPECT_EQ(Values(x), expected) << "in place";
  }
}

// Planes larger than what is transposed at once, and channels in several blocks; the rows of a
// matrix may be such samples too.
TEST_P(DropoutTest, PlanesDrawTheNumbersOfTheSameElementsInNHWC) {
  for (const auto& [channels, pixels] : {std::pair(1, 5),
                                         {2, 1},
                                         {2, 2},
                                         {3, 5},
                                         {5, 4099},
                                         {4, 33},
                                         {127, 40},
                                         {128, 33},
                                         {129, 65},
                                         {515, 7},
                                         {1030, 2}}) {
    for (const bool accumulate : {false, true}) {
      const Tensor x = IntegerTensor(GetParam(), {3, channels, pixels, 1}, 1);
      const Tensor y = IntegerTensor(GetParam(), {3, channels, pixels, 1}, 2);
      Doubles expected = Values(y);
      reference::Dropout(.25, kStream, 8, Values(x), expected, accumulate, size_t(channels),
                         size_t(pixels));
      ASSERT_TRUE(Create(.25, TensorFormat::kNCHW)->Run(x, kStream, 8, y, accumulate).ok());
      EXPECT_TRUE(Close(Values(y), expected, 4 * tolerance(), tolerance()))
          << channels << " x " << pixels;
      const Tensor rows = IntegerTensor(GetParam(), {3, channels * pixels}, 1);
      const Tensor results = IntegerTensor(GetParam(), {3, channels * pixels}, 2);
      const auto dropout = *CreateDropout(
          *context_,
          {.rate = .25, .format = TensorFormat::kNCHW, .dtype = GetParam(), .pixels = pixels});
      ASSERT_TRUE(dropout->Run(rows, kStream, 8, results, accumulate).ok());
      EXPECT_EQ(Values(results), Values(y)) << channels << " x " << pixels;
    }
  }
}

TEST_P(DropoutTest, RefusesRowsThatAreNotWholeImages) {
  const auto dropout =
      *CreateDropout(*context_, {.format = TensorFormat::kNCHW, .dtype = GetParam(), .pixels = 3});
  const Tensor x = ZeroTensor(GetParam(), {2, 7});
  EXPECT_EQ(dropout->Run(x, kStream, 0, x, false).message(),
            "dropout: rows of 7 elements cannot be those of images of 3 pixels");
}

TEST_P(DropoutTest, KeepsTheExpectedShareAndMean) {
  const int64_t n = 100000;
  const Tensor x = TensorOf(GetParam(), {n}, Doubles(size_t(n), 1)),
               y = ZeroTensor(GetParam(), {n});
  for (const double rate : {.1, .5, .9}) {
    ASSERT_TRUE(Create(rate)->Run(x, kStream, 0, y, false).ok());
    double kept = 0, sum = 0;
    for (const double value : Values(y)) {
      kept += value != 0;
      sum += value;
    }
    // Five standard deviations of a binomial.
    const double deviation = 5 * std::sqrt(rate * (1 - rate) / double(n));
    EXPECT_NEAR(kept / double(n), 1 - rate, deviation);
    EXPECT_NEAR(sum / double(n), 1, deviation / (1 - rate));
  }
}

TEST_P(DropoutTest, RateZeroKeepsAllAndRateOneNone) {
  const Tensor x = IntegerTensor(GetParam(), {1000}, 1), y = ZeroTensor(GetParam(), {1000});
  ASSERT_TRUE(Create(0)->Run(x, kStream, 0, y, false).ok());
  EXPECT_EQ(Values(y), Values(x));
  const Tensor infinite =
      TensorOf(GetParam(), {1000}, Doubles(1000, std::numeric_limits<double>::infinity()));
  ASSERT_TRUE(Create(1)->Run(infinite, kStream, 0, y, false).ok());
  EXPECT_EQ(Values(y), Doubles(1000, 0));
}

TEST_P(DropoutTest, SameBitsOnAnyNumberOfThreads) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Tensor x = IntegerTensor(GetParam(), {3, 13, 51, 51}, 1);
    Doubles first;
    for (const int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      const Tensor y = ZeroTensor(GetParam(), x.shape());
      ASSERT_TRUE(Create(.3, format)->Run(x, kStream, 400, y, false).ok());
      if (first.empty()) first = Values(y);
      EXPECT_EQ(Values(y), first) << threads << " threads";
    }
  }
}

TEST_P(DropoutTest, RefusesOddOffsetsAndRates) {
  const Tensor x = ZeroTensor(GetParam(), {4});
  EXPECT_EQ(Create(.5)->Run(x, kStream, 2, x, false).message(),
            "dropout: the offset is 2 and 0 per step, expected multiples of 4");
  EXPECT_EQ(CreateDropout(*context_, {.rate = 1.5}).status().message(),
            "dropout: rate is 1.5, expected 0 to 1");
  EXPECT_FALSE(CreateDropout(*context_, {.rate = std::nan("")}).ok());
}

INSTANTIATE_TEST_SUITE_P(, DropoutTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
