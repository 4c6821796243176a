#include "tensor/gpu/launch_log.h"

#include "gtest/gtest.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

// Scales the first `columns` elements of a row of x by the number at `factor`.
struct ScaleBody {
  const float* x;
  const float* factor;
  float* y;
  int64_t columns, pitch;

  void Declare(int64_t n, Accesses& accesses) {
    accesses.Reads(x, n / columns, columns, pitch);
    accesses.Reads(factor, 1);
    accesses.Writes(y, n);
  }
  void operator()(int64_t i) const { y[i] = *factor * x[i / columns * pitch + i % columns]; }
};

class LaunchLogTest : public ::testing::Test {
 protected:
  float* Pinned(size_t count) {
    return static_cast<float*>(*gpu_->AllocatePinned(count * sizeof(float), "test"));
  }
  void Work() {
    EXPECT_EQ(stream_->Fill(x_, 0, 40 * sizeof(float)), absl::OkStatus());
    EXPECT_EQ(stream_->Fill(factor_, 0, sizeof(float)), absl::OkStatus());
    EXPECT_EQ(ForEach(*stream_, "scale", 12, ScaleBody{x_, factor_, y_, 3, 10}), absl::OkStatus());
    EXPECT_EQ(stream_->Copy(result_, y_, 12 * sizeof(float)), absl::OkStatus());
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
  }
  static void ExpectTheWork(const std::vector<LaunchLog::Entry>& entries) {
    ASSERT_EQ(entries.size(), 4);
    EXPECT_EQ(entries[0].work, LaunchLog::Work::kFill);
    EXPECT_EQ(entries[0].written_bytes, 160);
    EXPECT_EQ(entries[2].work, LaunchLog::Work::kKernel);
    EXPECT_EQ(entries[2].name, "scale");
    EXPECT_EQ(entries[2].read_bytes, 4 * 3 * 4 + 4);
    EXPECT_EQ(entries[2].written_bytes, 48);
    EXPECT_EQ(entries[3].work, LaunchLog::Work::kCopy);
    EXPECT_EQ(entries[3].read_bytes, 48);
    EXPECT_EQ(entries[3].written_bytes, 48);
  }

  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver();
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> stream_ = *gpu_->CreateStream("main");
  float* x_ = static_cast<float*>(*gpu_->Allocate(160, "x"));
  float* y_ = static_cast<float*>(*gpu_->Allocate(48, "y"));
  float* factor_ = static_cast<float*>(*gpu_->Allocate(4, "factor"));
  float* result_ = Pinned(12);
};

TEST_F(LaunchLogTest, HoldsWhatIsQueuedWhileItExists) {
  Work();
  {
    LaunchLog log;
    EXPECT_TRUE(log.Take().empty());
    Work();
    ExpectTheWork(log.Take());
    EXPECT_TRUE(log.Take().empty());
  }
  EXPECT_EQ(LaunchLog::Current(), nullptr);
  Work();
  EXPECT_EQ(result_[5], 0);
}

TEST_F(LaunchLogTest, NothingRunsWhereItSaysSo) {
  for (int i = 0; i < 12; ++i) result_[i] = 7;
  const int64_t before = CallsOf(*gpu_).launches;
  {
    LaunchLog log(LaunchLog::Runs::kNothing);
    Work();
    ExpectTheWork(log.Take());
  }
  EXPECT_EQ(CallsOf(*gpu_).launches, before);
  EXPECT_EQ(result_[5], 7);
}

TEST_F(LaunchLogTest, RefusedCallsAreNotLogged) {
  LaunchLog log;
  EXPECT_FALSE(stream_->Copy(result_, y_, 13 * sizeof(float)).ok());
  EXPECT_TRUE(log.Take().empty());
}

}  // namespace
}  // namespace dtnn::gpu
