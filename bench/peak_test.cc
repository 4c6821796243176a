#include "bench/peak.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(PeakTest, Float64IsAboutHalfOfFloat32) {
  const double f32 = MeasureFmaPeakGflops(1, DType::kFloat32);
  const double f64 = MeasureFmaPeakGflops(1, DType::kFloat64);
  ASSERT_GT(f64, 0);
  // A scalar unit does both at the same rate; a disturbed run may be off by some tenths.
  EXPECT_GT(f32 / f64, 0.5);
  EXPECT_LT(f32 / f64, 4);
}

TEST(PeakTest, MoreThreadsThanCoresAreCappedNotRefused) {
  EXPECT_GT(MeasureFmaPeakGflops(100000, DType::kFloat32), 0);
  EXPECT_GT(MeasureFmaPeakGflops(0, DType::kFloat32), 0);
}

TEST(PeakTest, CopyMovesBytes) { EXPECT_GT(MeasureCopyBandwidth(1), 0.01); }

}  // namespace
}  // namespace dtnn
