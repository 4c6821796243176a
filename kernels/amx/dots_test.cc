#include "kernels/amx/dots.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"
#include "kernels/amx/testing/hard_numbers.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

using testing::Bits;

// A block of products over three steps, the operands of which are not in order.
struct Problem {
  int64_t rows, pairs;
  int panels;
  bool add;
  std::vector<Bfloat16> a = std::vector<Bfloat16>(64 * kPitch);
  std::vector<Bfloat16> b = std::vector<Bfloat16>(2 * kPanel);
  std::vector<float> sums = std::vector<float>(64 * 32);

  static constexpr int64_t kPitch = 101, kPanel = 3 * 32 * 16;
  static constexpr tile::Step kSteps[] = {{3, 0}, {68, 2 * 32 * 16}, {32, 32 * 16}};

  tile::DotBlock Block(float* to) const {
    return {.a = a.data(),
            .a_pitch = kPitch * int64_t(sizeof(Bfloat16)),
            .b = b.data(),
            .b_pitch = kPanel,
            .steps = kSteps,
            .step_count = 3,
            .pairs = pairs,
            .rows = rows,
            .panels = panels,
            .add = add,
            .sums = to};
  }
  std::vector<float> Plainly() const {
    std::vector<float> to = sums;
    MultiplyDotsPlainly(Block(to.data()));
    return to;
  }
};

template <class Test>
void ForEachSize(const Test& test) {
  for (const int64_t rows : {1, 2, 13, 14, 15, 16, 17, 28, 29, 32, 33, 64}) {
    for (const int64_t pairs : {1, 2, 7, 16}) {
      for (const int panels : {1, 2}) {
        for (const bool add : {false, true}) {
          SCOPED_TRACE(::testing::Message() << rows << " rows, " << pairs << " pairs, " << panels
                                            << " panels" << (add ? ", added" : ""));
          test(Problem{rows, pairs, panels, add});
        }
      }
    }
  }
}

TEST(EmulatedDotsTest, SumsOfIntegersAreThoseOfTheDefinition) {
  const Philox random(1, StreamId(RandomPurpose::kTest));
  ForEachSize([&](Problem p) {
    const auto integer = [&](uint64_t i) { return float(int(random.Below(i, 9)) - 4); };
    for (size_t i = 0; i < p.a.size(); ++i) p.a[i] = Bfloat16(integer(2 * i));
    for (size_t i = 0; i < p.b.size(); ++i) p.b[i] = Bfloat16(integer(2 * i + 1));
    for (size_t i = 0; i < p.sums.size(); ++i) p.sums[i] = integer(3 * i);
    const std::vector<float> sums = p.Plainly();
    const int64_t columns = 16 * p.panels;
    for (int64_t at = 0; at < int64_t(sums.size()); ++at) {
      const int64_t i = at / columns, j = at % columns;
      float expected = p.add || i >= p.rows ? p.sums[size_t(at)] : 0;
      for (const tile::Step& step : Problem::kSteps) {
        for (int64_t k = 0; i < p.rows && k < 2 * p.pairs; ++k) {
          expected += float(p.a[size_t(i * Problem::kPitch + step.rows + k)]) *
                      float(p.b[size_t(j / 16 * Problem::kPanel + step.columns + k / 2 * 32 +
                                       j % 16 * 2 + k % 2)]);
        }
      }
      ASSERT_EQ(sums[size_t(at)], expected) << i << ", " << j;
    }
  });
}

// In the other order the sum would lose the 1.
TEST(EmulatedDotsTest, TheSecondProductOfAPairIsAddedFirst) {
  Problem p{.rows = 1, .pairs = 1, .panels = 1, .add = true};
  p.a[3] = Bfloat16(1), p.a[4] = Bfloat16(1);
  p.b[0] = Bfloat16(1), p.b[1] = Bfloat16(0x1p30f);
  p.sums[0] = -0x1p30f;
  EXPECT_EQ(p.Plainly()[0], 1);
}

TEST(EmulatedDotsTest, DenormalNumbersCountAsZeroAndNaNStays) {
  Problem p{.rows = 1, .pairs = 1, .panels = 1, .add = true};
  p.a[3] = Bfloat16(1e-39), p.a[4] = Bfloat16(1e-20);
  p.b[0] = Bfloat16(1e38);       // times a denormal number
  p.b[2 + 1] = Bfloat16(1e-20);  // a denormal product
  p.sums[2] = 1e-40f;
  p.sums[3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> sums = p.Plainly();
  EXPECT_EQ(sums[0], 0);
  EXPECT_EQ(sums[1], 0);
  EXPECT_EQ(sums[2], 0);
  EXPECT_TRUE(std::isnan(sums[3]));
}

TEST(HardwareDotsTest, EmulationGivesTheSameBits) {
  if (!DotRefusal().empty()) GTEST_SKIP() << DotRefusal();
  uint64_t seed = 0;
  for (int kind = 0; kind < testing::kNumberKinds; ++kind) {
    ForEachSize([&](Problem p) {
      testing::FillHard(kind, ++seed, p.a);
      testing::FillHard(kind, ++seed, p.b);
      testing::FillHardSums(kind, ++seed, p.sums);
      const std::vector<float> emulated = p.Plainly();
      MultiplyDotsInVectors(p.Block(p.sums.data()));
      for (size_t i = 0; i < emulated.size(); ++i) {
        ASSERT_EQ(Bits(p.sums[i]), Bits(emulated[i])) << "kind " << kind << ", element " << i;
      }
    });
  }
}

// Sums that round to the smallest normal number from below, with and without a limit of exponents.
TEST(HardwareDotsTest, EmulationKnowsWhichSumsAreDenormal) {
  if (!DotRefusal().empty()) GTEST_SKIP() << DotRefusal();
  int flushed = 0, kept = 0;
  for (const size_t of_pair : {0, 1}) {
    for (int step = 1; step <= 64; ++step) {
      Problem p{.rows = 1, .pairs = 1, .panels = 1, .add = true};
      p.a[3 + of_pair] = Bfloat16(-0x1p-75f), p.b[of_pair] = Bfloat16(float(step) * 0x1p-79f);
      p.sums[0] = std::numeric_limits<float>::min();
      const float emulated = p.Plainly()[0];
      MultiplyDotsInVectors(p.Block(p.sums.data()));
      EXPECT_EQ(Bits(p.sums[0]), Bits(emulated)) << step;
      (emulated == 0 ? flushed : kept)++;
    }
  }
  EXPECT_GT(flushed, 0);
  EXPECT_GT(kept, 0);
}

}  // namespace
}  // namespace dtnn
