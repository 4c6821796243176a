#include "optim/schedulers/polynomial.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

ScheduleStep At(int64_t step) { return {.step = step, .total_steps = 120}; }

TEST(PolynomialTest, IsALineUnlessToldOtherwise) {
  const Polynomial line({.floor = 0.2});
  EXPECT_EQ(line.Factor(At(0)), 1);
  EXPECT_NEAR(line.Factor(At(30)), 0.2 + 0.8 * 0.75, 1e-15);
  EXPECT_NEAR(line.Factor(At(90)), 0.2 + 0.8 * 0.25, 1e-15);
  EXPECT_EQ(line.Factor(At(120)), 0.2);
  EXPECT_EQ(line.Factor(At(121)), 0.2);
  EXPECT_EQ(line.Factor(At(1000)), 0.2);
}

TEST(PolynomialTest, HasAPower) {
  EXPECT_NEAR(Polynomial({.power = 2}).Factor(At(60)), 0.25, 1e-15);
  EXPECT_NEAR(Polynomial({.power = 0.5}).Factor(At(90)), 0.5, 1e-15);
  EXPECT_GT(Polynomial({.power = 2}).Factor(At(119)), 0) << "the last step still learns";
}

TEST(PolynomialTest, ARunOfUnknownLengthKeepsItsRate) {
  EXPECT_EQ(Polynomial().Factor({.step = 7}), 1);
}

}  // namespace
}  // namespace dtnn
