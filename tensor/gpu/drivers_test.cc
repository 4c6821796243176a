// Both drivers keep the contract of driver.h: the same programs on each. CUDA's is skipped, with
// the reason, where it cannot run; what it says then is tested wherever the toolkit is.

#include "tensor/gpu/drivers.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::gpu {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr size_t kBytes = 100000;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Where the reason goes in the process that a test below runs with the stub of the driver.
constexpr char kReasonFile[] = "DTNN_DRIVERS_TEST_REASON_FILE";

// "" where a GPU of CUDA's can be used, else why not.
std::string WhyNoCuda() {
  const auto driver = CreateDriver(DriverKind::kCuda);
  if (!driver.ok()) return Message(driver.status());
  const auto count = (*driver)->DeviceCount();
  if (!count.ok()) return Message(count.status());
  return *count > 0 ? "" : "this machine has no GPU";
}

TEST(DriversTest, WithoutCudaTheReasonIsTold) {
  const std::string reason = WhyNoCuda();
  if (const char* const file = std::getenv(kReasonFile); file != nullptr) {
    std::ofstream(file) << reason;
  }
  if (reason.empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT(
      reason,
      AnyOf(HasSubstr("build the sources with --config=cuda"), HasSubstr("this machine has no GPU"),
            AllOf(HasSubstr("cudaGetDeviceCount: "), HasSubstr("(cudaErrorInsufficientDriver, 35)"),
                  HasSubstr("this program needs")),
            AllOf(HasSubstr("(cudaErrorStubLibrary, 34)"), HasSubstr("LD_LIBRARY_PATH"))));
  const auto driver = CreateDriver(DriverKind::kCuda);
  if (!driver.ok()) return;
  EXPECT_EQ((*driver)->Open(0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*driver)->PropertiesOf(0).status().code(), absl::StatusCode::kNotFound);
}

TEST(DriversTest, TheStubOfTheDriverIsRecognised) {
  if (!CreateDriver(DriverKind::kCuda).ok()) {
    GTEST_SKIP() << Message(CreateDriver(DriverKind::kCuda).status());
  }
  const char* const home = std::getenv("CUDA_HOME");
  const std::string stub =
      std::string(home == nullptr ? "/usr/local/cuda" : home) + "/lib64/stubs/libcuda.so";
  if (access(stub.c_str(), R_OK) != 0) GTEST_SKIP() << "there is no " << stub;
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string file = ::testing::TempDir() + "/reason";
  const std::string command = std::string("TEST_PREMATURE_EXIT_FILE= ") + kReasonFile + "='" +
                              file + "' LD_PRELOAD='" + stub + "' '" + self +
                              "' --gtest_filter='*WithoutCudaTheReasonIsTold' --gtest_output=";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_THAT(text.str(), AllOf(HasSubstr("(cudaErrorStubLibrary, 34)"),
                                HasSubstr("the toolkit's stub of libcuda.so was loaded")));
}

TEST(DriversTest, TheSeedComesFromTheEnvironment) {
  setenv("DTNN_GPU_SEED", "18446744073709551615", 1);
  EXPECT_TRUE(CreateDriver(DriverKind::kSimulated).ok());
  for (const char* wrong : {"", "x", "-1", "1 ", "18446744073709551616"}) {
    setenv("DTNN_GPU_SEED", wrong, 1);
    const auto driver = CreateDriver(DriverKind::kSimulated);
    EXPECT_EQ(driver.status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(Message(driver.status()), HasSubstr("DTNN_GPU_SEED")) << wrong;
  }
  unsetenv("DTNN_GPU_SEED");
}

class EveryDriverTest : public ::testing::TestWithParam<DriverKind> {
 protected:
  void SetUp() override {
    if (GetParam() == DriverKind::kCuda) {
      if (const std::string reason = WhyNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
      RecordProperty("gpu", "cuda:0");  // as in kernels/testing/gpu_testing.h
    }
    driver_ = *CreateDriver(GetParam());
    gpu_ = *driver_->Open(0);
    main_ = *gpu_->CreateStream("main");
    other_ = *gpu_->CreateStream("other");
    event_ = *gpu_->CreateEvent();
    device_ = *gpu_->Allocate(kBytes, "device");
    pinned_ = static_cast<unsigned char*>(*gpu_->AllocatePinned(kBytes, "pinned"));
  }
  void TearDown() override {
    if (gpu_ == nullptr) return;
    EXPECT_EQ(gpu_->Free(device_), absl::OkStatus());
    EXPECT_EQ(gpu_->Free(pinned_), absl::OkStatus());
  }

  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Stream> main_, other_;
  std::unique_ptr<Event> event_;
  void* device_ = nullptr;
  unsigned char* pinned_ = nullptr;
};

TEST_P(EveryDriverTest, HasProperties) {
  const Properties properties = gpu_->properties();
  EXPECT_EQ(properties.name, driver_->PropertiesOf(0)->name);
  EXPECT_EQ(properties.hardware, driver_->PropertiesOf(0)->hardware);
  EXPECT_NE(properties.hardware, 0);
  EXPECT_GE(properties.capability, 70);
  EXPECT_GE(properties.threads_per_block, 1024u);
  EXPECT_GE(properties.memory_bytes, size_t{1} << 30);
  EXPECT_LE(gpu_->Memory()->free_bytes, gpu_->Memory()->total_bytes);
  EXPECT_EQ(driver_->Open(1 << 20).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(EveryDriverTest, CopiesInTheOrderOfEvents) {
  std::memset(pinned_, 1, kBytes);
  ASSERT_EQ(main_->Copy(device_, pinned_, kBytes), absl::OkStatus());
  ASSERT_EQ(main_->Fill(device_, 2, 10), absl::OkStatus());
  ASSERT_EQ(main_->Record(*event_), absl::OkStatus());
  ASSERT_EQ(other_->Wait(*event_), absl::OkStatus());
  ASSERT_EQ(other_->Copy(pinned_, device_, kBytes), absl::OkStatus());
  ASSERT_EQ(other_->Synchronize(), absl::OkStatus());
  EXPECT_TRUE(*other_->Query());
  EXPECT_TRUE(*event_->Query());
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(pinned_[i], i < 10 ? 2 : 1) << i;
}

TEST_P(EveryDriverTest, ReplaysWhatWasCaptured) {
  ASSERT_EQ(main_->Fill(pinned_, 0, kBytes), absl::OkStatus());
  ASSERT_EQ(main_->BeginCapture(), absl::OkStatus());
  ASSERT_EQ(main_->Fill(device_, 7, kBytes), absl::OkStatus());
  ASSERT_EQ(main_->Record(*event_), absl::OkStatus());
  ASSERT_EQ(other_->Wait(*event_), absl::OkStatus());
  ASSERT_EQ(other_->Copy(pinned_, device_, kBytes), absl::OkStatus());
  ASSERT_EQ(other_->Record(*event_), absl::OkStatus());
  ASSERT_EQ(main_->Wait(*event_), absl::OkStatus());
  const auto graph = main_->EndCapture();
  ASSERT_EQ(graph.status(), absl::OkStatus());
  ASSERT_EQ(main_->Synchronize(), absl::OkStatus());
  EXPECT_EQ(pinned_[kBytes - 1], 0);
  for (int replay = 0; replay < 2; ++replay) {
    ASSERT_EQ(main_->Replay(**graph), absl::OkStatus());
    ASSERT_EQ(main_->Synchronize(), absl::OkStatus());
    EXPECT_EQ(pinned_[kBytes - 1], 7);
    pinned_[kBytes - 1] = 0;
  }
}

TEST_P(EveryDriverTest, WaitingSpoilsACapture) {
  ASSERT_EQ(main_->BeginCapture(), absl::OkStatus());
  const absl::Status status = main_->Synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("(cudaErrorStreamCaptureUnsupported, 900)"));
  EXPECT_THAT(Message(main_->EndCapture().status()),
              HasSubstr("(cudaErrorStreamCaptureInvalidated, 901)"));
  EXPECT_EQ(main_->Fill(device_, 0, kBytes), absl::OkStatus());
  EXPECT_EQ(main_->Synchronize(), absl::OkStatus());
}

TEST_P(EveryDriverTest, MeasuresTime) {
  const auto start = *gpu_->CreateEvent(Timing::kOn), end = *gpu_->CreateEvent(Timing::kOn);
  EXPECT_EQ(end->SecondsSince(*start).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(main_->Wait(*start).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(main_->Record(*start), absl::OkStatus());
  ASSERT_EQ(main_->Fill(device_, 0, kBytes), absl::OkStatus());
  ASSERT_EQ(main_->Record(*end), absl::OkStatus());
  ASSERT_EQ(end->Synchronize(), absl::OkStatus());
  EXPECT_GE(*end->SecondsSince(*start), 0);
}

TEST_P(EveryDriverTest, RunsOutOfMemoryWithWords) {
  const absl::Status status = gpu_->Allocate(size_t{1} << 48, "everything").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("281474976710656 bytes of device memory for \"everything\""),
                    HasSubstr("bytes are free"),
                    HasSubstr("100000 bytes of device memory for "
                              "\"device\"")));
}

INSTANTIATE_TEST_SUITE_P(, EveryDriverTest,
                         ::testing::Values(DriverKind::kCuda, DriverKind::kSimulated),
                         [](const auto& info) {
                           return info.param == DriverKind::kCuda ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn::gpu
