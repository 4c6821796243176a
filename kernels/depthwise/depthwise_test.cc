#include "kernels/depthwise/depthwise.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "kernels/depthwise/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::HasNaN;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::OnesTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::SumTolerance;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

Conv2dSpec Spec(Shape nhwc, Pair kernel, Pair stride = 1, Pair padding = 0, Pair dilation = 1) {
  Conv2dSpec s;
  s.batch = nhwc[0], s.height = nhwc[1], s.width = nhwc[2];
  s.channels = s.filters = s.groups = nhwc[3];
  s.kernel = kernel, s.stride = stride, s.padding = padding, s.dilation = dilation;
  return s;
}

// Chosen to hurt: channels around a vector, maps around a tile and smaller than the kernel, more
// images than a tile, stride > kernel, padding > map, gaps, dilation against stride.
std::vector<Conv2dSpec> NastySpecs() {
  return {
      Spec({1, 1, 1, 1}, 1),
      Spec({5, 1, 1, 17}, 3, 1, 1),  // all but one tap lie in the padding
      Spec({9, 2, 2, 16}, 3, 1, 1),
      Spec({3, 2, 2, 33}, 3, 2, 1),
      Spec({6, 4, 4, 15}, 3, 1, 1),
      Spec({4, 4, 4, 8}, 3, 2, 1),
      Spec({2, 8, 8, 31}, 3, 1, 1),
      Spec({2, 16, 17, 9}, 3, 1, 1),
      Spec({1, 16, 33, 2}, 3, 2, 1),
      Spec({2, 9, 10, 65}, 3, 1, 1),
      Spec({1, 7, 40, 1}, 3, 1, 1),
      Spec({2, 7, 9, 3}, 1),
      Spec({2, 7, 9, 5}, 1, 2),
      Spec({2, 7, 9, 5}, 1, {3, 2}, 1),  // results in the padding alone
      Spec({2, 10, 11, 4}, 2, 3),
      Spec({2, 12, 13, 4}, 5, 1, 2),
      Spec({1, 12, 15, 7}, 5, 2, 3),
      Spec({5, 3, 3, 18}, 5, 1, 3),
      Spec({2, 2, 2, 8}, 3, 1, 5),  // whole windows of padding
      Spec({1, 11, 30, 6}, {1, 7}, 1, {0, 3}),
      Spec({1, 30, 11, 6}, {7, 1}, {1, 3}, {3, 0}),
      Spec({2, 13, 14, 5}, 3, 1, 2, 2),
      Spec({1, 13, 23, 5}, 3, 2, 3, 3),
      Spec({1, 13, 23, 5}, 3, 2, 4, 4),
      Spec({1, 14, 25, 3}, {4, 3}, {6, 4}, {3, 5}, {4, 6}),
      Spec({2, 7, 13, 2}, {3, 2}, {1, 2}, {2, 1}, {2, 3}),
      Spec({40, 5, 5, 20}, 3, 1, 1),   // several parts of the batch
      Spec({3, 40, 41, 50}, 3, 1, 1),  // several strips, and blocks of channels
      Spec({5, 20, 20, 150}, 3, 2, 1),
  };
}

using Parameter = std::tuple<Conv2dSpec, TensorFormat, DType>;

Conv2dSpec SpecOf(const Parameter& parameter) {
  Conv2dSpec spec = std::get<0>(parameter);
  spec.format = std::get<1>(parameter);
  spec.dtype = std::get<2>(parameter);
  return spec;
}

class Runner : public testing::Conv2dRunner {
 public:
  explicit Runner(const Conv2dSpec& spec)
      : Conv2dRunner([&](DeviceContext& context) { return CreateDepthwise(context, spec); }) {}
};

class DepthwiseTest : public ::testing::TestWithParam<Parameter> {
 protected:
  Conv2dSpec spec_ = SpecOf(GetParam());
  Shape in_ = spec_.InputShape(), out_ = spec_.OutputShape();
  Shape filter_ = DepthwiseFilterShape(spec_), vector_{spec_.channels};

  Tensor Zeros(const Shape& shape) const { return ZeroTensor(spec_.dtype, shape); }
  Tensor Integers(const Shape& shape, uint64_t seed) const {
    return IntegerTensor(spec_.dtype, shape, seed, 3);
  }
  Tensor Random(const Shape& shape, uint64_t seed) const {
    return RandomTensor(spec_.dtype, shape, seed);
  }
  Tensor InPitched(const Tensor& tensor) const { return Pitched(tensor, spec_.format); }
  Doubles Of(const Tensor& tensor) const { return Values(tensor, spec_.format); }
  // Of a walk of roundings of partial sums that grow with the square root of their number.
  double Tolerance(int64_t terms) const {
    return SumTolerance(spec_.dtype, terms) * (1 + 0.4 * std::sqrt(double(terms)));
  }
};

TEST_P(DepthwiseTest, ExactOnIntegers) {
  const Tensor x = Integers(in_, 1), w = Integers(filter_, 2), dy = Integers(out_, 3);
  const Doubles y_expected = reference::DepthwiseForward(spec_, Of(x), Of(w));
  const Doubles dx_expected = reference::DepthwiseBackwardData(spec_, Of(dy), Of(w));
  const Doubles dw_expected = reference::DepthwiseBackwardFilter(spec_, Of(x), Of(dy));
  const Doubles dbias_expected = reference::Conv2dBackwardBias(spec_, Of(dy));
  Runner runner(spec_);
  const Tensor y = Zeros(out_), dx = Zeros(in_), dw = Zeros(filter_), dbias = Zeros(vector_);
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), y_expected, 0));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), dx_expected, 0));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(Close(Of(dw), dw_expected, 0));
  EXPECT_TRUE(Close(Of(dbias), dbias_expected, 0));
}

TEST_P(DepthwiseTest, WithinRoundingOnRandomValues) {
  Runner runner(spec_);
  const Tensor x = Random(in_, 4), w = Random(filter_, 5), dy = Random(out_, 6);
  const Tensor y = Zeros(out_), dx = Zeros(in_), dw = Zeros(filter_), dbias = Zeros(vector_);
  const int64_t taps = spec_.kernel.vertical * spec_.kernel.horizontal;
  const int64_t pixels = spec_.batch * spec_.out_height() * spec_.out_width();
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), reference::DepthwiseForward(spec_, Of(x), Of(w)), Tolerance(taps)));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(
      Close(Of(dx), reference::DepthwiseBackwardData(spec_, Of(dy), Of(w)), Tolerance(taps)));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(
      Close(Of(dw), reference::DepthwiseBackwardFilter(spec_, Of(x), Of(dy)), Tolerance(pixels)));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), Tolerance(pixels)));
}

// <conv(x), y> = <x, conv'(y)> = <w, conv''(x, y)>.
TEST_P(DepthwiseTest, GradientsAreAdjoint) {
  if (spec_.dtype != DType::kFloat64) return;
  Runner runner(spec_);
  const Tensor x = Random(in_, 7), w = Random(filter_, 8), dy = Random(out_, 9);
  const Tensor y = Zeros(out_), dx = Zeros(in_), dw = Zeros(filter_);
  runner.Forward(x, w, y);
  runner.BackwardData(dy, w, dx);
  runner.BackwardFilter(x, dy, dw, Tensor());
  const auto dot = [this](const Tensor& a, const Tensor& b) {
    const Doubles u = Of(a), v = Of(b);
    double sum = 0;
    for (size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
  };
  const double tolerance = Tolerance(y.num_elements() * w.num_elements() / spec_.channels);
  EXPECT_NEAR(dot(x, dx), dot(y, dy), tolerance);
  EXPECT_NEAR(dot(w, dw), dot(y, dy), tolerance);
}

TEST_P(DepthwiseTest, EveryEpilogueOnPitchedViews) {
  const Tensor x = InPitched(Integers(in_, 10)), w = Integers(filter_, 11);
  EpilogueOperands operands;
  operands.bias = Integers(vector_, 12);
  operands.scale = Integers(vector_, 13);
  const Doubles sums = reference::DepthwiseForward(spec_, Of(x), Of(w));
  for (int parts = 0; parts < 8; ++parts) {
    spec_.epilogue = {
        .bias = (parts & 1) != 0, .scale = (parts & 2) != 0, .relu = (parts & 4) != 0};
    SCOPED_TRACE(spec_.ToString());
    const Tensor y = InPitched(Zeros(out_));
    Runner(spec_).Forward(x, w, y, operands);
    EXPECT_TRUE(Close(
        Of(y),
        reference::ApplyEpilogue(spec_, sums, Of(operands.bias), Of(operands.scale), Doubles()),
        0));
  }
}

// Of operands of ones, one has NaNs.
TEST_P(DepthwiseTest, NaNInAnyOperandComesOut) {
  spec_.epilogue = {.bias = true, .scale = true, .relu = true};
  Runner runner(spec_);
  for (int operand = 0; operand < 4; ++operand) {
    SCOPED_TRACE(operand);
    const auto make = [&](int number, const Shape& shape) {
      return number == operand ? NaNTensor(spec_.dtype, shape) : OnesTensor(spec_.dtype, shape);
    };
    const Tensor x = make(0, in_), w = make(1, filter_), y = Zeros(out_);
    EpilogueOperands operands;
    operands.bias = make(2, vector_);
    operands.scale = make(3, vector_);
    const Doubles expected =
        reference::ApplyEpilogue(spec_, reference::DepthwiseForward(spec_, Of(x), Of(w)),
                                 Of(operands.bias), Of(operands.scale), Doubles());
    if (operand < 2 && !HasNaN(expected)) continue;  // taps in the padding, or between the strides
    runner.Forward(x, w, y, operands);
    EXPECT_TRUE(KeepsNaN(Of(y), expected));
  }
}

TEST_P(DepthwiseTest, NaNComesOutOfGradients) {
  Runner runner(spec_);
  const auto ones = [this](const Shape& shape) { return OnesTensor(spec_.dtype, shape); };
  const auto nans = [this](const Shape& shape) { return NaNTensor(spec_.dtype, shape); };
  const Tensor dx = Zeros(in_), dw = Zeros(filter_), dbias = Zeros(vector_);
  for (const auto& [dy, w] : {std::pair(nans(out_), ones(filter_)), {ones(out_), nans(filter_)}}) {
    const Doubles expected = reference::DepthwiseBackwardData(spec_, Of(dy), Of(w));
    runner.BackwardData(dy, w, dx);
    if (HasNaN(expected)) {
      EXPECT_TRUE(KeepsNaN(Of(dx), expected));
    }
  }
  for (const auto& [x, dy] : {std::pair(nans(in_), ones(out_)), {ones(in_), nans(out_)}}) {
    const Doubles expected = reference::DepthwiseBackwardFilter(spec_, Of(x), Of(dy));
    runner.BackwardFilter(x, dy, dw, dbias);
    if (HasNaN(expected)) {
      EXPECT_TRUE(KeepsNaN(Of(dw), expected));
    }
    if (HasNaN(Of(dy))) {
      EXPECT_TRUE(KeepsNaN(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy))));
    }
  }
}

TEST_P(DepthwiseTest, GradientsAccumulateIntoPitchedViews) {
  Runner runner(spec_);
  const Tensor x = InPitched(Integers(in_, 15)), dy = InPitched(Integers(out_, 16));
  const Tensor w = Integers(filter_, 17), dx = InPitched(Integers(in_, 18));
  const Tensor dw = Integers(filter_, 19), dbias = Integers(vector_, 20);
  const auto plus = [](Doubles a, const Doubles& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  const Doubles dx_expected = plus(Of(dx), reference::DepthwiseBackwardData(spec_, Of(dy), Of(w)));
  const Doubles dw_expected =
      plus(Of(dw), reference::DepthwiseBackwardFilter(spec_, Of(x), Of(dy)));
  const Doubles dbias_expected = plus(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)));
  runner.BackwardData(dy, w, dx, true);
  EXPECT_TRUE(Close(Of(dx), dx_expected, 0));
  runner.BackwardFilter(x, dy, dw, dbias, true);
  EXPECT_TRUE(Close(Of(dw), dw_expected, 0));
  EXPECT_TRUE(Close(Of(dbias), dbias_expected, 0));
}

TEST_P(DepthwiseTest, SameBitsOnAnyNumberOfThreads) {
  const Tensor x = Random(in_, 21), w = Random(filter_, 22), dy = Random(out_, 23);
  const int before = NumThreads();
  std::vector<Doubles> first;
  for (const auto& [made_with, run_with] :
       {std::pair(1, 1), std::pair(2, 2), std::pair(4, 4), std::pair(4, 2), std::pair(2, 4)}) {
    SetNumThreads(made_with);
    Runner runner(spec_);
    SetNumThreads(run_with);
    const Tensor y = Zeros(out_), dx = Zeros(in_), dw = Zeros(filter_), dbias = Zeros(vector_);
    runner.Forward(x, w, y);
    runner.BackwardData(dy, w, dx);
    runner.BackwardFilter(x, dy, dw, dbias);
    const std::vector<Doubles> now = {Of(y), Of(dx), Of(dw), Of(dbias)};
    if (first.empty()) first = now;
    EXPECT_TRUE(now == first) << "made with " << made_with << ", run with " << run_with;
  }
  SetNumThreads(before);
}

TEST_P(DepthwiseTest, RunsASmallerBatchThanItWasMadeFor) {
  Conv2dSpec larger = spec_;
  larger.batch = spec_.batch + 17;
  Runner runner(larger);
  const Tensor x = Integers(in_, 24), w = Integers(filter_, 25), dy = Integers(out_, 26);
  const Tensor y = Zeros(out_), dx = Zeros(in_), dw = Zeros(filter_), dbias = Zeros(vector_);
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), reference::DepthwiseForward(spec_, Of(x), Of(w)), 0));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), reference::DepthwiseBackwardData(spec_, Of(dy), Of(w)), 0));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(Close(Of(dw), reference::DepthwiseBackwardFilter(spec_, Of(x), Of(dy)), 0));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), 0));
}

INSTANTIATE_TEST_SUITE_P(Nasty, DepthwiseTest,
                         ::testing::Combine(::testing::ValuesIn(NastySpecs()),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)),
                         [](const auto& info) { return SpecOf(info.param).ToString(); });

TEST(DepthwiseCallTest, RenewsACachedFilterOnlyWithItsVersion) {
  const Conv2dSpec spec = Spec({2, 6, 7, 5}, 3, 1, 1);
  const Shape filter = DepthwiseFilterShape(spec);
  Runner runner(spec);
  const Tensor x = IntegerTensor(spec.dtype, spec.InputShape(), 1);
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor dx = ZeroTensor(spec.dtype, spec.InputShape());
  const Tensor a = IntegerTensor(spec.dtype, filter, 2), b = IntegerTensor(spec.dtype, filter, 3);
  const auto expect = [&](const Tensor& w, uint64_t version, const Tensor& used) {
    runner.Forward(x, w, y, {}, version);
    EXPECT_EQ(Values(y), reference::DepthwiseForward(spec, Values(x), Values(used))) << version;
    runner.BackwardData(x, w, dx, false, version);
    EXPECT_EQ(Values(dx), reference::DepthwiseBackwardData(spec, Values(x), Values(used)));
  };
  expect(a, 5, a);
  expect(b, 5, a);  // the same version: not read again
  expect(b, 6, b);
  expect(a, 0, a);  // unknown: always read
  expect(b, 0, b);
}

TEST(DepthwiseCallTest, AllocatesNothing) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    Conv2dSpec spec = Spec({8, 9, 9, 32}, 3, 1, 1);
    spec.format = format;
    Runner runner(spec);
    const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
    const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
    const Tensor w = ZeroTensor(spec.dtype, DepthwiseFilterShape(spec));
    const Tensor dbias = ZeroTensor(spec.dtype, {spec.channels});
    const auto run_all = [&] {
      runner.Forward(x, w, y);
      runner.BackwardData(y, w, x);
      runner.BackwardFilter(x, y, w, dbias);
    };
    run_all();
    const testing::AllocationCounter counter;
    run_all();
    run_all();
    EXPECT_EQ(counter.count(), 0);
  }
}

TEST(DepthwiseCallTest, RefusesWhatDoesNotFit) {
  const Conv2dSpec spec = Spec({2, 6, 7, 5}, 3, 1, 1);
  Runner runner(spec);
  const Tensor x = ZeroTensor(spec.dtype, spec.InputShape());
  const Tensor y = ZeroTensor(spec.dtype, spec.OutputShape());
  const Tensor w = ZeroTensor(spec.dtype, DepthwiseFilterShape(spec));
  const auto message = [&](const Tensor& from, const Tensor& filter, Workspace workspace) {
    return std::string(runner.conv().Forward(from, {filter, 0}, y, {}, workspace).message());
  };
  EXPECT_EQ(message(x, ZeroTensor(spec.dtype, spec.FilterShape()), runner.Dirty()),
            "convolution: the filter has shape (1, 3, 3, 5) of float32 on cpu; expected (5, 3, 3) "
            "of float32 on cpu");
  EXPECT_NE(message(x, Tensor(), runner.Dirty()).find("the filter is missing"), std::string::npos);
  EXPECT_NE(message(Tensor(), w, runner.Dirty()).find("x is missing"), std::string::npos);
  EXPECT_NE(message(x, w, {}).find("workspace"), std::string::npos);
}

TEST(DepthwiseCreateTest, RefusesWithTheReason) {
  auto context = *DeviceContext::Create(Device::Cpu());
  const auto error = [&](const Conv2dSpec& spec) {
    return std::string(CreateDepthwise(*context, spec).status().message());
  };
  Conv2dSpec spec = Spec({2, 6, 7, 6}, 3, 1, 1);
  EXPECT_EQ(error(spec), "");
  spec.groups = 2;
  EXPECT_NE(error(spec).find("2 groups"), std::string::npos);
  spec = Spec({2, 6, 7, 6}, 3, 1, 1);
  spec.filters = 12;
  EXPECT_NE(error(spec).find("12 filters"), std::string::npos);
  spec = Spec({2, 6, 7, 6}, 3, 1, 1);
  spec.epilogue.add = true;
  EXPECT_NE(error(spec).find("adds a tensor"), std::string::npos);
  EXPECT_NE(error(Spec({2, 2, 2, 6}, 3)).find("output height"), std::string::npos);
}

}  // namespace
}  // namespace dtnn
