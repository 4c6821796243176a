#include "tensor/gpu/driver.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// A functor of a size, with any shape.
template <Cooperation cooperation, size_t bytes = 4>
struct Nothing {
  static constexpr uint32_t kThreads = 512;
  static constexpr Cooperation kCooperation = cooperation;
  std::byte data[bytes];

  void Declare(Accesses&) {}
  template <class Thread>
  void operator()(const Thread&) const {}
};

class DriverTest : public ::testing::Test {
 protected:
  template <Cooperation cooperation = Cooperation::kNone, size_t bytes = 4>
  absl::Status Launch(Dim3 grid, Dim3 block, size_t shared_bytes = 0) {
    const Nothing<cooperation, bytes> functor = {};
    return stream_->Launch(KernelOf("nothing", grid, block, shared_bytes, functor));
  }

  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver();
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> stream_ = *gpu_->CreateStream("main");
};

TEST_F(DriverTest, SaysWhichGpusThereAre) {
  const auto two = CreateSimulatedDriver({.devices = 2});
  EXPECT_EQ(*two->DeviceCount(), 2);
  EXPECT_EQ((*two->Open(1))->name(), "simulated:1");
  EXPECT_EQ(two->Open(2).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(two->Open(2).status()),
            "simulated:2 is not there: there are 2 GPUs, the last is simulated:1");
  EXPECT_EQ(Message(CheckDevice("cuda", 0, 0)), "cuda:0 is not there: this machine has no GPU");
}

TEST_F(DriverTest, ShapesBeyondTheDeviceAreRefused) {
  EXPECT_EQ(Launch({1}, {512}), absl::OkStatus());
  EXPECT_EQ(Launch({3, 65535}, {2, 2, 64}, 48 << 10), absl::OkStatus());
  EXPECT_EQ(
      Message(Launch({1}, {513})),
      "simulated:0, stream main: kernel \"nothing\": blocks of 513 x 1 x 1 threads, expected 1 "
      "to 512 in all, at most 1024 x 1024 x 64");
  for (const absl::Status& status :
       {Launch({1}, {1, 1, 65}), Launch({1}, {0}), Launch({1}, {32, 32}),
        Launch({1}, {0xffffffff, 0xffffffff, 64})}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr("blocks of"));
  }
  for (const absl::Status& status :
       {Launch({1, 65536}, {1}), Launch({1, 1, 65536}, {1}), Launch({0}, {1})}) {
    EXPECT_THAT(Message(status), HasSubstr("a grid of"));
  }
  EXPECT_THAT(Message(Launch({1}, {1}, (48 << 10) + 1)),
              HasSubstr("49153 bytes of shared memory per block, expected at most 49152"));
  EXPECT_THAT(Message(Launch<Cooperation::kWarp>({1}, {48})), HasSubstr("a multiple of 32"));
  EXPECT_EQ((Launch<Cooperation::kNone, 4096>({1}, {1})), absl::OkStatus());
  EXPECT_THAT(Message(Launch<Cooperation::kNone, 4097>({1}, {1})),
              HasSubstr("4097 bytes of arguments"));
  EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
}

TEST_F(DriverTest, CopiesAreCheckedAgainstAllocations) {
  std::byte* const device = static_cast<std::byte*>(*gpu_->Allocate(100, "weights"));
  std::byte* const pinned = static_cast<std::byte*>(*gpu_->AllocatePinned(50, "input"));
  std::vector<std::byte> pageable(100);
  EXPECT_EQ(stream_->Copy(device, pinned, 50), absl::OkStatus());
  EXPECT_EQ(stream_->Copy(device, pageable.data(), 0), absl::OkStatus());
  EXPECT_THAT(Message(stream_->Copy(device, pinned, 51)),
              AllOf(HasSubstr("copying 51 bytes: the source: "),
                    HasSubstr("do not fit in 50 bytes of pinned memory for \"input\"")));
  EXPECT_THAT(Message(stream_->Copy(device + 60, pinned, 50)), HasSubstr("the destination: "));
  EXPECT_THAT(Message(stream_->Copy(device, pageable.data(), 10)), HasSubstr("lies in no device"));
  EXPECT_THAT(Message(stream_->Copy(device + 9, device, 10)), HasSubstr("overlap"));
  EXPECT_EQ(stream_->Copy(device + 10, device, 10), absl::OkStatus());
  EXPECT_THAT(Message(stream_->Fill(device + 1, 0, 100)), HasSubstr("filling 100 bytes"));
  EXPECT_EQ(gpu_->Free(device), absl::OkStatus());
  EXPECT_EQ(gpu_->Free(pinned), absl::OkStatus());
}

TEST_F(DriverTest, FreeingTwiceIsAnError) {
  void* const memory = *gpu_->Allocate(100, "weights");
  EXPECT_EQ(gpu_->Free(memory), absl::OkStatus());
  EXPECT_THAT(Message(gpu_->Free(memory)),
              AllOf(HasSubstr("simulated:0: freeing: "),
                    HasSubstr("freed already; it was 100 bytes of device memory for \"weights\"")));
  EXPECT_EQ(gpu_->Free(nullptr), absl::OkStatus());
}

TEST_F(DriverTest, WithoutMemoryTheErrorSaysWhatIsHeld) {
  void* const held = *gpu_->Allocate(1000, "activations");
  const absl::Status status = gpu_->Allocate(size_t{2} << 30, "gradients").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(status),
            "simulated:0: allocating 2147483648 bytes of device memory for \"gradients\": there is "
            "no more device memory; 1073740824 of 1073741824 bytes are free; this process holds\n"
            "  1000 bytes of device memory for \"activations\"\n");
  EXPECT_EQ(gpu_->Free(held), absl::OkStatus());
  EXPECT_EQ(gpu_->Memory()->free_bytes, size_t{1} << 30);
}

}  // namespace
}  // namespace dtnn::gpu
