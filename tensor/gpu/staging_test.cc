#include "tensor/gpu/staging.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

struct Increment {
  uint8_t* x;

  void Declare(int64_t n, Accesses& accesses) { accesses.Writes(x, n); }
  void operator()(int64_t i) const { ++x[i]; }
};

class StagingTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver({.seed = GetParam()});
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> compute_ = *gpu_->CreateStream("compute");
};

// Through buffers of 64 bytes: nothing, less than one, whole ones, more than there are.
TEST_P(StagingTest, ThereAndBackAroundWork) {
  const auto staging = *Staging::Create(*gpu_, 64, 3);
  for (const size_t bytes : {0, 1, 63, 64, 65, 192, 193, 1000}) {
    std::vector<uint8_t> values(bytes), result(bytes);
    uint8_t* const device = static_cast<uint8_t*>(*gpu_->Allocate(bytes, "test"));
    for (uint8_t round = 0; round < 3; ++round) {
      std::iota(values.begin(), values.end(), round);
      ASSERT_EQ(staging->Upload(*compute_, device, values.data(), bytes), absl::OkStatus());
      const std::vector<uint8_t> expected = values;
      std::ranges::fill(values, 0);  // has been read
      ASSERT_EQ(ForEach(*compute_, "increment", int64_t(bytes), Increment{device}),
                absl::OkStatus());
      ASSERT_EQ(staging->Download(*compute_, result.data(), device, bytes), absl::OkStatus());
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(result[i], uint8_t(expected[i] + 1)) << i;
    }
    EXPECT_EQ(gpu_->Free(device), absl::OkStatus());
  }
}

TEST_P(StagingTest, NeedsABuffer) {
  EXPECT_EQ(Staging::Create(*gpu_, 0, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Staging::Create(*gpu_, 1, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StagingTest, ::testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace dtnn::gpu
