#include "kernels/peak/peak.h"

#include "gtest/gtest.h"
#include "kernels/amx/amx.h"

namespace dtnn {
namespace {

TEST(PeakTest, Float64IsAboutHalfOfFloat32) {
  // A scalar unit does both at the same rate. On a machine in use, one of the two may have had the
  // processor for a part of its time only.
  double ratio = 0;
  for (int attempt = 0; attempt < 20 && !(ratio > 0.5 && ratio < 4); ++attempt) {
    ratio = MeasureFmaPeakGflops(1, DType::kFloat32) / MeasureFmaPeakGflops(1, DType::kFloat64);
  }
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 4);
}

TEST(PeakTest, MoreThreadsThanCoresAreCappedNotRefused) {
  EXPECT_GT(MeasureFmaPeakGflops(100000, DType::kFloat32), 0);
  EXPECT_GT(MeasureFmaPeakGflops(0, DType::kFloat32), 0);
}

TEST(PeakTest, TilesMultiplyWhereThereAreTiles) {
  EXPECT_EQ(MeasureTilePeakGflops(1) > 0, AmxRefusal().empty());
  EXPECT_EQ(MeasureTilePeakGflops(100000) > 0, AmxRefusal().empty());
}

TEST(PeakTest, DotsMultiplyWhereThereAreDots) {
  EXPECT_EQ(MeasureDotPeakGflops(1) > 0, DotRefusal().empty());
  EXPECT_EQ(MeasureDotPeakGflops(100000) > 0, DotRefusal().empty());
}

TEST(PeakTest, CopyMovesBytes) { EXPECT_GT(MeasureCopyBandwidth(1), 0.01); }

}  // namespace
}  // namespace dtnn
