// Convolutions of bfloat16 on CPUs: whatever computes, the sums are float32 and a result is rounded
// once. Operands are numbers of bfloat16, so that the reference has the same ones.

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
#include "kernels/conv/conv2d.h"
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
using testing::Conv2dCase;
using testing::Conv2dRunner;
using testing::HardConv2dCases;
using testing::HardConv2dSpecs;
using testing::IntegerTensor;
using testing::OnesTensor;
using testing::Pitched;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

constexpr DType kHalf = DType::kBfloat16, kFloat = DType::kFloat32;

std::vector<double> Rounded(std::vector<double> values) {
  for (double& value : values) value = double(Bfloat16(float(value)));
  return values;
}

class Conv2dBfloat16Test : public testing::Conv2dCaseTest {
 protected:
  // The error of a float32 sum of products of numbers up to `size`. A sum in pairs, as in tiles,
  // rounds no more than one in order.
  double SumError(int64_t terms, Direction direction, double size = 1) const {
    return size * size * WalkTolerance(kFloat, terms) * std::max(1.0, ErrorOf(direction));
  }
  // What was rounded to bfloat16 once: half of the last of 8 bits, and as much more where the error
  // of the sum decides a tie.
  ::testing::AssertionResult CloseRounded(const Tensor& actual, const std::vector<double>& expected,
                                          double sum_error) const {
    return Close(Of(actual), expected, sum_error * (1 + 0x1p-7), 0x1p-8 * (1 + 0x1p-7));
  }
  // Whether sums of small integers are exact.
  bool Exact(Direction direction) const { return ErrorOf(direction) <= 1; }
};

TEST_P(Conv2dBfloat16Test, ExactOnIntegersButForOneRounding) {
  Conv2dRunner runner(spec_, variants_);
  const Tensor x = Integers(spec_.InputShape(), 1), w = Integers(spec_.FilterShape(), 2);
  const Tensor dy = Integers(spec_.OutputShape(), 3);
  const Tensor y = ZeroTensor(kHalf, spec_.OutputShape()),
               dx = ZeroTensor(kHalf, spec_.InputShape());
  const Tensor dw = ZeroTensor(kFloat, spec_.FilterShape());
  const Tensor dbias = ZeroTensor(kFloat, {spec_.filters});
  const auto y_sums = reference::Conv2dForward(spec_, Of(x), Of(w));
  const auto dx_sums = reference::Conv2dBackwardData(spec_, Of(dy), Of(w));
  const auto dw_sums = reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy));
  runner.Forward(x, w, y);
  runner.BackwardData(dy, w, dx);
  runner.BackwardFilter(x, dy, dw, dbias);
  if (Exact(Direction::kForward)) {
    EXPECT_TRUE(Close(Of(y), Rounded(y_sums), 0));
  } else {
    EXPECT_TRUE(CloseRounded(y, y_sums, SumError(Patch(), Direction::kForward, 3)));
  }
  if (Exact(Direction::kBackwardData)) {
    EXPECT_TRUE(Close(Of(dx), Rounded(dx_sums), 0));
  } else {
    EXPECT_TRUE(CloseRounded(dx, dx_sums, SumError(BackwardPatch(), Direction::kBackwardData, 3)));
  }
  EXPECT_TRUE(Close(
      Of(dw), dw_sums,
      Exact(Direction::kBackwardFilter) ? 0 : SumError(Pixels(), Direction::kBackwardFilter, 3)));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)), 0));
}

TEST_P(Conv2dBfloat16Test, WithinRoundingOnRandomValues) {
  Conv2dRunner runner(spec_, variants_);
  const Tensor x = RandomTensor(kHalf, spec_.InputShape(), 4);
  const Tensor w = RandomTensor(kHalf, spec_.FilterShape(), 5);
  const Tensor dy = RandomTensor(kHalf, spec_.OutputShape(), 6);
  const Tensor y = ZeroTensor(kHalf, spec_.OutputShape()),
               dx = ZeroTensor(kHalf, spec_.InputShape());
  const Tensor dw = ZeroTensor(kFloat, spec_.FilterShape());
  const Tensor dbias = ZeroTensor(kFloat, {spec_.filters});
  runner.Forward(x, w, y);
  EXPECT_TRUE(CloseRounded(y, reference::Conv2dForward(spec_, Of(x), Of(w)),
                           SumError(Patch(), Direction::kForward)));
  runner.BackwardData(dy, w, dx);
  EXPECT_TRUE(CloseRounded(dx, reference::Conv2dBackwardData(spec_, Of(dy), Of(w)),
                           SumError(BackwardPatch(), Direction::kBackwardData)));
  runner.BackwardFilter(x, dy, dw, dbias);
  EXPECT_TRUE(Close(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)),
                    SumError(Pixels(), Direction::kBackwardFilter)));
  EXPECT_TRUE(Close(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)),
                    SumError(Pixels(), Direction::kBackwardFilter)));
}

TEST_P(Conv2dBfloat16Test, EveryEpilogueOnPitchedViews) {
  const Tensor x = Pitched(Integers(spec_.InputShape(), 10), spec_.format);
  const Tensor w = Integers(spec_.FilterShape(), 11);
  EpilogueOperands operands;
  operands.bias = IntegerTensor(kFloat, {spec_.filters}, 12, 3);
  operands.scale = IntegerTensor(kFloat, {spec_.filters}, 13, 3);
  const Tensor addend = Integers(spec_.OutputShape(), 14);
  const std::vector<double> sums = reference::Conv2dForward(spec_, Of(x), Of(w));
  for (int parts = 0; parts < 16; ++parts) {
    spec_.epilogue = {(parts & 1) != 0, (parts & 2) != 0, (parts & 4) != 0, (parts & 8) != 0};
    SCOPED_TRACE(spec_.ToString());
    // The addend may be y itself, or of another pitch.
    const Tensor y =
        Pitched(parts % 2 == 0 ? addend : ZeroTensor(kHalf, spec_.OutputShape()), spec_.format);
    operands.addend = parts % 2 == 0 ? y : addend;
    Conv2dRunner(spec_, variants_).Forward(x, w, y, operands);
    const std::vector<double> expected =
        reference::ApplyEpilogue(spec_, sums, Of(operands.bias), Of(operands.scale), Of(addend));
    if (Exact(Direction::kForward)) {
      EXPECT_TRUE(Close(Of(y), Rounded(expected), 0));
    } else {
      EXPECT_TRUE(CloseRounded(y, expected, 3 * SumError(Patch(), Direction::kForward, 3)));
    }
  }
}

TEST_P(Conv2dBfloat16Test, GradientsAccumulateIntoPitchedViews) {
  Conv2dRunner runner(spec_, variants_);
  const Tensor x = Pitched(Integers(spec_.InputShape(), 15), spec_.format);
  const Tensor dy = Pitched(Integers(spec_.OutputShape(), 16), spec_.format);
  const Tensor w = Integers(spec_.FilterShape(), 17);
  const Tensor dx = Pitched(Integers(spec_.InputShape(), 18), spec_.format);
  const Tensor dw = IntegerTensor(kFloat, spec_.FilterShape(), 19, 3);
  const Tensor dbias = IntegerTensor(kFloat, {spec_.filters}, 20, 3);
  const auto plus = [](std::vector<double> a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  const auto dx_sums = plus(Of(dx), reference::Conv2dBackwardData(spec_, Of(dy), Of(w)));
  const auto dw_sums = plus(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)));
  const auto dbias_sums = plus(Of(dbias), reference::Conv2dBackwardBias(spec_, Of(dy)));
  runner.BackwardData(dy, w, dx, true);
  if (Exact(Direction::kBackwardData)) {
    EXPECT_TRUE(Close(Of(dx), Rounded(dx_sums), 0));
  } else {
    EXPECT_TRUE(CloseRounded(dx, dx_sums, SumError(BackwardPatch(), Direction::kBackwardData, 3)));
  }
  runner.BackwardFilter(x, dy, dw, dbias, true);
  EXPECT_TRUE(Close(
      Of(dw), dw_sums,
      Exact(Direction::kBackwardFilter) ? 0 : SumError(Pixels(), Direction::kBackwardFilter, 3)));
  EXPECT_TRUE(Close(Of(dbias), dbias_sums, 0));
}

// A number that is not finite reaches the results that it is a factor of, and no others: padding,
// and what fills up a tile, is never multiplied with it.
TEST_P(Conv2dBfloat16Test, InfinityAndNaNStayWhereTheyBelong) {
  Conv2dRunner runner(spec_, variants_);
  if (std::get<0>(GetParam()) == "winograd") return;  // its transforms mix pixels
  for (const double special : {double(INFINITY), double(NAN)}) {
    for (const int64_t part : {0, 1, 2}) {
      const auto with_special = [&](const Shape& shape) {
        std::vector<double> values(size_t(shape.NumElements()), 1.0);
        values[size_t((int64_t(values.size()) - 1) * part / 2)] = special;
        return testing::TensorOf(kHalf, shape, values);
      };
      const Tensor x = with_special(spec_.InputShape()), dy = with_special(spec_.OutputShape());
      const Tensor w = OnesTensor(kHalf, spec_.FilterShape());
      const Tensor y = ZeroTensor(kHalf, spec_.OutputShape());
      const Tensor dx = ZeroTensor(kHalf, spec_.InputShape());
      const auto expect_same_kind = [&](const Tensor& actual, const std::vector<double>& expected) {
        const std::vector<double> values = Of(actual);
        for (size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(std::isfinite(values[i]), std::isfinite(expected[i])) << i;
          ASSERT_EQ(std::isnan(values[i]), std::isnan(expected[i])) << i;
        }
      };
      runner.Forward(x, w, y);
      expect_same_kind(y, reference::Conv2dForward(spec_, Of(x), Of(w)));
      runner.BackwardData(dy, w, dx);
      expect_same_kind(dx, reference::Conv2dBackwardData(spec_, Of(dy), Of(w)));
    }
  }
}

TEST_P(Conv2dBfloat16Test, SameBitsOnAnyNumberOfThreads) {
  const Tensor x = RandomTensor(kHalf, spec_.InputShape(), 21);
  const Tensor w = RandomTensor(kHalf, spec_.FilterShape(), 22);
  const Tensor dy = RandomTensor(kHalf, spec_.OutputShape(), 23);
  const int before = NumThreads();
  std::vector<std::vector<double>> first;
  for (const auto& [made_with, run_with] : {std::pair(1, 1), std::pair(2, 4), std::pair(4, 2)}) {
    SetNumThreads(made_with);
    Conv2dRunner runner(spec_, variants_);
    SetNumThreads(run_with);
    const Tensor y = ZeroTensor(kHalf, spec_.OutputShape());
    const Tensor dx = ZeroTensor(kHalf, spec_.InputShape());
    const Tensor dw = ZeroTensor(kFloat, spec_.FilterShape());
    const Tensor dbias = ZeroTensor(kFloat, {spec_.filters});
    runner.Forward(x, w, y);
    runner.BackwardData(dy, w, dx);
    runner.BackwardFilter(x, dy, dw, dbias);
    const std::vector<std::vector<double>> now = {Of(y), Of(dx), Of(dw), Of(dbias)};
    if (first.empty()) first = now;
    EXPECT_TRUE(now == first) << "made with " << made_with << ", run with " << run_with;
  }
  SetNumThreads(before);
}

TEST_P(Conv2dBfloat16Test, RunsASmallerBatchAndRenewsAFilterWithItsVersion) {
  Conv2dSpec larger = spec_;
  larger.batch = spec_.batch + 17;
  Conv2dRunner keeps(larger, variants_, {.keeps_filter = true});
  Conv2dRunner packs(larger, variants_, {.keeps_filter = false});
  const Tensor x = Integers(spec_.InputShape(), 24), dy = Integers(spec_.OutputShape(), 26);
  for (const uint64_t version : {3, 4}) {
    const Tensor w = Integers(spec_.FilterShape(), 25 + version);
    for (Conv2dRunner* runner : {&keeps, &packs}) {
      const Tensor y = ZeroTensor(kHalf, spec_.OutputShape());
      const Tensor dx = ZeroTensor(kHalf, spec_.InputShape());
      runner->Forward(x, w, y, {}, version);
      EXPECT_TRUE(CloseRounded(y, reference::Conv2dForward(spec_, Of(x), Of(w)),
                               SumError(Patch(), Direction::kForward, 3)));
      runner->BackwardData(dy, w, dx, false, version);
      EXPECT_TRUE(CloseRounded(dx, reference::Conv2dBackwardData(spec_, Of(dy), Of(w)),
                               SumError(BackwardPatch(), Direction::kBackwardData, 3)));
    }
    const Tensor dw = ZeroTensor(kFloat, spec_.FilterShape());
    keeps.BackwardFilter(x, dy, dw, Tensor());
    EXPECT_TRUE(Close(Of(dw), reference::Conv2dBackwardFilter(spec_, Of(x), Of(dy)),
                      SumError(Pixels(), Direction::kBackwardFilter, 3)));
  }
}

// The variant of most specs, and those with kernels for bfloat16, on all specs in both formats. The
// others compute with float32 within the same copies as gemm: enough that it reaches them.
std::vector<Conv2dCase> Cases() {
  std::vector<Conv2dCase> cases = HardConv2dCases({kHalf});
  std::map<std::string_view, int> met;
  std::erase_if(cases, [&](const Conv2dCase& each) {
    const std::string_view variant = each.first;
    return variant != "gemm" && variant != "depthwise" && variant != "dot" && variant != "amx" &&
           met[variant]++ % 8 != 0;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Hard, Conv2dBfloat16Test, ::testing::ValuesIn(Cases()), testing::NameOf);

// Where the CPU has the instructions, of any size.
TEST(Conv2dBfloat16CoverageTest, TilesAndDotsComputeEveryHardSize) {
  for (const auto& [variant, refusal] : {std::pair("amx", AmxRefusal()), {"dot", DotRefusal()}}) {
    for (Conv2dSpec spec : HardConv2dSpecs()) {
      spec.dtype = kHalf;
      for (const Direction direction : conv::kDirections) {
        EXPECT_EQ(Conv2dRefusal(variant, spec, direction), refusal);
      }
      spec.dtype = kFloat;
      EXPECT_EQ(Conv2dRefusal(variant, spec, Direction::kForward), "computes bfloat16 only");
    }
  }
}

// Images in several chunks of the copies, the last of them smaller.
TEST(Conv2dBfloat16ChunksTest, GradientOfTheFilterAddsAllOfThem) {
  Conv2dSpec spec;
  spec.batch = 5, spec.height = spec.width = 64, spec.channels = 40, spec.filters = 24;
  spec.padding = 1;
  spec.dtype = kHalf;
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    spec.format = format;
    Conv2dRunner runner(spec, "gemm");
    const Tensor x = IntegerTensor(kHalf, spec.InputShape(), 1, 1);
    const Tensor dy = IntegerTensor(kHalf, spec.OutputShape(), 2, 1);
    const Tensor dw = ZeroTensor(kFloat, spec.FilterShape());
    runner.BackwardFilter(x, dy, dw, Tensor());
    EXPECT_TRUE(Close(Values(dw), reference::Conv2dBackwardFilter(spec, Values(x), Values(dy)), 0));
    // Several blocks of each image, in the same bits: these sums are exact.
    const Tensor w = IntegerTensor(kHalf, spec.FilterShape(), 3, 1);
    const Tensor y = ZeroTensor(kHalf, spec.OutputShape()),
                 dx = ZeroTensor(kHalf, spec.InputShape());
    runner.Forward(x, w, y);
    runner.BackwardData(dy, w, dx);
    for (const char* variant : {"amx", "dot"}) {
      if (!Conv2dRefusal(variant, spec, Direction::kForward).empty()) continue;
      const Tensor y_tiles = ZeroTensor(kHalf, spec.OutputShape());
      const Tensor dx_tiles = ZeroTensor(kHalf, spec.InputShape());
      const Tensor dw_tiles = ZeroTensor(kFloat, spec.FilterShape());
      Conv2dRunner in_tiles(spec, variant);
      in_tiles.BackwardFilter(x, dy, dw_tiles, Tensor());
      EXPECT_EQ(Values(dw_tiles), Values(dw));
      in_tiles.Forward(x, w, y_tiles);
      in_tiles.BackwardData(dy, w, dx_tiles);
      EXPECT_EQ(Values(y_tiles), Values(y));
      EXPECT_EQ(Values(dx_tiles), Values(dx));
    }
  }
}

TEST(Conv2dBfloat16RefusalTest, Float16IsForGpus) {
  Conv2dSpec spec;
  spec.batch = spec.height = spec.width = spec.channels = spec.filters = 3;
  spec.dtype = DType::kFloat16;
  const auto context = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(CreateConv2d(*context, spec).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
