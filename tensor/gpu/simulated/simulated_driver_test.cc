#include "tensor/gpu/simulated/simulated_driver.h"

#include <atomic>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/gpu/launch.h"

namespace dtnn::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kCount = 300;
constexpr size_t kBytes = kCount * sizeof(int32_t);

struct AddOne {
  const int32_t* x;
  int32_t* y;

  void Declare(int64_t n, Accesses& accesses) {
    accesses.Reads(x, n);
    accesses.Writes(y, n);
  }
  void operator()(int64_t i) const { y[i] = x[i] + 1; }
};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class SimulatedDriverTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  int32_t* Device(const char* what) { return static_cast<int32_t*>(*gpu_->Allocate(kBytes, what)); }
  int32_t* Pinned(const char* what) {
    return static_cast<int32_t*>(*gpu_->AllocatePinned(kBytes, what));
  }

  std::unique_ptr<Driver> driver_ =
      CreateSimulatedDriver({.seed = GetParam(), .most_delay_us = 50});
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> copies_ = *gpu_->CreateStream("copies");
  std::unique_ptr<Stream> compute_ = *gpu_->CreateStream("compute");
  std::unique_ptr<Event> copied_ = *gpu_->CreateEvent(), computed_ = *gpu_->CreateEvent();
};

// Streams of another thread may end, and be given more work, in the meantime.
TEST_P(SimulatedDriverTest, AGpuIsSynchronizedWhileStreamsComeAndGo) {
  int32_t* const x = Device("x");
  std::atomic<bool> over = false;
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) {
      const auto stream = *gpu_->CreateStream("other");
      for (int j = 0; j < 3; ++j) EXPECT_EQ(stream->Fill(x, 0, kBytes), absl::OkStatus());
    }
    over = true;
  });
  while (!over) EXPECT_EQ(gpu_->Synchronize(), absl::OkStatus());
  other.join();
  ASSERT_EQ(gpu_->Free(x), absl::OkStatus());
}

// Batches through one device buffer: copied on one stream, computed on the other.
TEST_P(SimulatedDriverTest, EventsMakeAPipeline) {
  int32_t *const in = Pinned("in"), *const out = Pinned("out");
  int32_t *const x = Device("x"), *const y = Device("y");
  for (int32_t batch = 0; batch < 3; ++batch) {
    for (int32_t i = 0; i < kCount; ++i) in[i] = batch * 1000 + i;
    if (batch > 0) {
      ASSERT_EQ(copies_->Wait(*computed_), absl::OkStatus());
    }
    ASSERT_EQ(copies_->Copy(x, in, kBytes), absl::OkStatus());
    ASSERT_EQ(copies_->Record(*copied_), absl::OkStatus());
    ASSERT_EQ(compute_->Wait(*copied_), absl::OkStatus());
    ASSERT_EQ(ForEach(*compute_, "add one", kCount, AddOne{x, y}), absl::OkStatus());
    ASSERT_EQ(compute_->Record(*computed_), absl::OkStatus());
    ASSERT_EQ(compute_->Copy(out, y, kBytes), absl::OkStatus());
    ASSERT_EQ(compute_->Synchronize(), absl::OkStatus());
    for (int32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], batch * 1000 + i + 1);
  }
}

TEST_P(SimulatedDriverTest, AMissingEventIsFound) {
  int32_t *const in = Pinned("in"), *const x = Device("x"), *const y = Device("y");
  ASSERT_EQ(copies_->Copy(x, in, kBytes), absl::OkStatus());
  const absl::Status status = ForEach(*compute_, "add one", kCount, AddOne{x, y});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      Message(status),
      "simulated:0, stream compute: kernel \"add one\": kernel \"add one\" on stream compute "
      "reads 1200 bytes of device memory for \"x\", which a copy of 1200 bytes on stream copies "
      "writes, and nothing orders the two: wait for an event recorded after the latter");
  // An event recorded too early does not help.
  ASSERT_EQ(copies_->Record(*copied_), absl::OkStatus());
  ASSERT_EQ(copies_->Fill(x, 0, kBytes), absl::OkStatus());
  ASSERT_EQ(compute_->Wait(*copied_), absl::OkStatus());
  EXPECT_THAT(Message(ForEach(*compute_, "add one", kCount, AddOne{x, y})),
              HasSubstr("which a fill of 1200 bytes on stream copies writes"));
  ASSERT_EQ(copies_->Synchronize(), absl::OkStatus());
  EXPECT_EQ(ForEach(*compute_, "add one", kCount, AddOne{x, y}), absl::OkStatus());
}

TEST_P(SimulatedDriverTest, EventsOrderWhatCameBeforeThem) {
  int32_t *const x = Device("x"), *const y = Device("y");
  ASSERT_EQ(compute_->Fill(x, 0, kBytes), absl::OkStatus());
  EXPECT_THAT(Message(compute_->Wait(*copied_)), HasSubstr("never recorded"));
  EXPECT_THAT(Message(copied_->Synchronize()), HasSubstr("never recorded"));
  ASSERT_EQ(compute_->Record(*computed_), absl::OkStatus());
  ASSERT_EQ(ForEach(*compute_, "add one", kCount, AddOne{x, y}), absl::OkStatus());
  ASSERT_EQ(computed_->Synchronize(), absl::OkStatus());
  EXPECT_TRUE(*computed_->Query());
  // The fill is over, the kernel perhaps not.
  EXPECT_EQ(copies_->Copy(Pinned("out"), x, kBytes), absl::OkStatus());
  EXPECT_FALSE(copies_->Fill(x, 0, kBytes).ok());
  EXPECT_FALSE(copies_->Fill(y, 0, kBytes).ok());
}

TEST_P(SimulatedDriverTest, QueriesBecomeTrue) {
  int32_t* const x = Device("x");
  ASSERT_EQ(compute_->Fill(x, 1, kBytes), absl::OkStatus());
  ASSERT_EQ(compute_->Record(*computed_), absl::OkStatus());
  while (!*computed_->Query()) std::this_thread::yield();
  EXPECT_EQ(copies_->Fill(x, 0, kBytes), absl::OkStatus());  // the host knows
  while (!*copies_->Query()) std::this_thread::yield();
  EXPECT_EQ(compute_->Fill(x, 0, kBytes), absl::OkStatus());
}

TEST_P(SimulatedDriverTest, EventsMeasureTime) {
  const auto start = *gpu_->CreateEvent(Timing::kOn), end = *gpu_->CreateEvent(Timing::kOn);
  ASSERT_EQ(compute_->Record(*start), absl::OkStatus());
  ASSERT_EQ(compute_->Fill(Device("x"), 0, kBytes), absl::OkStatus());
  ASSERT_EQ(compute_->Record(*end), absl::OkStatus());
  ASSERT_EQ(compute_->Record(*computed_), absl::OkStatus());
  ASSERT_EQ(end->Synchronize(), absl::OkStatus());
  EXPECT_GE(*end->SecondsSince(*start), 0);
  EXPECT_THAT(Message(computed_->SecondsSince(*start).status()), HasSubstr("without timing"));
}

TEST_P(SimulatedDriverTest, FreeWaitsForEverything) {
  int32_t* const x = Device("x");
  ASSERT_EQ(compute_->Fill(x, 0, kBytes), absl::OkStatus());
  EXPECT_EQ(gpu_->Free(x), absl::OkStatus());
  EXPECT_THAT(Message(compute_->Fill(x, 0, kBytes)), HasSubstr("memory that has been freed"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulatedDriverTest, ::testing::Range<uint64_t>(1, 51));

using SimulatedDriverDeathTest = SimulatedDriverTest;

TEST_P(SimulatedDriverDeathTest, TheHostCannotTouchDeviceMemory) {
  volatile int32_t* const x = Device("weights");
  EXPECT_DEATH((void)x[3],
               "the host reads byte 12 of 1200 bytes of device memory for \"weights\" of "
               "simulated:0: host code has no access to it; copy it first");
  EXPECT_DEATH(x[300] = 1, "the host writes byte 0 after the end of 1200 bytes");
}

TEST_P(SimulatedDriverDeathTest, APinnedBufferIsNotReusedBeforeItsCopyHasEnded) {
  volatile int32_t* const in = Pinned("in");
  ASSERT_EQ(copies_->Copy(Device("x"), const_cast<int32_t*>(in), kBytes), absl::OkStatus());
  EXPECT_GE(in[5], 0);  // it may be read
  // However much time passes: only waiting helps.
  EXPECT_DEATH(in[5] = 1,
               "the host writes byte 20 of 1200 bytes of pinned memory for \"in\" of "
               "simulated:0: the host has not waited for a copy of 1200 bytes on stream "
               "copies");
  ASSERT_EQ(copies_->Record(*copied_), absl::OkStatus());
  ASSERT_EQ(copied_->Synchronize(), absl::OkStatus());
  in[5] = 1;
}

TEST_P(SimulatedDriverDeathTest, AResultIsNotReadBeforeItIsThere) {
  volatile int32_t* const out = Pinned("out");
  ASSERT_EQ(copies_->Fill(const_cast<int32_t*>(out), 7, kBytes), absl::OkStatus());
  EXPECT_DEATH((void)out[0], "the host reads byte 0 of .*: the host has not waited for a fill");
  ASSERT_EQ(copies_->Synchronize(), absl::OkStatus());
  EXPECT_EQ(out[0], 0x07070707);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulatedDriverDeathTest, ::testing::Range<uint64_t>(1, 3));

}  // namespace
}  // namespace dtnn::gpu
