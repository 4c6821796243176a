#include "kernels/conv/conv2d.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/conv/reference.h"
#include "kernels/conv/testing/conv2d_cases.h"
#include "kernels/conv/testing/conv2d_runner.h"
#include "kernels/conv/testing/hard_specs.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using conv::Direction;
using testing::Close;
using testing::Conv2dRunner;
using testing::HardConv2dCases;
using testing::HardConv2dSpecs;
using testing::HasNaN;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::OnesTensor;
using testing::Pitched;
using testing::SumTolerance;

class Conv2dTest : public testing::Conv2dCaseTest {
 protected:
  double Tolerance(int64_t terms) const { return WalkTolerance(spec_.dtype, terms); }
  // The same for a variant that rounds more than a sum in order.
  double Tolerance(int64_t terms, Direction direction) {
    return Tolerance(terms) * std::max(1.0, ErrorOf(direction));
  }
  // Sums of products of integers of up to 3 are exact, unless the variant transforms them.
  double IntegerTolerance(int64_t terms, Direction direction) {
    return ErrorOf(direction) <= 1 ? 0 : 9 * Tolerance(terms, direction);
  }
  double IntegerTolerance(Direction direction) {
    switch (direction) {
      case Direction::kForward:
        return IntegerTolerance(Patch(), direction);
      case Direction::kBackwardData:
        return IntegerTolerance(BackwardPatch(), direction);
      case Direction::kBackwardFilter:
        break;
    }
    return IntegerTolerance(Pixels(), direction);
  }
};

TEST_P(Conv2dTest, ExactOnIntegers) {
  const Tensor x = Integers(spec_.InputShape(), 1), w = Integers(spec_.FilterShape(), 2);
  const Tensor dy = Integers(spec_.OutputShape(), 3);
  const auto y_expected = reference::Conv2dForward(spec_, Of(x), Of(w));
  const auto dx_expected = reference::Conv2dBackwardData(spec_, Of(dy), Of(w));
  const auto dw_expected = reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy));
  const auto dbias_expected = reference::Conv2dBackwardBias(spec_, Of(dy));
  Conv2dRunner runner(spec_, variants_);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const Tensor dw = Zeros(spec_.FilterShape()), dbias = Zeros({spec_.filters});
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), y_expected, IntegerTolerance(Direction::kForward)));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), dx_expected, IntegerTolerance(Direction::kBackwardData)));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(Close(Of(dw), dw_expected, IntegerTolerance(Direction::kBackwardFilter)));
  EXPECT_TRUE(Close(Of(dbias), dbias_expected, 0));
}

TEST_P(Conv2dTest, WithinRoundingOnRandomValues) {
  Conv2dRunner runner(spec_, variants_);
  const Tensor x = Random(spec_.InputShape(), 4), w = Random(spec_.FilterShape(), 5);
  const Tensor dy = Random(spec_.OutputShape(), 6);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const Tensor dw = Zeros(spec_.FilterShape()), dbias = Zeros({spec_.filters});
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), reference::Conv2dForward(spec_, Of(x), Of(w)),
                    Tolerance(Patch(), Direction::kForward)));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(w)),
                    Tolerance(spec_.filters / spec_.groups * Taps(), Direction::kBackwardData)));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(Close(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)),
                    Tolerance(Pixels(), Direction::kBackwardFilter)));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), Tolerance(Pixels())));
}

// <conv(x), y> = <x, conv'(y)> = <w, conv''(x, y)>.
TEST_P(Conv2dTest, GradientsAreAdjoint) {
  if (spec_.dtype != DType::kFloat64) return;
  Conv2dRunner runner(spec_, variants_);
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
  double error = 4;
  for (const Direction direction : conv::kDirections)
    error = std::max(error, 4 * ErrorOf(direction));
  const double tolerance = SumTolerance(spec_.dtype, Patch() * y.num_elements()) * error;
  EXPECT_NEAR(dot(x, dx), expected, tolerance);
  EXPECT_NEAR(dot(w, dw), expected, tolerance);
}

TEST_P(Conv2dTest, EveryEpilogueOnPitchedViews) {
  const Tensor x = Pitched(Integers(spec_.InputShape(), 10), spec_.format);
  const Tensor w = Integers(spec_.FilterShape(), 11);
  EpilogueOperands operands;
  operands.bias = Integers({spec_.filters}, 12);
  operands.scale = Integers({spec_.filters}, 13);
  const Tensor addend = Integers(spec_.OutputShape(), 14);
  const std::vector<double> sums = reference::Conv2dForward(spec_, Of(x), Of(w));
  for (int parts = 0; parts < 16; ++parts) {
    spec_.epilogue = {(parts & 1) != 0, (parts & 2) != 0, (parts & 4) != 0, (parts & 8) != 0};
    SCOPED_TRACE(spec_.ToString());
    // The addend may be y itself, or of another pitch.
    const Tensor y =
        Pitched(spec_.epilogue.scale ? addend : Zeros(spec_.OutputShape()), spec_.format);
    operands.addend = spec_.epilogue.scale ? y : addend;
    Conv2dRunner runner(spec_, variants_);
    runner.Forward(x, w, y, operands);
    const std::vector<double> expected =
        reference::ApplyEpilogue(spec_, sums, Of(operands.bias), Of(operands.scale), Of(addend));
    // The scales, of up to 3, scale errors too.
    const double tolerance = IntegerTolerance(Direction::kForward) * (spec_.epilogue.scale ? 3 : 1);
    EXPECT_TRUE(Close(Of(y), expected, tolerance));
  }
}

// One operand has NaNs, the others are ones.
TEST_P(Conv2dTest, NaNInAnyOperandComesOutOfEveryEpilogue) {
  for (const bool add : {false, true}) {
    spec_.epilogue = {.bias = true, .scale = true, .add = add, .relu = true};
    Conv2dRunner runner(spec_, variants_);
    for (int operand = 0; operand < (add ? 5 : 4); ++operand) {
      SCOPED_TRACE(operand);
      const auto make = [&](int number, const Shape& shape) {
        return number == operand ? NaNTensor(spec_.dtype, shape) : OnesTensor(spec_.dtype, shape);
      };
      const Tensor x = make(0, spec_.InputShape()), w = make(1, spec_.FilterShape());
      EpilogueOperands operands;
      operands.bias = make(2, {spec_.filters});
      operands.scale = make(3, {spec_.filters});
      operands.addend = make(4, spec_.OutputShape());
      const std::vector<double> expected =
          reference::ApplyEpilogue(spec_, reference::Conv2dForward(spec_, Of(x), Of(w)),
                                   Of(operands.bias), Of(operands.scale), Of(operands.addend));
      // Those of x may lie between the strides, and those of w at taps in the padding.
      if (operand < 2 && !HasNaN(expected)) continue;
      const Tensor y = Zeros(spec_.OutputShape());
      runner.Forward(x, w, y, operands);
      EXPECT_TRUE(KeepsNaN(Of(y), expected));
    }
  }
}

TEST_P(Conv2dTest, NaNComesOutOfGradients) {
  Conv2dRunner runner(spec_, variants_);
  const auto ones = [this](const Shape& shape) { return OnesTensor(spec_.dtype, shape); };
  const auto nans = [this](const Shape& shape) { return NaNTensor(spec_.dtype, shape); };
  const Shape in = spec_.InputShape(), out = spec_.OutputShape(), filter = spec_.FilterShape();
  const Tensor dx = Zeros(in), dw = Zeros(filter), dbias = Zeros({spec_.filters});
  for (const auto& [dy, w] : {std::pair(nans(out), ones(filter)), {ones(out), nans(filter)}}) {
    const auto expected = reference::Conv2dBackwardData(spec_, Of(dy), Of(w));
    if (!HasNaN(expected)) continue;  // those of dy saw nothing but padding
    runner.BackwardData(dy, w, dx);
    EXPECT_TRUE(KeepsNaN(Of(dx), expected));
  }
  for (const auto& [x, dy] : {std::pair(nans(in), ones(out)), {ones(in), nans(out)}}) {
    const auto expected = reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy));
    runner.BackwardFilter(x, dy, dw, dbias);
    if (HasNaN(expected)) {
      EXPECT_TRUE(KeepsNaN(Of(dw), expected));
    }
    if (HasNaN(Of(dy))) {
      EXPECT_TRUE(KeepsNaN(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy))));
    }
  }
}

TEST_P(Conv2dTest, GradientsAccumulateIntoPitchedViews) {
  Conv2dRunner runner(spec_, variants_);
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
  EXPECT_TRUE(Close(Of(dx), dx_expected, IntegerTolerance(Direction::kBackwardData)));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(w)),
                    IntegerTolerance(Direction::kBackwardData)));
  runner.BackwardFilter(x, dy, dw, dbias, true);
  EXPECT_TRUE(Close(Of(dw), dw_expected, IntegerTolerance(Direction::kBackwardFilter)));
  EXPECT_TRUE(Close(Of(dbias), dbias_expected, 0));
  runner.BackwardFilter(x, dy, dw, dbias, false);
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), 0));
}

TEST_P(Conv2dTest, SameBitsOnAnyNumberOfThreads) {
  const Tensor x = Random(spec_.InputShape(), 21), w = Random(spec_.FilterShape(), 22);
  const Tensor dy = Random(spec_.OutputShape(), 23);
  const int before = NumThreads();
  std::vector<std::vector<double>> first;
  for (const auto& [made_with, run_with] :
       {std::pair(1, 1), std::pair(2, 2), std::pair(4, 4), std::pair(4, 2), std::pair(2, 4)}) {
    SetNumThreads(made_with);
    Conv2dRunner runner(spec_, variants_);
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
  Conv2dRunner runner(larger, variants_);
  const Tensor x = Integers(spec_.InputShape(), 24), w = Integers(spec_.FilterShape(), 25);
  const Tensor dy = Integers(spec_.OutputShape(), 26);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const Tensor dw = Zeros(spec_.FilterShape()), dbias = Zeros({spec_.filters});
  runner.Forward(x, w, y);
  EXPECT_TRUE(Close(Of(y), reference::Conv2dForward(spec_, Of(x), Of(w)),
                    IntegerTolerance(Direction::kForward)));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(Close(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(w)),
                    IntegerTolerance(Direction::kBackwardData)));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(Close(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)),
                    IntegerTolerance(Direction::kBackwardFilter)));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), 0));
}

TEST_P(Conv2dTest, AFilterThatIsNotKeptIsPackedInTheWorkspace) {
  Conv2dRunner keeps(spec_, variants_, {.keeps_filter = true});
  Conv2dRunner packs(spec_, variants_, {.keeps_filter = false});
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
  Conv2dRunner runner(spec_, variants_);
  const Tensor x = Integers(spec_.InputShape(), 27), dy = Integers(spec_.OutputShape(), 28);
  const Tensor old_w = Integers(spec_.FilterShape(), 29), w = Integers(spec_.FilterShape(), 30);
  const Tensor y = Zeros(spec_.OutputShape()), dx = Zeros(spec_.InputShape());
  const auto expect = [&](const Tensor& filter) {
    EXPECT_TRUE(Close(Of(y), reference::Conv2dForward(spec_, Of(x), Of(filter)),
                      IntegerTolerance(Direction::kForward)));
    EXPECT_TRUE(Close(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(filter)),
                      IntegerTolerance(Direction::kBackwardData)));
  };
  const auto run = [&](const Tensor& filter, uint64_t version) {
    runner.Forward(x, filter, y, {}, version);
    runner.BackwardData(dy, filter, dx, false, version);
  };
  run(old_w, 7);
  expect(old_w);
  run(w, 8);
  expect(w);
  run(old_w, 7);  // lower, but another
  expect(old_w);
  run(w, 0);  // unknown: always read
  expect(w);
  run(old_w, 0);
  expect(old_w);
}

// Every kind of hard size meets every variant in every direction, unless the variant refuses the
// kind: so a change of what a variant computes cannot leave it without a test.
TEST(Conv2dCoverageTest, EveryKindOfSizeMeetsEveryVariantThatComputesIt) {
  struct Kind {
    std::string_view name;
    bool (*is)(const Conv2dSpec&);
    std::vector<std::string_view> refused_by;
  };
  const Kind kinds[] = {
      {"images of one pixel",
       [](const Conv2dSpec& s) { return s.height == 1 && s.width == 1; },
       {"direct"}},
      {"results of one pixel",
       [](const Conv2dSpec& s) { return s.out_height() == 1 && s.out_width() == 1; },
       {"direct"}},
      {"padding larger than the image",
       [](const Conv2dSpec& s) {
         return s.padding.vertical > s.height && s.padding.horizontal > s.width;
       },
       {}},
      {"a stride larger than the kernel",
       [](const Conv2dSpec& s) { return s.stride.vertical > s.kernel.vertical; },
       {"direct", "winograd"}},
      {"dilation", [](const Conv2dSpec& s) { return s.dilation != Pair(1); }, {"winograd"}},
      {"several groups", [](const Conv2dSpec& s) { return s.groups > 1; }, {}},
      {"filters in the order of NCHW",
       [](const Conv2dSpec& s) { return s.filter_format == TensorFormat::kNCHW; },
       {}},
      {"one channel", [](const Conv2dSpec& s) { return s.channels == 1; }, {}},
      {"many images", [](const Conv2dSpec& s) { return s.batch >= 5; }, {}},
  };
  for (const std::string_view variant : Conv2dVariantNames()) {
    // They compute bfloat16 alone: conv2d_bfloat16_test.cc.
    if (variant == "amx" || variant == "dot") continue;
    for (const Direction direction : conv::kDirections) {
      for (const Kind& kind : kinds) {
        const bool met = std::ranges::any_of(HardConv2dSpecs(), [&](const Conv2dSpec& spec) {
          return kind.is(spec) && Conv2dRefusal(variant, spec, direction).empty();
        });
        const bool refused = std::ranges::find(kind.refused_by, variant) != kind.refused_by.end();
        EXPECT_EQ(met, !refused) << variant << ", " << conv::Name(direction) << ", " << kind.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nasty, Conv2dTest,
                         ::testing::ValuesIn(HardConv2dCases({DType::kFloat32, DType::kFloat64})),
                         testing::NameOf);

}  // namespace
}  // namespace dtnn
