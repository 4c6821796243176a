#include "tensor/gpu/memory_pool.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kBytes = 5000, kBlock = 5120;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Writes one byte more than it says.
struct OneTooMany {
  std::byte* memory;

  void Declare(int64_t n, Accesses& accesses) { accesses.Writes(memory, n - 1); }
  DTNN_HOST_DEVICE void operator()(int64_t i) const { memory[i] = std::byte{1}; }
};

TEST(BlockBytesTest, LosesLittle) {
  EXPECT_EQ(BlockBytes(0), 512u);
  EXPECT_EQ(BlockBytes(512), 512u);
  EXPECT_EQ(BlockBytes(513), 640u);
  EXPECT_EQ(BlockBytes(1024), 1024u);
  EXPECT_EQ(BlockBytes(kBytes), kBlock);
  std::set<size_t> sizes;
  for (size_t bytes = 513; bytes < 100000; ++bytes) {
    ASSERT_GE(BlockBytes(bytes), bytes);
    ASSERT_LE(BlockBytes(bytes) * 4, bytes * 5);
    ASSERT_EQ(BlockBytes(BlockBytes(bytes)), BlockBytes(bytes));
    sizes.insert(BlockBytes(bytes));
  }
  EXPECT_LE(sizes.size(), 32u);
}

class MemoryPoolTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  static SimulatedConfig Config() {
    SimulatedConfig config = {.seed = GetParam()};
    config.properties.memory_bytes = 3 * kBlock;
    return config;
  }
  void* Allocate(Stream& stream, const char* what) {
    const auto memory = pool_.Allocate(stream, kBytes, what);
    EXPECT_EQ(memory.status(), absl::OkStatus());
    return *memory;
  }

  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver(Config());
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> first_ = *gpu_->CreateStream("first");
  std::unique_ptr<Stream> second_ = *gpu_->CreateStream("second");
  std::unique_ptr<Event> event_ = *gpu_->CreateEvent();
  MemoryPool pool_{*gpu_};
};

TEST_P(MemoryPoolTest, AStreamReusesItsOwnAtOnce) {
  void* const a = Allocate(*first_, "a");
  EXPECT_EQ(first_->Fill(a, 1, kBytes), absl::OkStatus());
  EXPECT_EQ(pool_.Free(*first_, a), absl::OkStatus());
  void* const b = Allocate(*first_, "b");
  EXPECT_EQ(a, b);
  EXPECT_EQ(first_->Fill(b, 2, kBytes), absl::OkStatus());
  EXPECT_EQ(pool_.pooled_bytes(), kBlock);
  EXPECT_EQ(pool_.used_bytes(), kBlock);
  EXPECT_EQ(pool_.Free(*first_, b), absl::OkStatus());
  EXPECT_EQ(pool_.used_bytes(), 0u);
}

TEST_P(MemoryPoolTest, AnotherStreamGetsItWhenItIsDone) {
  void* const a = Allocate(*first_, "a");
  EXPECT_EQ(first_->Fill(a, 1, kBytes), absl::OkStatus());
  EXPECT_EQ(pool_.Free(*first_, a), absl::OkStatus());
  EXPECT_EQ(first_->Synchronize(), absl::OkStatus());
  void* const b = Allocate(*second_, "b");
  EXPECT_EQ(a, b);
  EXPECT_EQ(second_->Fill(b, 2, kBytes), absl::OkStatus());
  EXPECT_EQ(pool_.Free(*second_, b), absl::OkStatus());
}

// Whether the work on it is done or not, and whatever the pool then chooses, it is safe: the
// simulator would tell of a block given to a stream that does not come after the free.
TEST_P(MemoryPoolTest, BlocksWanderBetweenStreams) {
  for (int round = 0; round < 20; ++round) {
    Stream &one = round % 2 == 0 ? *first_ : *second_, &other = round % 2 == 0 ? *second_ : *first_;
    void *const a = Allocate(one, "a"), *const b = Allocate(other, "b");
    ASSERT_NE(a, b);
    ASSERT_EQ(one.Fill(a, 1, kBytes), absl::OkStatus());
    ASSERT_EQ(other.Fill(b, 2, kBytes), absl::OkStatus());
    ASSERT_EQ(pool_.Free(one, a), absl::OkStatus());
    ASSERT_EQ(pool_.Free(other, b), absl::OkStatus());
  }
  EXPECT_LE(pool_.pooled_bytes(), 3 * kBlock);
}

TEST_P(MemoryPoolTest, WithoutOtherMemoryAStreamWaitsForAnother) {
  void* blocks[3];
  for (void*& block : blocks) block = Allocate(*first_, "all");
  for (void* const block : blocks) {
    ASSERT_EQ(first_->Fill(block, 1, kBytes), absl::OkStatus());
    ASSERT_EQ(pool_.Free(*first_, block), absl::OkStatus());
  }
  void* const b = Allocate(*second_, "b");
  ASSERT_EQ(second_->Fill(b, 2, kBytes), absl::OkStatus());
  EXPECT_EQ(pool_.Free(*second_, b), absl::OkStatus());
}

TEST_P(MemoryPoolTest, OtherSizesAreReleasedWhenMemoryIsShort) {
  void* const a = Allocate(*first_, "a");
  EXPECT_EQ(pool_.Free(*first_, a), absl::OkStatus());
  const auto large = pool_.Allocate(*second_, 14000, "large");
  EXPECT_EQ(large.status(), absl::OkStatus());
  EXPECT_EQ(pool_.Free(*second_, *large), absl::OkStatus());
}

TEST_P(MemoryPoolTest, WithoutMemoryTheErrorSaysWhoHoldsIt) {
  void* const a = Allocate(*first_, "weights");
  const absl::Status status = pool_.Allocate(*first_, 14000, "gradients").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("14000 bytes for \"gradients\""),
                                     HasSubstr("10240 of 15360 bytes are free"),
                                     HasSubstr("5120 bytes for \"weights\"")));
  EXPECT_EQ(pool_.Free(*first_, a), absl::OkStatus());
}

TEST_P(MemoryPoolTest, WrongUsesAreFound) {
  void* const a = Allocate(*first_, "a");
  // On another stream without an event.
  EXPECT_THAT(Message(second_->Fill(a, 1, kBytes)), HasSubstr("the allocation for \"a\""));
  ASSERT_EQ(first_->Record(*event_), absl::OkStatus());
  ASSERT_EQ(second_->Wait(*event_), absl::OkStatus());
  ASSERT_EQ(second_->Fill(a, 1, kBytes), absl::OkStatus());
  // Freed while the other stream may use it.
  EXPECT_THAT(Message(pool_.Free(*first_, a)),
              HasSubstr("which a fill of 5000 bytes on stream second"));
  ASSERT_EQ(pool_.Free(*second_, a), absl::OkStatus());
  // After the free, and twice.
  EXPECT_THAT(Message(second_->Fill(a, 1, kBytes)), HasSubstr("has been freed by stream second"));
  EXPECT_THAT(Message(pool_.Free(*second_, a)), HasSubstr("freed already"));
  EXPECT_EQ(pool_.Free(*second_, nullptr), absl::OkStatus());
}

TEST_P(MemoryPoolTest, TheRestOfABlockIsNobodys) {
  void* const a = Allocate(*first_, "a");
  EXPECT_EQ(first_->Fill(a, 1, kBytes), absl::OkStatus());
  EXPECT_THAT(Message(first_->Fill(a, 1, kBytes + 1)),
              HasSubstr("byte 5000 of 5120 bytes of device memory for \"the pool\" lies behind the "
                        "5000 bytes of the pool for \"a\""));
  ASSERT_EQ(pool_.Free(*first_, a), absl::OkStatus());
  // All of the same block for another use.
  void* const b = *pool_.Allocate(*first_, kBlock, "b");
  ASSERT_EQ(a, b);
  EXPECT_EQ(first_->Fill(b, 1, kBlock), absl::OkStatus());
  EXPECT_EQ(pool_.Free(*first_, b), absl::OkStatus());
  EXPECT_EQ(first_->Synchronize(), absl::OkStatus());
}

TEST_P(MemoryPoolTest, ARestThatAKernelHasWrittenIsFoundWhenItIsFreed) {
  void* const a = Allocate(*first_, "a");
  ASSERT_EQ(ForEach(*first_, "one too many", kBytes + 1, OneTooMany{static_cast<std::byte*>(a)}),
            absl::OkStatus());
  ASSERT_EQ(first_->Synchronize(), absl::OkStatus());
  (void)pool_.Free(*first_, a);
  EXPECT_THAT(Message(first_->Synchronize()),
              HasSubstr("the free of 5000 bytes of the pool: a kernel has written byte 5000, "
                        "which lies behind them"));
}

TEST_P(MemoryPoolTest, NothingIsAllocatedInACapture) {
  ASSERT_EQ(first_->BeginCapture(), absl::OkStatus());
  EXPECT_EQ(pool_.Allocate(*first_, kBytes, "a").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(first_->EndCapture().ok());
  EXPECT_EQ(pool_.used_bytes(), 0u);
}

TEST_P(MemoryPoolTest, LeaksAreListed) {
  EXPECT_EQ(pool_.Leaks(), "");
  void* const a = Allocate(*first_, "weights");
  void* const b = *pool_.Allocate(*first_, 100, "bias");
  EXPECT_EQ(pool_.Leaks(), "  5120 bytes for \"weights\"\n  512 bytes for \"bias\"\n");
  EXPECT_EQ(pool_.Free(*first_, a), absl::OkStatus());
  EXPECT_EQ(pool_.Free(*first_, b), absl::OkStatus());
  EXPECT_EQ(pool_.Release(), absl::OkStatus());
  EXPECT_EQ(gpu_->Memory()->free_bytes, 3 * kBlock);
}

TEST_P(MemoryPoolTest, LeaksAreToldAtTheEnd) {
  auto pool = std::make_unique<MemoryPool>(*gpu_);
  ASSERT_TRUE(pool->Allocate(*first_, 100, "forgotten").ok());
  ::testing::internal::CaptureStderr();
  pool = nullptr;
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "simulated:0: never freed:\n  512 bytes for \"forgotten\"\n");
  EXPECT_EQ(gpu_->Memory()->free_bytes, 3 * kBlock);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemoryPoolTest, ::testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace dtnn::gpu
