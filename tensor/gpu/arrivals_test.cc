#include "tensor/gpu/arrivals.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

struct AddTo {
  const uint8_t* x;
  uint8_t* sums;

  void Declare(int64_t n, Accesses& accesses) {
    accesses.Reads(x, n);
    accesses.Writes(sums, n);
  }
  void operator()(int64_t i) const { sums[i] = uint8_t(2 * sums[i] + x[i]); }
};

// Runs until it is let go.
std::atomic<bool> let_go = false;
struct Hold {
  uint8_t* x;

  void Declare(int64_t n, Accesses& accesses) { accesses.Writes(x, n); }
  void operator()(int64_t) const {
    while (!let_go) std::this_thread::yield();
  }
};

class ArrivalsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  uint8_t* Allocate(size_t bytes) { return static_cast<uint8_t*>(*gpu_->Allocate(bytes, "test")); }
  std::vector<uint8_t> Read(const uint8_t* device, size_t bytes) {
    void* const pinned = *gpu_->AllocatePinned(bytes, "test");
    EXPECT_EQ(user_->Copy(pinned, device, bytes), absl::OkStatus());
    EXPECT_EQ(user_->Synchronize(), absl::OkStatus());
    const std::vector<uint8_t> values(static_cast<uint8_t*>(pinned),
                                      static_cast<uint8_t*>(pinned) + bytes);
    EXPECT_EQ(gpu_->Free(pinned), absl::OkStatus());
    return values;
  }

  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver({.seed = GetParam()});
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> user_ = *gpu_->CreateStream("compute");
  std::unique_ptr<Stream> copies_ = *gpu_->CreateStream("copies");
};

// Eight arrivals, of which each kernel, run or replayed, sees its own.
TEST_P(ArrivalsTest, EveryKernelSeesWhatArrivedBeforeIt) {
  constexpr size_t kBytes = 100;
  const auto arrivals = *Arrivals::Create(*copies_, kBytes);
  uint8_t *const x = Allocate(kBytes), *const sums = Allocate(kBytes);
  ASSERT_EQ(user_->Fill(sums, 0, kBytes), absl::OkStatus());
  ASSERT_EQ(user_->BeginCapture(), absl::OkStatus());
  ASSERT_EQ(ForEach(*user_, "add", kBytes, AddTo{x, sums}), absl::OkStatus());
  const auto graph = *user_->EndCapture();
  std::vector<uint8_t> values(kBytes), expected(kBytes, 0);
  for (uint8_t round = 0; round < 8; ++round) {
    const size_t bytes = round % 3 == 0 ? kBytes : kBytes / 2;  // the rest stays
    std::iota(values.begin(), values.begin() + int64_t(bytes), round);
    std::vector<uint8_t> brought(values.begin(), values.begin() + int64_t(bytes));
    ASSERT_EQ(arrivals->Put(*user_, x, brought.data(), bytes), absl::OkStatus());
    std::ranges::fill(brought, 0);  // has been read
    ASSERT_EQ(round % 2 == 0 ? ForEach(*user_, "add", kBytes, AddTo{x, sums})
                             : user_->Replay(*graph),
              absl::OkStatus());
    for (size_t i = 0; i < kBytes; ++i) expected[i] = uint8_t(2 * expected[i] + values[i]);
  }
  EXPECT_EQ(Read(sums, kBytes), expected);
  EXPECT_EQ(gpu_->Free(x), absl::OkStatus());
  EXPECT_EQ(gpu_->Free(sums), absl::OkStatus());
}

// Two batches cross while the user is still at work with what it had.
TEST_P(ArrivalsTest, CrossesWhileTheUserComputes) {
  const auto arrivals = *Arrivals::Create(*copies_, 4);
  uint8_t* const x = Allocate(4);
  let_go = false;
  ASSERT_EQ(ForEach(*user_, "hold", 1, Hold{x}), absl::OkStatus());
  const uint8_t first[] = {1, 2, 3, 4}, second[] = {5, 6, 7, 8};
  ASSERT_EQ(arrivals->Put(*user_, x, first, 4), absl::OkStatus());
  ASSERT_EQ(copies_->Synchronize(), absl::OkStatus());  // would wait for ever
  ASSERT_EQ(arrivals->Put(*user_, x, second, 4), absl::OkStatus());
  let_go = true;
  EXPECT_EQ(Read(x, 4), (std::vector<uint8_t>{5, 6, 7, 8}));
  EXPECT_EQ(gpu_->Free(x), absl::OkStatus());
}

TEST_P(ArrivalsTest, RefusesMoreThanThereIsRoomFor) {
  const auto arrivals = *Arrivals::Create(*copies_, 4);
  uint8_t* const x = Allocate(5);
  const uint8_t values[5] = {};
  EXPECT_EQ(arrivals->Put(*user_, x, values, 5).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gpu_->Free(x), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ArrivalsTest, ::testing::Range<uint64_t>(1, 51));

}  // namespace
}  // namespace dtnn::gpu
