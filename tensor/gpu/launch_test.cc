#include "tensor/gpu/launch.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kSeeds = 8;
// Around warps, blocks, and what the largest grid has threads for.
constexpr int64_t kSizes[] = {1, 31, 32, 33, 255, 256, 257, 1000, (1 << 24) + 5};

struct Doubled {
  const int32_t* x;
  int32_t* y;

  void Declare(int64_t n, Accesses& accesses) {
    accesses.Reads(x, n);
    accesses.Writes(y, n);
  }
  DTNN_HOST_DEVICE void operator()(int64_t i) const { y[i] = 2 * x[i]; }
};

// A sum per row of 40 columns, and the value of lane 3 everywhere.
struct RowSum {
  static constexpr int64_t kColumns = 40;
  const double* x;
  double *sums, *thirds;

  void Declare(int64_t rows, Accesses& accesses) {
    accesses.Reads(x, rows * kColumns);
    accesses.Writes(sums, rows);
    accesses.Writes(thirds, rows * kWarpSize);
  }
  template <class Warp>
  DTNN_HOST_DEVICE void operator()(int64_t row, Warp warp) const {
    double sum = 0;
    for (int64_t j = warp.lane(); j < kColumns; j += warp.size()) sum += x[row * kColumns + j];
    const double total = warp.Sum(sum), most = warp.Max(sum);
    thirds[row * kWarpSize + warp.lane()] = warp.Shuffle(sum, 3) + 1000 * most;
    if (warp.lane() == 31) sums[row] = total;
  }
};

// Reverses each block's elements through shared memory.
template <bool with_barrier>
struct Reversed {
  static constexpr uint32_t kThreads = 96;
  static constexpr Cooperation kCooperation = Cooperation::kBlock;
  float* x;
  int64_t n;  // a multiple of kThreads

  void Declare(Accesses& accesses) { accesses.Writes(x, n); }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    float* const shared = thread.template Shared<float>();
    const uint32_t own = thread.thread_index().x;
    shared[own] = x[thread.grid_index()];
    if (with_barrier) thread.Barrier();
    x[thread.grid_index()] = shared[kThreads - 1 - own];
  }
};

// Each block writes its number; the last adds all.
struct LastAdds {
  static constexpr uint32_t kThreads = 64;
  static constexpr Cooperation kCooperation = Cooperation::kBlock;
  uint32_t blocks;
  double *numbers, *sums;
  uint32_t* arrived;

  void Declare(Accesses& accesses) {
    accesses.Writes(numbers, blocks);
    accesses.Writes(sums, kThreads);
    accesses.Writes(arrived, 1);
  }
  template <class Thread>
  DTNN_HOST_DEVICE void operator()(const Thread& thread) const {
    const uint32_t own = thread.thread_index().x;
    if (own == kThreads - 1) numbers[thread.block_index().x] = thread.block_index().x;
    if (!thread.IsLast(arrived, blocks)) return;
    for (uint32_t i = 0; i < blocks; ++i) sums[own] += LoadOfOthers(numbers + i);
  }
};

class LaunchTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  template <typename T>
  T* Device(int64_t count) {
    return static_cast<T*>(*gpu_->Allocate(size_t(count) * sizeof(T), "test"));
  }
  template <typename T>
  T* Put(const std::vector<T>& values) {
    T* const device = Device<T>(int64_t(values.size()));
    T* const pinned = static_cast<T*>(*gpu_->AllocatePinned(values.size() * sizeof(T), "put"));
    std::ranges::copy(values, pinned);
    EXPECT_EQ(stream_->Copy(device, pinned, values.size() * sizeof(T)), absl::OkStatus());
    EXPECT_EQ(gpu_->Free(pinned), absl::OkStatus());
    return device;
  }
  template <typename T>
  std::vector<T> Get(const T* device, int64_t count) {
    const size_t bytes = size_t(count) * sizeof(T);
    T* const pinned = static_cast<T*>(*gpu_->AllocatePinned(bytes, "get"));
    EXPECT_EQ(stream_->Copy(pinned, device, bytes), absl::OkStatus());
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
    std::vector<T> values(pinned, pinned + count);
    EXPECT_EQ(gpu_->Free(pinned), absl::OkStatus());
    return values;
  }

  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver({.seed = GetParam()});
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> stream_ = *gpu_->CreateStream("main");
};

TEST_P(LaunchTest, EveryElementOnce) {
  for (const int64_t n : kSizes) {
    if (n > 1000 && GetParam() > 1) continue;  // takes its time
    std::vector<int32_t> x(static_cast<size_t>(n), 0);
    for (int64_t i = 0; i < n; ++i) x[size_t(i)] = int32_t(i);
    int32_t *const device = Put(x), *const y = Device<int32_t>(n);
    ASSERT_EQ(ForEach(*stream_, "double", n, Doubled{device, y}), absl::OkStatus());
    // In place: a second time for one element would show.
    ASSERT_EQ(ForEach(*stream_, "double", n, Doubled{y, y}), absl::OkStatus());
    const std::vector<int32_t> result = Get(y, n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(result[size_t(i)], 4 * i) << n;
    EXPECT_EQ(gpu_->Free(device), absl::OkStatus());
    EXPECT_EQ(gpu_->Free(y), absl::OkStatus());
  }
}

TEST_P(LaunchTest, LanesOfAWarpExchangeValues) {
  for (const int64_t rows : {1, 7, 8, 9, 100}) {
    std::vector<double> x(size_t(rows * RowSum::kColumns));
    for (size_t i = 0; i < x.size(); ++i) x[i] = double(i % 97);
    double *const sums = Device<double>(rows), *const thirds = Device<double>(rows * kWarpSize);
    ASSERT_EQ(ForEachRow(*stream_, "row sums", rows, RowSum{Put(x), sums, thirds}),
              absl::OkStatus());
    const std::vector<double> total = Get(sums, rows), third = Get(thirds, rows * kWarpSize);
    for (size_t row = 0; row < size_t(rows); ++row) {
      double expected = 0, most = 0;
      std::vector<double> lanes(kWarpSize);
      for (size_t j = 0; j < RowSum::kColumns; ++j) {
        expected += x[row * RowSum::kColumns + j];
        lanes[j % kWarpSize] += x[row * RowSum::kColumns + j];
      }
      for (const double lane : lanes) most = std::max(most, lane);
      EXPECT_EQ(total[row], expected);
      for (size_t lane = 0; lane < kWarpSize; ++lane) {
        EXPECT_EQ(third[row * kWarpSize + lane], lanes[3] + 1000 * most) << row;
      }
    }
  }
}

TEST_P(LaunchTest, ABarrierStopsTheWholeBlock) {
  constexpr int64_t kThreads = Reversed<true>::kThreads, kBlocks = 5, kCount = kThreads * kBlocks;
  std::vector<float> x(kCount);
  for (size_t i = 0; i < kCount; ++i) x[i] = float(i);
  const Reversed<true> functor = {Put(x), kCount};
  ASSERT_EQ(stream_->Launch(KernelOf("reverse", {kBlocks}, {kThreads}, kThreads * 4, functor)),
            absl::OkStatus());
  const std::vector<float> result = Get(functor.x, kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(result[size_t(i)], float(i / kThreads * kThreads + kThreads - 1 - i % kThreads));
  }
}

TEST_P(LaunchTest, AMissingBarrierShows) {
  constexpr uint32_t kThreads = Reversed<false>::kThreads;
  const Reversed<false> functor = {Put(std::vector<float>(kThreads, 1.0f)), kThreads};
  ASSERT_EQ(stream_->Launch(KernelOf("reverse", {1}, {kThreads}, kThreads * 4, functor)),
            absl::OkStatus());
  // Half of the threads read before the others have written: shared memory holds NaN.
  int wrong = 0;
  for (const float value : Get(functor.x, kThreads)) wrong += value != 1.0f;
  EXPECT_EQ(wrong, int(kThreads) / 2);
}

TEST_P(LaunchTest, TheLastBlockSeesWhatTheOthersWrote) {
  constexpr uint32_t kThreads = LastAdds::kThreads;
  for (const uint32_t blocks : {1u, 2u, 17u}) {
    const LastAdds functor = {blocks, Device<double>(blocks),
                              Put(std::vector<double>(kThreads, 0.0)),
                              Put(std::vector<uint32_t>{0})};
    // The second launch begins as the first did.
    for (int launch = 1; launch <= 2; ++launch) {
      ASSERT_EQ(stream_->Launch(KernelOf("add", {blocks}, {kThreads}, 0, functor)),
                absl::OkStatus());
      EXPECT_EQ(Get(functor.sums, kThreads),
                std::vector<double>(kThreads, launch * blocks * (blocks - 1) / 2));
    }
    EXPECT_EQ(Get(functor.arrived, 1), std::vector<uint32_t>{0});
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LaunchTest, ::testing::Range<uint64_t>(1, kSeeds + 1));

// What ends a kernel, and with what words.
enum class Wrong {
  kUndeclared,
  kWritesInput,
  kBeyondTheEnd,
  kOneLaneLeaves,
  kOneLaneDiffers,
  kNoCooperation,
  kBeyondShared
};

template <Wrong wrong>
struct WrongKernel {
  static constexpr uint32_t kThreads = 64;
  static constexpr Cooperation kCooperation =
      wrong == Wrong::kNoCooperation ? Cooperation::kNone : Cooperation::kWarp;
  const int32_t* x;
  int32_t* y;

  void Declare(Accesses& accesses) {
    accesses.Reads(x, 64);
    if (wrong != Wrong::kUndeclared) accesses.Writes(y, 64);
  }
  template <class Thread>
  void operator()(const Thread& thread) const {
    const int64_t i = thread.grid_index();
    const bool one = i == 37;
    if (wrong == Wrong::kUndeclared && one) y[i] = 1;
    if (wrong == Wrong::kWritesInput && one) const_cast<int32_t*>(x)[i] = 1;
    if (wrong == Wrong::kBeyondTheEnd && one) y[64] = 1;
    if (wrong == Wrong::kOneLaneLeaves && one) return;
    if (wrong == Wrong::kOneLaneDiffers && one) thread.warp().Max(1);
    if (wrong == Wrong::kBeyondShared) thread.template Shared<int32_t>()[64 + i] = 1;
    thread.warp().Sum(1);
  }
};

class WrongKernelTest : public ::testing::Test {
 protected:
  template <Wrong wrong>
  std::string Run() {
    const auto driver = CreateSimulatedDriver();
    const auto gpu = *driver->Open(0);
    const auto stream = *gpu->CreateStream("main");
    const WrongKernel<wrong> functor = {static_cast<int32_t*>(*gpu->Allocate(256, "x")),
                                        static_cast<int32_t*>(*gpu->Allocate(256, "y"))};
    // The launch is fine: what is wrong shows when the kernel runs.
    EXPECT_EQ(stream->Launch(KernelOf("wrong", {1}, {64}, 256, functor)), absl::OkStatus());
    const absl::Status status = stream->Synchronize();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    // From now on, every call says so.
    EXPECT_EQ(stream->Fill(functor.y, 0, 4).message().substr(0, 11), "simulated:0");
    EXPECT_EQ(gpu->Allocate(1, "z").status().code(), absl::StatusCode::kInternal);
    return std::string(status.message());
  }
};

TEST_F(WrongKernelTest, IsNamedWithItsThread) {
  const std::string begin =
      "simulated:0 has failed: kernel \"wrong\" on stream main, block 0,0,0, thread ";
  EXPECT_EQ(Run<Wrong::kUndeclared>(),
            begin +
                "37,0,0: writes byte 148 of 256 bytes of device "
                "memory for \"y\" of simulated:0, which it did not declare");
  EXPECT_EQ(Run<Wrong::kWritesInput>(),
            begin +
                "37,0,0: writes byte 148 of 256 bytes of device "
                "memory for \"x\" of simulated:0, which it did not declare");
  EXPECT_EQ(Run<Wrong::kBeyondTheEnd>(),
            begin +
                "37,0,0: writes byte 0 after the end of 256 bytes "
                "of device memory for \"y\" of simulated:0, which it did not declare");
  EXPECT_THAT(Run<Wrong::kBeyondShared>(),
              HasSubstr("after the end of 256 bytes of shared memory"));
  EXPECT_THAT(Run<Wrong::kOneLaneLeaves>(), HasSubstr("waits at Sum for threads that have ended"));
  EXPECT_THAT(Run<Wrong::kOneLaneDiffers>(),
              AllOf(HasSubstr("calls "), HasSubstr(" where another thread of the warp calls ")));
  EXPECT_THAT(Run<Wrong::kNoCooperation>(),
              HasSubstr("calls Sum in a kernel whose threads do not wait for each other"));
}

}  // namespace
}  // namespace dtnn::gpu
