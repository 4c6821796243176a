#include "kernels/bias/bias.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/bias/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::OnesTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::SumTolerance;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

struct Case {
  TensorFormat format;
  Shape shape;
  int64_t outer, channels, inner;
};

Case Image(TensorFormat format, int64_t n, int64_t h, int64_t w, int64_t c) {
  return format == TensorFormat::kNHWC ? Case{format, {n, h, w, c}, n * h * w, c, 1}
                                       : Case{format, {n, c, h, w}, n, c, h * w};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t columns : {1, 3, 7, 8, 10, 16, 17, 63, 65, 511, 513, 1000}) {
    for (const int64_t rows : {1, 2, 33}) {
      cases.push_back({TensorFormat::kNHWC, {rows, columns}, rows, columns, 1});
    }
  }
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const int64_t channels : {1, 3, 8, 20, 33}) {
      cases.push_back(Image(format, 1, 1, 1, channels));
      cases.push_back(Image(format, 9, 1, 1, channels));
      cases.push_back(Image(format, 3, 5, 7, channels));
    }
    cases.push_back(Image(format, 8, 28, 28, 8));  // enough for two threads
  }
  return cases;
}

class BiasTest : public ::testing::TestWithParam<DType> {
 protected:
  std::unique_ptr<Bias> Create(const Case& c) const {
    return *CreateBias(*context_,
                       {.channels = c.channels, .format = c.format, .dtype = GetParam()});
  }
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(BiasTest, NaNInAnyOperandComesOut) {
  const std::vector<Case> cases = Cases();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.shape.ToString());
    const auto op = Create(c);
    const Tensor nans = NaNTensor(GetParam(), c.shape), ones = OnesTensor(GetParam(), c.shape);
    const Tensor bias_nans = NaNTensor(GetParam(), {c.channels});
    const Tensor bias_ones = OnesTensor(GetParam(), {c.channels});
    const Tensor y = ZeroTensor(GetParam(), c.shape), dbias = ZeroTensor(GetParam(), {c.channels});
    std::vector<double> expected(size_t(y.num_elements()));
    for (const auto& [x, bias] : {std::pair(nans, bias_ones), {ones, bias_nans}}) {
      reference::BiasForward(c.outer, c.channels, c.inner, Values(x).data(), Values(bias).data(),
                             expected.data());
      ASSERT_TRUE(op->Forward(x, bias, y).ok());
      EXPECT_TRUE(KeepsNaN(Values(y), expected));
    }
    std::vector<double> sums(size_t(c.channels), 0.0);
    reference::BiasBackward(c.outer, c.channels, c.inner, Values(nans).data(), sums.data(), false);
    ASSERT_TRUE(op->Backward(nans, dbias, false).ok());
    EXPECT_TRUE(KeepsNaN(Values(dbias), sums));
  }
}

TEST_P(BiasTest, ForwardEqualsReferenceDensePitchedAndInPlace) {
  for (const Case& c : Cases()) {
    const Tensor x = IntegerTensor(GetParam(), c.shape, 1);
    const Tensor bias = IntegerTensor(GetParam(), {c.channels}, 2);
    std::vector<double> expected(size_t(x.num_elements()));
    reference::BiasForward(c.outer, c.channels, c.inner, Values(x).data(), Values(bias).data(),
                           expected.data());
    const auto op = Create(c);
    const Tensor y = Pitched(ZeroTensor(GetParam(), c.shape), c.format);
    ASSERT_TRUE(op->Forward(Pitched(x, c.format), bias, y).ok());
    EXPECT_TRUE(Close(Values(y, c.format), expected, 0)) << c.shape.ToString();
    const Tensor of_dense = Pitched(ZeroTensor(GetParam(), c.shape), c.format);
    ASSERT_TRUE(op->Forward(x, bias, of_dense).ok());
    EXPECT_TRUE(Close(Values(of_dense, c.format), expected, 0)) << c.shape.ToString();
    const Tensor dense = ZeroTensor(GetParam(), c.shape);
    ASSERT_TRUE(op->Forward(Pitched(x, c.format), bias, dense).ok());
    EXPECT_TRUE(Close(Values(dense), expected, 0)) << c.shape.ToString();
    ASSERT_TRUE(op->Forward(x, bias, x).ok());
    EXPECT_TRUE(Close(Values(x), expected, 0)) << c.shape.ToString();
  }
}

TEST_P(BiasTest, BackwardEqualsReferenceDenseAndPitched) {
  for (const Case& c : Cases()) {
    const Tensor dy = IntegerTensor(GetParam(), c.shape, 1);
    for (const bool accumulate : {false, true}) {
      const Tensor start = IntegerTensor(GetParam(), {c.channels}, 2);
      std::vector<double> expected = Values(start);
      reference::BiasBackward(c.outer, c.channels, c.inner, Values(dy).data(), expected.data(),
                              accumulate);
      for (const Tensor& view : {dy, Pitched(dy, c.format)}) {
        const Tensor dbias = IntegerTensor(GetParam(), {c.channels}, 2);
        ASSERT_TRUE(Create(c)->Backward(view, dbias, accumulate).ok());
        EXPECT_TRUE(Close(Values(dbias), expected, 0)) << c.shape.ToString();
      }
    }
  }
}

TEST_P(BiasTest, BackwardOfRandomValuesIsAccurate) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Case c = Image(format, 16, 28, 28, 5);
    const Tensor dy = RandomTensor(GetParam(), c.shape, 1);
    const Tensor dbias = ZeroTensor(GetParam(), {c.channels});
    std::vector<double> expected(size_t(c.channels));
    reference::BiasBackward(c.outer, c.channels, c.inner, Values(dy).data(), expected.data(),
                            false);
    ASSERT_TRUE(Create(c)->Backward(dy, dbias, false).ok());
    const int64_t terms = c.outer * c.inner;
    EXPECT_TRUE(Close(Values(dbias), expected, SumTolerance(GetParam(), terms)));
  }
}

// Sums over many pixels whose terms have one sign: in one chain per lane they would be off by 4e-5.
TEST_P(BiasTest, BackwardOfManyPixelsIsNoLongChain) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const Case c = Image(format, 1, 512, 512, 2);
    const std::vector<double> tenths(size_t(c.shape.NumElements()), 0.1);
    const Tensor dy = TensorOf(GetParam(), c.shape, tenths);
    const Tensor dbias = ZeroTensor(GetParam(), {c.channels});
    ASSERT_EQ(Create(c)->Backward(dy, dbias, false), absl::OkStatus());
    const double expected = Values(dy)[0] * 512 * 512;
    EXPECT_TRUE(Close(Values(dbias), {expected, expected}, 0, 4e-6)) << Name(format);
  }
}

TEST_P(BiasTest, SameBitsOnAnyNumberOfThreads) {
  for (const Case& c :
       {Image(TensorFormat::kNHWC, 16, 28, 28, 24), Image(TensorFormat::kNCHW, 16, 28, 28, 24),
        Case{TensorFormat::kNHWC, {200, 1000}, 200, 1000, 1}}) {
    const Tensor dy = RandomTensor(GetParam(), c.shape, 1);
    std::vector<double> first;
    for (const int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      const Tensor dbias = ZeroTensor(GetParam(), {c.channels});
      ASSERT_TRUE(Create(c)->Backward(dy, dbias, false).ok());
      if (first.empty()) first = Values(dbias);
      EXPECT_EQ(Values(dbias), first) << threads << " threads, " << c.shape.ToString();
    }
  }
}

TEST_P(BiasTest, RefusesOtherChannels) {
  const auto op = Create({TensorFormat::kNHWC, {}, 1, 8, 1});
  const Tensor x = ZeroTensor(GetParam(), {2, 7}), bias = ZeroTensor(GetParam(), {8});
  EXPECT_EQ(op->Forward(x, bias, x).message(),
            "bias: shape (2, 7), expected a matrix or images of 8 channels");
  const Tensor y = ZeroTensor(GetParam(), {2, 8});
  EXPECT_NE(std::string(op->Forward(y, x, y).message()).find("bias: the vector has shape (2, 7)"),
            std::string::npos);
  EXPECT_FALSE(CreateBias(*context_, {.channels = 0}).ok());
}

INSTANTIATE_TEST_SUITE_P(, BiasTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
