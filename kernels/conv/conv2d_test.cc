#include "kernels/conv/conv2d.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/highway.h"
#include "kernels/conv/reference.h"
#include "tensor/parallel_for.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::IntegerTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::SumTolerance;
using testing::Values;
using testing::ZeroTensor;

// Chosen to hurt; each runs in both formats and dtypes on every variant.
std::vector<Conv2dSpec> NastySpecs() {
  const auto spec = [](int64_t n, int64_t h, int64_t w, int64_t c, int64_t f, Pair kernel,
                       Pair stride, Pair padding, Pair dilation) {
    Conv2dSpec s;
    s.batch = n, s.height = h, s.width = w, s.channels = c, s.filters = f;
    s.kernel = kernel, s.stride = stride, s.padding = padding, s.dilation = dilation;
    return s;
  };
  return {
      spec(1, 1, 1, 1, 1, 1, 1, 0, 1),
      spec(2, 5, 7, 1, 4, 3, 1, 1, 1),  // the first layer of a small network
      spec(5, 9, 8, 4, 8, 3, 1, 1, 1),
      spec(5, 28, 28, 4, 8, 3, 1, 1, 1),
      spec(3, 28, 28, 1, 4, 3, 1, 1, 1),
      spec(2, 13, 11, 3, 33, 3, 1, 1, 1),
      spec(1, 8, 33, 3, 16, 3, 1, 1, 1),
      spec(13, 2, 2, 17, 33, 3, 1, 1, 1),  // more border than map; tiles across images
      spec(30, 1, 1, 8, 5, 3, 1, 1, 1),
      spec(5, 7, 7, 33, 17, 1, 1, 0, 1),
      spec(2, 7, 5, 5, 3, 1, 2, 0, 1),  // stride > kernel
      spec(2, 7, 9, 8, 2, 1, Pair(3, 2), 0, 1),
      spec(2, 8, 7, 2, 5, 2, 1, 0, 1),
      spec(1, 11, 10, 3, 8, 5, 1, 2, 1),
      spec(2, 6, 5, 17, 8, 5, 2, 3, 1),
      spec(2, 3, 3, 9, 4, 5, 1, 3, 1),  // padding larger than the map
      spec(1, 2, 2, 8, 8, 3, 1, 5, 1),  // whole patches of padding
      spec(2, 9, 11, 8, 9, Pair(1, 7), 1, Pair(0, 3), 1),
      spec(2, 11, 9, 4, 17, Pair(7, 1), 1, Pair(3, 0), 1),
      spec(1, 9, 9, 3, 4, Pair(7, 1), Pair(2, 3), Pair(3, 1), 1),
      spec(2, 9, 8, 8, 5, 3, 2, 1, 1),
      spec(5, 11, 13, 17, 2, 3, 3, 0, 1),
      spec(2, 13, 12, 5, 8, 3, 1, 2, 2),  // dilation
      spec(1, 13, 13, 33, 9, 3, 2, 3, 3),
      spec(2, 7, 13, 2, 3, Pair(3, 2), Pair(1, 2), Pair(2, 1), Pair(2, 3)),
      spec(1, 12, 12, 8, 8, 2, 3, 0, 2),
      spec(1, 1, 13, 33, 33, Pair(1, 3), 1, Pair(0, 1), 1),
      spec(2, 10, 9, 1, 1, 3, 1, 1, 1),
      spec(2, 9, 10, 16, 31, 3, 1, 1, 1),
      spec(2, 9, 10, 7, 32, 3, 1, 1, 1),
      spec(1, 17, 18, 12, 65, 3, 1, 1, 1),
      spec(2, 30, 31, 2, 12, 3, 1, Pair(1, 0), 1),
  };
}

using Parameter = std::tuple<std::string_view, Conv2dSpec, TensorFormat, DType>;

Conv2dSpec SpecOf(const Parameter& parameter) {
  Conv2dSpec spec = std::get<1>(parameter);
  spec.format = std::get<2>(parameter);
  spec.dtype = std::get<3>(parameter);
  return spec;
}

// A primitive with workspace of its own, full of NaN before every call.
class Runner {
 public:
  Runner(const Conv2dSpec& spec, std::string_view variant) {
    context_ = *DeviceContext::Create(Device::Cpu());
    auto conv = CreateConv2d(*context_, spec, variant);
    EXPECT_TRUE(conv.ok()) << conv.status();
    conv_ = *std::move(conv);
    buffer_ = *Buffer::Allocate(Device::Cpu(), std::max<size_t>(conv_->workspace_bytes(), 1));
  }

  void Forward(const Tensor& x, const Tensor& w, const Tensor& y,
               const EpilogueOperands& operands = {}, uint64_t version = 0) {
    Check(conv_->Forward(x, {w, version}, y, operands, Dirty()));
  }
  void BackwardData(const Tensor& dy, const Tensor& w, const Tensor& dx, bool accumulate = false,
                    uint64_t version = 0) {
    Check(conv_->BackwardData(dy, {w, version}, dx, accumulate, Dirty()));
  }
  void BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dw, const Tensor& dbias,
                      bool accumulate = false) {
    Check(conv_->BackwardFilter(x, dy, dw, dbias, accumulate, Dirty()));
  }
  Conv2d& conv() { return *conv_; }
  Workspace Dirty() {
    std::fill_n(buffer_->data(), conv_->workspace_bytes(), std::byte{0xff});
    return {buffer_->data(), conv_->workspace_bytes()};
  }

 private:
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<Conv2d> conv_;
  std::shared_ptr<Buffer> buffer_;
};

class Conv2dTest : public ::testing::TestWithParam<Parameter> {
 protected:
  Conv2dSpec spec_ = SpecOf(GetParam());
  std::string_view variant_ = std::get<0>(GetParam());

  Tensor Zeros(const Shape& shape) const { return ZeroTensor(spec_.dtype, shape); }
  Tensor Integers(const Shape& shape, uint64_t seed) const {
    return IntegerTensor(spec_.dtype, shape, seed, 3);
  }
  Tensor Random(const Shape& shape, uint64_t seed) const {
    return RandomTensor(spec_.dtype, shape, seed);
  }
  std::vector<double> Of(const Tensor& tensor) const { return Values(tensor, spec_.format); }
  // Of a sum of `terms` values in [-1, 1]: its partial sums grow with the square root of their
  // number, so the walk of their roundings grows linearly; this is about six standard deviations.
  double Tolerance(int64_t terms) const {
    return SumTolerance(spec_.dtype, terms) * (1 + 0.4 * std::sqrt(double(terms)));
  }
  int64_t Patch() const { return spec_.channels * spec_.kernel.vertical * spec_.kernel.horizontal; }
};

TEST_P(Conv2dTest, ExactOnIntegersOnEveryInstructionSet) {
  const Tensor x = Integers(spec_.InputShape(), 1), w = Integers(spec_.FilterShape(), 2);
  const Tensor dy = Integers(spec_.OutputShape(), 3);
  const auto y_expected = reference::Conv2dForward(spec_, Of(x), Of(w));
  const auto dx_expected = reference::Conv2dBackwardData(spec_, Of(dy), Of(w));
  const auto dw_expected = reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy));
  const auto dbias_expected = reference::Conv2dBackwardBias(spec_, Of(dy));
  const int64_t supported = hwy::SupportedTargets();
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_STATIC_TARGET}) {
    if (target != HWY_STATIC_TARGET && (supported & target) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::GetChosenTarget().Update(target);
    Runner runner(spec_, variant_);
    const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
    const Tensor dw = Zeros(spec_.FilterShape()), dbias = Zeros({spec_.filters});
    runner.Forward(x, w, y);
    EXPECT_TRUE(Close(Of(y), y_expected, 0));
    runner.BackwardData(dy, w, dx);
    EXPECT_TRUE(Close(Of(dx), dx_expected, 0));
    runner.BackwardFilter(x, dy, dw, dbias);
    EXPECT_TRUE(Close(Of(dw), dw_expected, 0));
    EXPECT_TRUE(Close(Of(dbias), dbias_expected, 0));
  }
  hwy::GetChosenTarget().Update(supported);
}

TEST_P(Conv2dTest, WithinRoundingOnRandomValues) {
  Runner runner(spec_, variant_);
  const Tensor x = Random(spec_.InputShape(), 4), w = Random(spec_.FilterShape(), 5);
  const Tensor dy = Random(spec_.OutputShape(), 6);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const Tensor dw = Zeros(spec_.FilterShape()), dbias = Zeros({spec_.filters});
  const int64_t pixels = spec_.batch * spec_.out_height() * spec_.out_width();
  const int64_t taps = spec_.kernel.vertical * spec_.kernel.horizontal;
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), reference::Conv2dForward(spec_, Of(x), Of(w)), Tolerance(Patch())));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(w)),
                    Tolerance(spec_.filters * taps)));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(
      Close(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)), Tolerance(pixels)));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), Tolerance(pixels)));
}

// <conv(x), y> = <x, conv'(y)> = <w, conv''(x, y)>.
TEST_P(Conv2dTest, GradientsAreAdjoint) {
  if (spec_.dtype != DType::kFloat64) return;
  Runner runner(spec_, variant_);
  const Tensor x = Random(spec_.InputShape(), 7), w = Random(spec_.FilterShape(), 8);
  const Tensor dy = Random(spec_.OutputShape(), 9);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const Tensor dw = Zeros(spec_.FilterShape());
  runner.Forward(x, w, y);
  runner.BackwardData(dy, w, dx);
  runner.BackwardFilter(x, dy, dw, Tensor());
  const auto dot = [this](const Tensor& a, const Tensor& b) {
    const std::vector<double> u = Of(a), v = Of(b);
    double sum = 0;
    for (size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
  };
  const double expected = dot(y, dy);
  const double tolerance = SumTolerance(spec_.dtype, Patch() * y.num_elements()) * 4;
  EXPECT_NEAR(dot(x, dx), expected, tolerance);
  EXPECT_NEAR(dot(w, dw), expected, tolerance);
}

TEST_P(Conv2dTest, EveryEpilogueOnPitchedViews) {
  const Tensor x = Pitched(Integers(spec_.InputShape(), 10), spec_.format);
  const Tensor w = Integers(spec_.FilterShape(), 11);
  EpilogueOperands operands;
  operands.bias = Integers({spec_.filters}, 12);
  operands.scale = Integers({spec_.filters}, 13);
  operands.addend = Pitched(Integers(spec_.OutputShape(), 14), spec_.format);
  const std::vector<double> sums = reference::Conv2dForward(spec_, Of(x), Of(w));
  for (int parts = 0; parts < 16; ++parts) {
    spec_.epilogue = {(parts & 1) != 0, (parts & 2) != 0, (parts & 4) != 0, (parts & 8) != 0};
    SCOPED_TRACE(spec_.ToString());
    Runner runner(spec_, variant_);
    const Tensor y = Pitched(Zeros(spec_.OutputShape()), spec_.format);
    runner.Forward(x, w, y, operands);
    const std::vector<double> expected = reference::ApplyEpilogue(
        spec_, sums, Of(operands.bias), Of(operands.scale), Of(operands.addend));
    EXPECT_TRUE(Close(Of(y), expected, 0));
  }
}

TEST_P(Conv2dTest, GradientsAccumulateIntoPitchedViews) {
  Runner runner(spec_, variant_);
  const Tensor x = Pitched(Integers(spec_.InputShape(), 15), spec_.format);
  const Tensor dy = Pitched(Integers(spec_.OutputShape(), 16), spec_.format);
  const Tensor w = Integers(spec_.FilterShape(), 17);
  const Tensor dx = Pitched(Integers(spec_.InputShape(), 18), spec_.format);
  const Tensor dw = Integers(spec_.FilterShape(), 19), dbias = Integers({spec_.filters}, 20);
  const auto plus = [](std::vector<double> a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  const auto dx_expected = plus(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(w)));
  const auto dw_expected = plus(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)));
  const auto dbias_expected = plus(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)));
  runner.BackwardData(dy, w, dx, true);
  EXPECT_TRUE(Close(Of(dx), dx_expected, 0));
  runner.BackwardFilter(x, dy, dw, dbias, true);
  EXPECT_TRUE(Close(Of(dw), dw_expected, 0));
  EXPECT_TRUE(Close(Of(dbias), dbias_expected, 0));
  runner.BackwardFilter(x, dy, dw, dbias, false);
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), 0));
}

TEST_P(Conv2dTest, SameBitsOnAnyNumberOfThreads) {
  if (spec_.dtype != DType::kFloat32) return;  // the division of the work is the same for both
  const Tensor x = Random(spec_.InputShape(), 21), w = Random(spec_.FilterShape(), 22);
  const Tensor dy = Random(spec_.OutputShape(), 23);
  const int before = NumThreads();
  std::vector<std::vector<double>> first;
  for (const auto& [made_with, run_with] :
       {std::pair(1, 1), std::pair(2, 2), std::pair(4, 4), std::pair(4, 2), std::pair(2, 4)}) {
    SetNumThreads(made_with);
    Runner runner(spec_, variant_);
    SetNumThreads(run_with);
    const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
    const Tensor dw = Zeros(spec_.FilterShape()), dbias = Zeros({spec_.filters});
    runner.Forward(x, w, y);
    runner.BackwardData(dy, w, dx);
    runner.BackwardFilter(x, dy, dw, dbias);
    const std::vector<std::vector<double>> now = {Of(y), Of(dx), Of(dw), Of(dbias)};
    if (first.empty()) first = now;
    EXPECT_TRUE(now == first) << "made with " << made_with << ", run with " << run_with;
  }
  SetNumThreads(before);
}

TEST_P(Conv2dTest, RunsASmallerBatchThanItWasMadeFor) {
  Conv2dSpec larger = spec_;
  larger.batch = spec_.batch + 17;
  Runner runner(larger, variant_);
  const Tensor x = Integers(spec_.InputShape(), 24), w = Integers(spec_.FilterShape(), 25);
  const Tensor dy = Integers(spec_.OutputShape(), 26);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const Tensor dw = Zeros(spec_.FilterShape()), dbias = Zeros({spec_.filters});
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), reference::Conv2dForward(spec_, Of(x), Of(w)), 0));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(w)), 0));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(Close(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)), 0));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), 0));
}

TEST_P(Conv2dTest, AFilterThatIsNotKeptIsPackedInTheWorkspace) {
  Conv2dSpec spec = spec_;
  spec.keeps_filter = false;
  Runner keeps(spec_, variant_), packs(spec, variant_);
  const Tensor x = Random(spec_.InputShape(), 31), dy = Random(spec_.OutputShape(), 32);
  const Tensor w = Random(spec_.FilterShape(), 33);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const Tensor packed_y = Zeros(spec_.OutputShape()), packed_dx = Zeros(spec_.InputShape());
  for (int i = 0; i < 2; ++i) {  // the same version: what is in the workspace counts for nothing
    keeps.Forward(x, w, y, {}, 9);
    keeps.BackwardData(dy, w, dx, false, 9);
    packs.Forward(x, w, packed_y, {}, 9);
    packs.BackwardData(dy, w, packed_dx, false, 9);
    EXPECT_EQ(Of(packed_y), Of(y));
    EXPECT_EQ(Of(packed_dx), Of(dx));
  }
}

TEST_P(Conv2dTest, RenewsACachedFilterOnlyWithItsVersion) {
  Runner runner(spec_, variant_);
  const Tensor x = Integers(spec_.InputShape(), 27), dy = Integers(spec_.OutputShape(), 28);
  const Tensor old_w = Integers(spec_.FilterShape(), 29), w = Integers(spec_.FilterShape(), 30);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const auto expect = [&](const Tensor& filter) {
    EXPECT_TRUE(Close(Of(y), reference::Conv2dForward(spec_, Of(x), Of(filter)), 0));
    EXPECT_TRUE(Close(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(filter)), 0));
  };
  const auto run = [&](const Tensor& filter, uint64_t version) {
    runner.Forward(x, filter, y, {}, version);
    runner.BackwardData(dy, filter, dx, false, version);
  };
  run(old_w, 7);
  expect(old_w);
  run(w, 8);
  expect(w);
  run(old_w, 0);  // unknown: always read
  expect(old_w);
  run(w, 0);
  expect(w);
}

std::string NameOf(const ::testing::TestParamInfo<Parameter>& info) {
  return std::string(std::get<0>(info.param)) + "_" + SpecOf(info.param).ToString();
}

INSTANTIATE_TEST_SUITE_P(
    Nasty, Conv2dTest,
    ::testing::Combine(::testing::ValuesIn(Conv2dVariants()), ::testing::ValuesIn(NastySpecs()),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64)),
    NameOf);

Conv2dSpec Small() {
  Conv2dSpec spec;
  spec.batch = 4, spec.height = 9, spec.width = 9, spec.channels = 8, spec.filters = 16;
  spec.padding = 1;
  return spec;
}

TEST(Conv2dCallTest, AllocatesNothing) {
  for (const std::string_view variant : Conv2dVariants()) {
    for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
      Conv2dSpec spec = Small();
      spec.format = format;
      Runner runner(spec, variant);
      const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
      const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
      const Tensor w = ZeroTensor(spec.dtype, spec.FilterShape());
      const Tensor dbias = ZeroTensor(spec.dtype, {spec.filters});
      const auto run_all = [&] {
        runner.Forward(x, w, y, {}, 0);
        runner.BackwardData(y, w, x);
        runner.BackwardFilter(x, y, w, dbias);
      };
      run_all();
      const testing::AllocationCounter counter;
      run_all();
      run_all();
      EXPECT_EQ(counter.count(), 0) << variant;
    }
  }
}

TEST(Conv2dCallTest, KeepsAPackedFilterOfTheSameVersion) {
  const Conv2dSpec spec = Small();
  Runner runner(spec, "i2c");
  const Tensor x = IntegerTensor(spec.dtype, spec.InputShape(), 1);
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = IntegerTensor(spec.dtype, spec.FilterShape(), 2);
  const Tensor other = IntegerTensor(spec.dtype, spec.FilterShape(), 3);
  runner.Forward(x, w, y, {}, 5);
  const std::vector<double> expected = Values(y);
  runner.Forward(x, other, y, {}, 5);
  EXPECT_TRUE(Close(Values(y), expected, 0));
}

TEST(Conv2dCallTest, RefusesOperandsThatDoNotFit) {
  const Conv2dSpec spec = Small();
  Runner runner(spec, "i2c");
  const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = ZeroTensor(spec.dtype, spec.FilterShape());
  const Tensor two = ZeroTensor(spec.dtype, spec.OutputShape().DropFirst().Prepend(2));
  const Tensor five = ZeroTensor(spec.dtype, spec.InputShape().DropFirst().Prepend(5));
  const auto message = [&](const Tensor& a, const Tensor& filter, const Tensor& b,
                           Workspace workspace) {
    return std::string(runner.conv().Forward(a, {filter, 0}, b, {}, workspace).message());
  };
  EXPECT_NE(message(x, w, two, runner.Dirty()).find("y has shape"), std::string::npos);
  EXPECT_NE(message(five, w, y, runner.Dirty()).find("x has 5 images"), std::string::npos);
  EXPECT_NE(message(x, x, y, runner.Dirty()).find("the filter"), std::string::npos);
  EXPECT_NE(message(Tensor(), w, y, runner.Dirty()).find("x is missing"), std::string::npos);
  EXPECT_NE(message(x, w, y, {}).find("workspace"), std::string::npos);
}

}  // namespace
}  // namespace dtnn
